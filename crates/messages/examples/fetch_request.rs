//! A message at a version, to bytes and back.
//!
//!     cargo run -p milena-messages --example fetch_request

use milena_messages::fetch::request::{FetchPartition, FetchTopic};
use milena_messages::{FetchRequest, Message};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let request = FetchRequest {
        max_wait_ms: 500,
        topics: vec![FetchTopic {
            topic: "letters".into(),
            partitions: vec![FetchPartition { fetch_offset: 7, ..Default::default() }],
            ..Default::default()
        }],
        ..Default::default()
    };
    let bytes = request.to_bytes(12)?;
    assert_eq!(FetchRequest::from_bytes(bytes, 12)?, request);
    Ok(())
}
