//! What milena promises about any bytes: each target takes some and panics when a promise does not hold.
//!
//! They are plain functions, so that a stable Rust can run them over the seeds (`tests/smoke.rs`); the binaries in
//! `fuzz_targets/` hand them to libFuzzer. See `README.md`.

mod capture;
mod connection;
mod inspect;
mod message;
mod records;
mod segment;
mod text;

pub use capture::capture;
pub use connection::{connection, headers};
pub use inspect::{inspect_blob, inspect_conversation, inspect_stream, inspect_text, inspect_topic, inspect_trace};
pub use message::{json, message, pair, schema};
pub use records::{codec_gzip, codec_lz4, codec_snappy, codec_zstd, codecs, legacy, records_read, records_write};
pub use segment::segment;
pub use text::{spec, text};

/// What runs one input.
pub type Target = fn(&[u8]);

/// Every target with its name, which is also that of its binary and of its folder of seeds.
pub const TARGETS: [(&str, Target); 23] = [
    ("records_read", records_read),
    ("records_write", records_write),
    ("codecs", codecs),
    ("codec_gzip", codec_gzip),
    ("codec_snappy", codec_snappy),
    ("codec_lz4", codec_lz4),
    ("codec_zstd", codec_zstd),
    ("message", message),
    ("schema", schema),
    ("json", json),
    ("capture", capture),
    ("connection", connection),
    ("headers", headers),
    ("spec", spec),
    ("text", text),
    ("legacy", legacy),
    ("inspect_text", inspect_text),
    ("inspect_stream", inspect_stream),
    ("inspect_conversation", inspect_conversation),
    ("inspect_trace", inspect_trace),
    ("inspect_blob", inspect_blob),
    ("inspect_topic", inspect_topic),
    ("segment", segment),
];
