use std::borrow::Cow;
use std::fmt;

/// The result of reading or writing protocol bytes.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Who is at fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The bytes are not what the protocol says: cut off, a length that cannot be, null where null may not stand.
    Malformed,
    /// A version that the message does not have, or a value in a field that the version does not have.
    UnsupportedVersion,
    /// The bytes claim more than the reader is willing to pay for.
    LimitExceeded,
    /// The caller asked for something that cannot be written: null in a field that takes none, a string too long.
    InvalidValue,
    /// No message, API or field has this name.
    UnknownMessage,
}

impl ErrorKind {
    /// The kind in snake case, as `milena codec` prints it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::UnsupportedVersion => "unsupported_version",
            Self::LimitExceeded => "limit_exceeded",
            Self::InvalidValue => "invalid_value",
            Self::UnknownMessage => "unknown_message",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Name(Cow<'static, str>),
    Index(usize),
}

/// What went wrong, at which byte and in which field.
///
/// One pointer wide, so that results stay small on the good path.
#[derive(Clone, PartialEq)]
pub struct Error(Box<Inner>);

#[derive(Clone, Debug, PartialEq)]
struct Inner {
    kind: ErrorKind,
    offset: Option<usize>,
    /// Innermost step first: each level adds itself on the way out.
    path: Vec<Step>,
    message: Cow<'static, str>,
}

impl Error {
    /// An error without place; [`Error::with_offset`] and [`At`] add it.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner { kind, offset: None, path: Vec::new(), message: message.into() }))
    }

    /// Bytes that are not what the protocol says, found at `offset`.
    #[cold]
    pub fn malformed(offset: usize, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Malformed, message).with_offset(offset)
    }

    /// A value that cannot be written.
    #[cold]
    pub fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::InvalidValue, message)
    }

    /// A field that is null although this version of it may not be.
    #[cold]
    pub fn null(version: i16) -> Self {
        Self::invalid(format!("null is not allowed in version {version}"))
    }

    /// A value in a field that the version lacks and that may not be silently dropped.
    #[cold]
    pub fn absent(version: i16) -> Self {
        Self::new(
            ErrorKind::UnsupportedVersion,
            format!("version {version} has no such field, and its value is not the default"),
        )
    }

    /// A tag that the message defines, but not in this version.
    #[cold]
    pub fn tag_version(offset: usize, tag: u32, version: i16) -> Self {
        Self::malformed(offset, format!("tag {tag} does not exist in version {version}"))
    }

    /// A version outside of those the message has.
    #[cold]
    pub fn version(version: i16, valid: crate::VersionRange) -> Self {
        Self::new(ErrorKind::UnsupportedVersion, format!("no version {version}, valid are {valid}"))
    }

    /// The same error at a byte offset, counted from the start of what the reader was given.
    #[must_use]
    pub fn with_offset(mut self, offset: usize) -> Self {
        self.0.offset = Some(offset);
        self
    }

    /// The same error, `base` bytes further on: for a caller who gave the reader a part of something larger.
    #[must_use]
    pub fn shift(mut self, base: usize) -> Self {
        self.0.offset = self.0.offset.map(|offset| offset + base);
        self
    }

    /// The same error inside of a field or message of that name.
    #[cold]
    #[must_use]
    pub fn within(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.0.path.push(Step::Name(name.into()));
        self
    }

    /// The same error inside of the element of that index.
    #[cold]
    #[must_use]
    pub fn within_index(mut self, index: usize) -> Self {
        self.0.path.push(Step::Index(index));
        self
    }

    /// Who is at fault.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The byte where reading stopped; `None` when the error has no place in bytes, as in all errors of writing.
    pub fn offset(&self) -> Option<usize> {
        self.0.offset
    }

    /// The field, such as `FetchRequest.topics[0].topic`; empty when the error is of no field.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for step in self.0.path.iter().rev() {
            match step {
                Step::Name(name) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(name);
                }
                Step::Index(index) => path.push_str(&format!("[{index}]")),
            }
        }
        path
    }

    /// What went wrong, without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        f.write_str(self.message())?;
        if let Some(offset) = self.0.offset {
            write!(f, " (at byte {offset})")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({}: {self})", self.0.kind)
    }
}

impl std::error::Error for Error {}

/// Names the field that an error came out of.
pub trait At: Sized {
    /// Adds the field's name to the path when this is an error.
    #[must_use]
    fn at(self, name: &'static str) -> Self;
}

impl<T> At for Result<T> {
    #[inline(always)]
    fn at(self, name: &'static str) -> Self {
        match self {
            Ok(value) => Ok(value),
            Err(error) => Err(error.within(name)),
        }
    }
}

/// A count and what is counted, as errors say it: `1 byte`, `2 bytes`.
#[must_use]
pub fn counted(count: impl TryInto<u128> + fmt::Display + Copy, unit: &str) -> String {
    let plural = if count.try_into().is_ok_and(|count| count == 1) { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        assert_eq!(counted(0usize, "byte"), "0 bytes");
        assert_eq!(counted(1u8, "byte"), "1 byte");
        assert_eq!(counted(2usize, "tagged field"), "2 tagged fields");
        assert_eq!(counted(-1, "header"), "-1 headers");
    }

    #[test]
    fn an_error_reads_as_path_message_and_place() {
        let error =
            Error::malformed(17, "cut off").within("topic").within_index(2).within("topics").within("FetchRequest");
        assert_eq!(error.to_string(), "FetchRequest.topics[2].topic: cut off (at byte 17)");
        assert_eq!(error.path(), "FetchRequest.topics[2].topic");
        assert_eq!(error.shift(4).offset(), Some(21));
    }

    #[test]
    fn a_result_of_an_integer_stays_two_words() {
        assert_eq!(size_of::<Error>(), size_of::<usize>());
        assert!(size_of::<Result<i64>>() <= 2 * size_of::<usize>());
    }
}
