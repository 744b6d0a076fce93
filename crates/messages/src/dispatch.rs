use crate::codec::{Message, Request};

/// Something to do with the request type of an API that is known at run time only. See [`visit_request`].
///
/// The response is [`Request::Response`] of the same type. A proxy that cares for a few APIs compares
/// [`Request::API_KEY`] itself and links only those.
///
/// ```
/// use milena_messages::{ApiKey, Message, Request, RequestVisitor, visit_request};
///
/// struct ResponseName;
///
/// impl RequestVisitor for ResponseName {
///     type Output = &'static str;
///
///     fn visit<R: Request>(self) -> &'static str {
///         R::Response::NAME
///     }
/// }
///
/// assert_eq!(visit_request(ApiKey::FETCH, ResponseName), Some("FetchResponse"));
/// ```
///
/// [`visit_request`]: crate::visit_request
pub trait RequestVisitor {
    /// What comes out.
    type Output;

    /// Called with the type.
    fn visit<R: Request>(self) -> Self::Output;
}

/// Something to do with a message type whose name is known at run time only. See [`visit_message`].
///
/// [`visit_message`]: crate::visit_message
pub trait MessageVisitor {
    /// What comes out.
    type Output;

    /// Called with the type.
    fn visit<M: Message>(self) -> Self::Output;
}
