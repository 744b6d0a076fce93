//! Primitive values to bytes and back.
//!
//!     cargo run -p milena-wire --example primitives

use milena_wire::{Reader, Writer};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut writer = Writer::new();
    writer.i32(7);
    writer.string("milena", true)?;

    let mut reader = Reader::new(writer.into_bytes());
    assert_eq!(reader.i32()?, 7);
    assert_eq!(reader.string(true)?, "milena");
    assert_eq!(reader.remaining(), 0);
    Ok(())
}
