//! What a line may ask of a message by its generated struct.

use milena_messages::{Message, MessageVisitor};
use milena_wire::{Bytes, Reader, Result};

/// From bytes of one version to bytes of another, or of the same; with the number of bytes left over.
pub(super) struct Transcode {
    pub(super) bytes: Bytes,
    pub(super) from: i16,
    pub(super) to: i16,
}

impl MessageVisitor for Transcode {
    type Output = Result<(Bytes, usize)>;

    fn visit<M: Message>(self) -> Self::Output {
        let mut reader = Reader::new(self.bytes);
        let message = M::decode(&mut reader, self.from)?;
        Ok((message.to_bytes(self.to)?, reader.remaining()))
    }
}

/// The bytes of a message that nobody filled in.
pub(super) struct Default {
    pub(super) version: i16,
}

impl MessageVisitor for Default {
    type Output = Result<Bytes>;

    fn visit<M: Message>(self) -> Self::Output {
        M::default().to_bytes(self.version)
    }
}
