use std::fmt;
use std::ops::Range;

use milena_records::Error;

/// Something in a file that is not as Kafka writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The kind in snake case: those of [`milena_records::ErrorKind`], `mismatch` where two files disagree, `missing` where
    /// offsets are, and `cut_off`.
    pub kind: &'static str,
    /// The bytes of the file that are wrong.
    pub range: Range<u64>,
    /// The byte where reading stopped, counted in the file, or in the decompressed payload of the batch.
    pub at: Option<u64>,
    /// Whether `at` counts in the decompressed payload.
    pub decompressed: bool,
    /// The batch, record and field, such as `batches[1].records[0].key`; empty when there is no such place.
    pub path: String,
    /// What is wrong.
    pub message: String,
    /// The offsets that are lost with the bytes, as far as the batches before and after them tell.
    pub lost: Option<Range<i64>>,
}

impl Fault {
    /// A fault in these bytes of a file, of this kind.
    pub fn new(kind: &'static str, range: Range<u64>, message: impl Into<String>) -> Self {
        let at = Some(range.start);
        Self { kind, range, at, decompressed: false, path: String::new(), message: message.into(), lost: None }
    }

    /// Bytes that break the rules of their format.
    pub fn malformed(range: Range<u64>, message: impl Into<String>) -> Self {
        Self::new("malformed", range, message)
    }

    pub(crate) fn mismatch(range: Range<u64>, message: impl Into<String>) -> Self {
        Self::new("mismatch", range, message)
    }

    /// An error of reading a batch, which takes these bytes of the file.
    pub fn of_batch(error: &Error, range: Range<u64>) -> Self {
        Self {
            kind: error.kind().name(),
            range,
            at: error.offset().map(|at| at as u64),
            decompressed: error.is_decompressed(),
            path: error.path(),
            message: error.message().to_owned(),
            lost: None,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        match (self.at, self.decompressed) {
            (Some(at), false) => write!(f, " (at byte {at})"),
            (Some(at), true) => write!(f, " (at byte {at} of the decompressed payload)"),
            (None, _) => Ok(()),
        }
    }
}
