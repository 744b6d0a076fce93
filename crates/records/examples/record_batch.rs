//! A record batch, written and read.
//!
//!     cargo run -p milena-records --example record_batch

use milena_records::{BatchBuilder, Batches, Codec, Record};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut builder = BatchBuilder::new().codec(Codec::Lz4);
    builder.push(&Record::new("k", "v").with_timestamp(1_700_000_000_000).with_header("trace", "7f"))?;
    let bytes = builder.build()?;

    for batch in Batches::new(bytes) {
        let batch = batch?;
        println!("{} at {}..={}", batch.codec()?, batch.base_offset(), batch.last_offset());
        for record in batch.records() {
            let record = record?;
            assert_eq!(record.value, Some(&b"v"[..]));
            assert_eq!(record.headers().next().ok_or("no header")?.key_str(), "trace");
        }
    }
    Ok(())
}
