//! Kafka's wire protocol in Rust.

#[cfg(feature = "records")]
pub mod legacy;
