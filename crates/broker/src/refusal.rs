use std::borrow::Cow;

use milena_messages::{ByteString, ErrorCode};

/// Why a topic or partition gets an error code instead of what was asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub(crate) struct Refusal {
    pub(crate) code: ErrorCode,
    pub(crate) message: Cow<'static, str>,
}

impl Refusal {
    pub(crate) fn new(code: ErrorCode, message: impl Into<Cow<'static, str>>) -> Self {
        Self { code, message: message.into() }
    }

    /// The message as a response carries it.
    pub(crate) fn text(&self) -> Option<ByteString> {
        Some(self.message.as_ref().into())
    }
}
