//! A Produce frame as kafka-python writes it.
//!
//!     cargo run -p milena-legacy --example produce_frame

use milena_legacy::{ProduceRequestPayload, create_message, encode_produce_request};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let payload = ProduceRequestPayload {
        topic: "letters".into(),
        partition: 0,
        messages: vec![create_message(Some("to Milena".into()), None)],
    };
    let frame = encode_produce_request("prague", 1, &[payload], 1, 1000)?;
    assert_eq!(frame[..8], [0, 0, 0, 82, 0, 0, 0, 0]);
    Ok(())
}
