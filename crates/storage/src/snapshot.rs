use bytes::Bytes;
use milena_messages::storage::producer_snapshot::ProducerEntry;
use milena_messages::{Message as _, ProducerSnapshot};
use milena_wire::Reader;

use crate::fault::Fault;
use crate::number::big_endian;

/// Behind the version and the checksum, which covers the rest.
const CHECKED: usize = 6;

/// A `.snapshot`: what a broker knows of idempotent producers (KIP-98).
#[derive(Clone, Debug, PartialEq)]
pub struct Producers {
    /// Version of the file.
    pub version: i16,
    /// The checksum as stated, CRC-32C.
    pub crc: u32,
    /// Whether it is right.
    pub crc_valid: bool,
    /// The producers.
    pub entries: Vec<ProducerEntry>,
}

/// Reads a whole `.snapshot` file.
///
/// # Errors
/// A version that there is not, a file that is cut off, or bytes behind the entries. A wrong checksum is none: see
/// [`Producers::crc_valid`].
pub fn read_producers(file: &Bytes) -> Result<Producers, Box<Fault>> {
    let whole = 0..file.len() as u64;
    let Some(version) = file.get(..2).map(|version| big_endian(version) as i16) else {
        return Err(Fault::malformed(whole, "cut off before the version").into());
    };
    let mut reader = Reader::new(file.slice(2..));
    let snapshot = ProducerSnapshot::decode(&mut reader, version)
        .map_err(|error| Fault::malformed(whole.clone(), error.to_string()))?;
    if reader.remaining() > 0 {
        let behind = whole.end - reader.remaining() as u64..whole.end;
        return Err(Fault::malformed(behind, format!("{} bytes behind the last entry", reader.remaining())).into());
    }
    let computed = crc32c::crc32c(file.get(CHECKED..).unwrap_or_default());
    Ok(Producers {
        version,
        crc: snapshot.crc,
        crc_valid: snapshot.crc == computed,
        entries: snapshot.producer_entries,
    })
}
