//! A request and its response, paired and read.
//!
//!     cargo run -p milena-inspect --example pair_frames

use std::time::Duration;

use milena_inspect::conversation::{Conversation, Direction, FactReader};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Heartbeat version 0 of correlation id 7, without the size in front, and its response: error 27.
    let request = b"\0\x0c\0\0\0\0\0\x07\xff\xff\0\x07readers\0\0\0\x03\0\x01m";
    let response = b"\0\0\0\x07\0\x1b";

    let mut conversation = Conversation::new();
    assert!(conversation.feed(Direction::Request, Duration::ZERO, request[..].into()).is_none());
    let exchange =
        conversation.feed(Direction::Response, Duration::from_millis(3), response[..].into()).ok_or("no exchange")?;

    assert_eq!(exchange.head().ok_or("no header")?.api_key.name(), Some("Heartbeat"));
    assert_eq!(exchange.latency(), Some(Duration::from_millis(3)));
    assert_eq!(exchange.request_json()?["groupId"], "readers");
    let facts = FactReader::default().read(&exchange);
    assert_eq!(facts.errors[0].name(), Some("REBALANCE_IN_PROGRESS"));
    Ok(())
}
