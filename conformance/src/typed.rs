use milena_messages::{Message, MessageVisitor, visit_message};
use milena_wire::{Bytes, Error, Reader};

/// What came of reading bytes into a struct and writing that.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// They could not be read.
    Refused(Error),
    /// They could be read.
    Read {
        /// Bytes after the message.
        leftover: usize,
        /// The message written again.
        written: Result<Bytes, Error>,
    },
}

#[derive(Clone)]
struct Job {
    /// Nothing to read stands for the default.
    source: Option<(Bytes, i16)>,
    target: i16,
}

// One visitor for all, so that each message is compiled for it once.
impl MessageVisitor for Job {
    type Output = Outcome;

    fn visit<M: Message>(self) -> Outcome {
        let (message, leftover) = match self.source {
            None => (M::default(), 0),
            Some((bytes, version)) => {
                let mut reader = Reader::new(bytes);
                match M::decode(&mut reader, version) {
                    Ok(message) => (message, reader.remaining()),
                    Err(error) => return Outcome::Refused(error),
                }
            }
        };
        Outcome::Read { leftover, written: message.to_bytes(self.target) }
    }
}

/// Writes the default of a typed message; `None` when there is no such message.
pub fn typed_default(message: &str, version: i16) -> Option<Outcome> {
    visit_message(message, Job { source: None, target: version })
}

/// Reads and writes a typed message; `None` when there is no such message.
pub fn reencode(message: &str, version: i16, bytes: Bytes) -> Option<Outcome> {
    transcode(message, version, version, bytes)
}

/// Reads a typed message at one version and writes it at another; `None` when there is no such message.
pub fn transcode(message: &str, from: i16, to: i16, bytes: Bytes) -> Option<Outcome> {
    visit_message(message, Job { source: Some((bytes, from)), target: to })
}
