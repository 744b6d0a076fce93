use bytes::Bytes;
use milena_messages::storage::producer_snapshot::ProducerEntry;
use milena_messages::{Message as _, ProducerSnapshot};
use milena_wire::Reader;

use crate::fault::Fault;
use crate::number::big_endian;

/// After the version and the checksum, which covers the rest.
const CHECKED: usize = 6;

/// A `.snapshot`: what a broker knows of idempotent producers (KIP-98).
#[derive(Clone, Debug, PartialEq)]
pub struct Producers {
    /// Version of the file.
    pub version: i16,
    /// The checksum as stated, CRC-32C.
    pub crc: u32,
    /// Whether it is valid.
    pub crc_valid: bool,
    /// The producers.
    pub entries: Vec<ProducerEntry>,
}

/// Reads a whole `.snapshot` file.
///
/// # Errors
/// An unknown version, a file that is cut off, or bytes after the entries. A wrong checksum is no error: see
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
        let after = whole.end - reader.remaining() as u64..whole.end;
        return Err(Fault::malformed(after, format!("{} bytes after the last entry", reader.remaining())).into());
    }
    let computed = crc32c::crc32c(file.get(CHECKED..).unwrap_or_default());
    Ok(Producers {
        version,
        crc: snapshot.crc,
        crc_valid: snapshot.crc == computed,
        entries: snapshot.producer_entries,
    })
}

/// The content of a `.snapshot`, checksum included. Kafka 4.4 writes version 1.
///
/// # Errors
/// A version that does not exist.
pub fn write_producers(entries: &[ProducerEntry], version: i16) -> milena_wire::Result<Vec<u8>> {
    let snapshot = ProducerSnapshot { crc: 0, producer_entries: entries.to_vec() };
    let mut bytes = version.to_be_bytes().to_vec();
    bytes.extend_from_slice(&snapshot.to_bytes(version)?);
    let crc = crc32c::crc32c(bytes.get(CHECKED..).unwrap_or_default());
    if let Some(field) = bytes.get_mut(2..CHECKED) {
        field.copy_from_slice(&crc.to_be_bytes());
    }
    Ok(bytes)
}
