//! What DescribeGroups and its siblings for other protocols have in common.

use milena_messages::{ByteString, ErrorCode};

use super::Context;
use crate::cost::Cost;
use crate::group::consumer::Refused;
use crate::security::acl::{Operation, Resource};

/// A group as a response describes it.
pub(super) trait Described {
    /// A group that is not described, and why.
    fn refused(group_id: ByteString, code: ErrorCode, message: Option<String>) -> Self;
    fn error_code(&self) -> ErrorCode;
    /// About the memory that its members take in the response.
    fn size(&self) -> usize;
    fn set_operations(&mut self, operations: i32);
}

macro_rules! described {
    ($type:ty, $size:expr) => {
        impl $crate::handler::described::Described for $type {
            fn refused(
                group_id: milena_messages::ByteString,
                error_code: milena_messages::ErrorCode,
                message: Option<String>,
            ) -> Self {
                Self { group_id, error_code, error_message: message.map(Into::into), ..Default::default() }
            }

            fn error_code(&self) -> milena_messages::ErrorCode {
                self.error_code
            }

            fn size(&self) -> usize {
                $size(self)
            }

            fn set_operations(&mut self, operations: i32) {
                self.authorized_operations = operations;
            }
        }
    };
}
pub(super) use described;

/// Describes groups within what a response may cost. As in Kafka, those that the client may not see come first, and one that
/// is asked for twice is described twice.
pub(super) fn describe<D: Described>(
    context: &Context,
    ids: Vec<ByteString>,
    with_operations: bool,
    cost: &mut Cost,
    one: impl Fn(&ByteString) -> Result<D, Refused>,
) -> Vec<D> {
    let may = |id: &ByteString| context.may(Operation::Describe, Resource::group(id));
    let (seen, unseen): (Vec<_>, Vec<_>) = ids.into_iter().partition(may);
    let mut groups: Vec<D> =
        unseen.into_iter().map(|id| D::refused(id, ErrorCode::GROUP_AUTHORIZATION_FAILED, None)).collect();
    for id in seen {
        groups.push(match one(&id) {
            Ok(group) if !cost.response(group.size()) => D::refused(id, ErrorCode::UNKNOWN_SERVER_ERROR, None),
            Ok(mut group) => {
                if with_operations && group.error_code().is_none() {
                    group.set_operations(context.operations(Resource::group(&id)));
                }
                group
            }
            Err(Refused { code, message }) => D::refused(id, code, (!message.is_empty()).then_some(message)),
        });
    }
    groups
}

/// A refusal without a message.
pub(super) fn only(code: ErrorCode) -> Refused {
    Refused { code, message: String::new() }
}

/// Refuses to describe a group that shows topics which the client may not see.
///
/// # Errors
/// It shows one.
pub(super) fn check_topics<'a>(
    context: &Context,
    mut topics: impl Iterator<Item = &'a ByteString>,
    message: &str,
) -> Result<(), Refused> {
    match topics.any(|topic| !context.may(Operation::Describe, Resource::topic(topic))) {
        true => Err(Refused { code: ErrorCode::TOPIC_AUTHORIZATION_FAILED, message: message.to_owned() }),
        false => Ok(()),
    }
}
