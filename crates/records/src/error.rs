use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

/// The result of reading or writing records.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of fault it is, and with that whose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The size or the magic of an entry cannot be, so that nobody can tell where the next one begins: reading ends.
    Framing,
    /// The checksum does not match the bytes: they were damaged after they were written.
    BadCrc,
    /// The bytes are not what the format says, although they may well be those that were written.
    Malformed,
    /// Decompression gave more than the reader is willing to pay for.
    LimitExceeded,
    /// The codec was left out of this build.
    UnsupportedCodec,
    /// The record does not fit below the size limit of the builder; the builder is as it was.
    Full,
    /// The caller asked for something that the format cannot express.
    InvalidValue,
}

impl ErrorKind {
    /// The kind in snake case.
    pub fn name(self) -> &'static str {
        match self {
            Self::Framing => "framing",
            Self::BadCrc => "bad_crc",
            Self::Malformed => "malformed",
            Self::LimitExceeded => "limit_exceeded",
            Self::UnsupportedCodec => "unsupported_codec",
            Self::Full => "full",
            Self::InvalidValue => "invalid_value",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The batch that an error was found in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BatchPlace {
    /// The how-manieth of the input, from 0.
    pub index: usize,
    /// Offset of its first record as the header states it.
    pub base_offset: i64,
    /// Offset of its last record as the header states it.
    pub last_offset: i64,
    /// Its bytes, counted from the start of the input.
    pub range: Range<usize>,
}

/// What went wrong, in which batch, record and field, and at which byte.
///
/// One pointer wide, so that results stay small on the good path.
#[derive(Clone, PartialEq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq)]
struct Inner {
    kind: ErrorKind,
    message: Cow<'static, str>,
    offset: Option<usize>,
    decompressed: bool,
    batch: Option<BatchPlace>,
    record: Option<usize>,
    field: Option<&'static str>,
}

impl Error {
    #[cold]
    pub(crate) fn new(kind: ErrorKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            offset: None,
            decompressed: false,
            batch: None,
            record: None,
            field: None,
        }))
    }

    #[cold]
    pub(crate) fn malformed(offset: usize, message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Malformed, message).at(offset)
    }

    #[cold]
    pub(crate) fn invalid(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::InvalidValue, message)
    }

    pub(crate) fn at(mut self, offset: usize) -> Self {
        self.0.offset = Some(offset);
        self
    }

    /// The bytes counted from were themselves `base` bytes after the start of the input.
    pub(crate) fn shift(mut self, base: usize) -> Self {
        self.0.offset = self.0.offset.map(|offset| offset + base);
        self
    }

    /// The byte offset counts in what came out of decompression.
    pub(crate) fn decompressed(mut self) -> Self {
        self.0.decompressed = true;
        self
    }

    pub(crate) fn in_field(mut self, field: &'static str) -> Self {
        self.0.field.get_or_insert(field);
        self
    }

    pub(crate) fn in_record(mut self, index: usize) -> Self {
        self.0.record = Some(index);
        self
    }

    pub(crate) fn in_batch(mut self, place: BatchPlace) -> Self {
        self.0.batch = Some(place);
        self
    }

    /// What kind of fault it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The byte where reading stopped, counted from the start of the input, or from the start of the decompressed
    /// payload of the batch when [`Error::is_decompressed`] says so.
    pub fn offset(&self) -> Option<usize> {
        self.0.offset
    }

    /// Whether [`Error::offset`] counts in the decompressed payload.
    pub fn is_decompressed(&self) -> bool {
        self.0.decompressed
    }

    /// The batch, with its offsets and bytes: what a caller skips who wants to go on.
    pub fn batch(&self) -> Option<&BatchPlace> {
        self.0.batch.as_ref()
    }

    /// The record inside of the batch, from 0.
    pub fn record(&self) -> Option<usize> {
        self.0.record
    }

    /// The place as a path, such as `batches[1].records[0].headers`; empty when the error has none.
    pub fn path(&self) -> String {
        let mut parts = Vec::new();
        if let Some(batch) = &self.0.batch {
            parts.push(format!("batches[{}]", batch.index));
        }
        if let Some(record) = self.0.record {
            parts.push(format!("records[{record}]"));
        }
        if let Some(field) = self.0.field {
            parts.push(field.to_owned());
        }
        parts.join(".")
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
        match (self.0.offset, self.0.decompressed) {
            (Some(offset), false) => write!(f, " (at byte {offset})"),
            (Some(offset), true) => write!(f, " (at byte {offset} of the decompressed payload)"),
            (None, _) => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({}: {self})", self.0.kind)
    }
}

impl std::error::Error for Error {}

impl From<Error> for milena_wire::Error {
    fn from(error: Error) -> Self {
        use milena_wire::ErrorKind as Wire;
        let kind = match error.kind() {
            ErrorKind::Framing | ErrorKind::BadCrc | ErrorKind::Malformed => Wire::Malformed,
            ErrorKind::LimitExceeded => Wire::LimitExceeded,
            ErrorKind::UnsupportedCodec | ErrorKind::Full | ErrorKind::InvalidValue => Wire::InvalidValue,
        };
        let mut wire = Self::new(kind, error.0.message.clone());
        if let Some(offset) = error.offset() {
            wire = wire.with_offset(offset);
        }
        match error.path() {
            path if path.is_empty() => wire,
            path => wire.within(path),
        }
    }
}
