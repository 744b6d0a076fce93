use std::fmt;
use std::str::FromStr;

use milena_wire::Fixed;

use crate::generated::error_table::ERRORS;

/// An error code. Any number can stand here, known or not.
///
/// Text is Kafka's name, or the number when no release has it. Parsing takes both, and names of earlier releases.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ErrorCode(pub i16);

pub(crate) struct ErrorInfo {
    pub(crate) name: &'static str,
    pub(crate) former: Option<&'static str>,
    pub(crate) retriable: bool,
    pub(crate) refresh: bool,
}

impl Fixed for ErrorCode {
    const SIZES: &'static [usize] = i16::SIZES;
    const SIZE: usize = i16::SIZE;

    #[inline(always)]
    fn take(bytes: &[u8]) -> Self {
        Self(i16::take(bytes))
    }

    #[inline(always)]
    fn put(&self, bytes: &mut [u8]) {
        self.0.put(bytes);
    }
}

impl ErrorCode {
    fn info(self) -> Option<&'static ErrorInfo> {
        ERRORS.get(usize::try_from(i32::from(self.0) + 1).ok()?)
    }

    /// Every code that a release of Kafka ever had, lowest first.
    pub fn all() -> impl ExactSizeIterator<Item = Self> + DoubleEndedIterator + Clone {
        (0..ERRORS.len()).map(|index| Self(index as i16 - 1))
    }

    /// Kafka's name, such as `NOT_LEADER_OR_FOLLOWER`; `None` when no release has the code.
    pub fn name(self) -> Option<&'static str> {
        self.info().map(|info| info.name)
    }

    /// Whether this says that all went well.
    pub fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// Whether trying again can help. An unknown code counts as `UNKNOWN_SERVER_ERROR`, for which it cannot.
    pub fn is_retriable(self) -> bool {
        self.info().is_some_and(|info| info.retriable)
    }

    /// Whether metadata, or the coordinator, should be looked up again before a retry.
    pub fn needs_refresh(self) -> bool {
        self.info().is_some_and(|info| info.refresh)
    }

    /// `Ok` for [`ErrorCode::NONE`], the code itself as an error otherwise.
    ///
    /// # Errors
    /// This is not [`ErrorCode::NONE`].
    pub fn ok(self) -> Result<(), Self> {
        if self.is_none() { Ok(()) } else { Err(self) }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => f.pad(&self.0.to_string()),
        }
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}({})", self.0)
    }
}

impl std::error::Error for ErrorCode {}

/// Text that is neither the name nor the number of an error code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownErrorCode(String);

impl fmt::Display for UnknownErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no error code is named `{}`", self.0)
    }
}

impl std::error::Error for UnknownErrorCode {}

impl FromStr for ErrorCode {
    type Err = UnknownErrorCode;

    fn from_str(text: &str) -> Result<Self, UnknownErrorCode> {
        if let Ok(code) = text.parse() {
            return Ok(Self(code));
        }
        let upper = text.to_ascii_uppercase();
        let position = ERRORS.iter().position(|info| info.name == upper || info.former == Some(upper.as_str()));
        position.map(|index| Self(index as i16 - 1)).ok_or_else(|| UnknownErrorCode(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_138_codes_from_minus_1_to_136() {
        assert_eq!(ErrorCode::all().len(), 138);
        assert_eq!(ErrorCode::UNKNOWN_SERVER_ERROR, ErrorCode(-1));
        assert_eq!(ErrorCode::CONTROLLER_ID_NOT_REGISTERED, ErrorCode(136));
        assert_eq!(ErrorCode(137).name(), None);
        assert_eq!(ErrorCode(i16::MIN).name(), None);
        assert_eq!(ErrorCode(i16::MAX).name(), None);
    }

    #[test]
    fn names_of_today_and_before_are_found() {
        assert_eq!("NOT_LEADER_FOR_PARTITION".parse(), Ok(ErrorCode::NOT_LEADER_OR_FOLLOWER));
        assert_eq!("corrupt_message".parse(), Ok(ErrorCode(2)));
        assert_eq!(ErrorCode(999).to_string(), "999");
        assert!(ErrorCode::NOT_COORDINATOR.is_retriable() && ErrorCode::NOT_COORDINATOR.needs_refresh());
        assert!(!ErrorCode(999).is_retriable());
    }
}
