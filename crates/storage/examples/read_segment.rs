//! The records of a log segment.
//!
//!     cargo run -p milena-storage --example read_segment

use milena_records::{Codec, Record, encode};
use milena_storage::{Item, Options, read_log};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let file = encode(&[Record::new("k", "v"), Record::new("k", "w")], Codec::Lz4)?;
    let mut values = Vec::new();
    let summary = read_log(&file[..], &Options::default(), &mut |item| {
        if let Item::Record { record, .. } = item {
            values.push(record.value.unwrap_or_default().to_vec());
        }
        Ok(None)
    })?;
    assert_eq!(values, [b"v", b"w"]);
    assert_eq!((summary.batches, summary.records, summary.faults), (1, 2, 0));
    Ok(())
}
