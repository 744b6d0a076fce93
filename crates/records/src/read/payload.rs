use bytes::Bytes;

use crate::codec::{Codec, Decompress};
use crate::error::{Error, Result};
use crate::layout::v2;
use crate::options::Mode;
use crate::read::batch::Batch;
use crate::read::legacy;

/// The records of a batch, out of their compression.
#[derive(Clone, Debug)]
pub(crate) struct Payload {
    pub(super) data: Bytes,
    /// Where the records begin in `data`.
    pub(super) start: usize,
    /// Positions in `data` are not positions in the input.
    pub(super) decompressed: bool,
    /// What stopped decompression, when reading goes on all the same.
    pub(super) fault: Option<Error>,
    /// What to add to the offsets of wrapped messages.
    pub(super) inner_base: i64,
}

impl Batch {
    /// Checks, decompresses, and keeps the outcome.
    pub(super) fn payload(&self) -> &Result<Payload> {
        self.payload.get_or_init(|| {
            let opened = if self.options.check_crc { self.check_crc() } else { Ok(()) };
            opened.and_then(|()| self.open())
        })
    }

    /// The records of a batch of magic 2 as one piece, out of their compression.
    pub(crate) fn uncompressed(&self) -> Result<&[u8]> {
        match self.payload() {
            Ok(Payload { fault: Some(fault), .. }) => Err(fault.clone()),
            Ok(payload) => Ok(&payload.data[payload.start..]),
            Err(error) => Err(error.clone()),
        }
    }

    fn open(&self) -> Result<Payload> {
        match (self.magic(), self.codec()?) {
            (2, Codec::None) => Ok(self.plain(v2::HEADER)),
            (2, codec) => self.decompress(codec, v2::HEADER, &self.bytes[v2::HEADER..]),
            (_, Codec::None) => Ok(self.plain(0)),
            (_, codec) => legacy::open(self, codec),
        }
    }

    fn plain(&self, start: usize) -> Payload {
        Payload { data: self.bytes.clone(), start, decompressed: false, fault: None, inner_base: 0 }
    }

    /// Decompresses a part of the batch that begins at byte `at` of it.
    pub(super) fn decompress(&self, codec: Codec, at: usize, compressed: &[u8]) -> Result<Payload> {
        let mut data = Vec::new();
        let how = Decompress { limit: self.options.limit, mode: self.options.mode, magic: self.magic() };
        let fault = codec.decompress_into(compressed, &mut data, &how).err().map(|error| {
            // Errors without a place are those of the whole payload.
            let error = if error.offset().is_some() { error } else { error.at(0) };
            error.shift(self.start + at).in_field("records").in_batch(self.place())
        });
        match fault {
            Some(fault) if self.options.mode == Mode::Strict => Err(fault),
            fault => Ok(Payload { data: data.into(), start: 0, decompressed: true, fault, inner_base: 0 }),
        }
    }

    /// Says where in the input, or in what came out of it, a record went wrong.
    #[cold]
    pub(super) fn locate(&self, payload: &Payload, error: Error, record: usize) -> Error {
        let error = if payload.decompressed { error.decompressed() } else { error.shift(self.start) };
        error.in_record(record).in_batch(self.place())
    }
}
