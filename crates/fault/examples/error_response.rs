//! The response with which a broker would refuse a heartbeat.
//!
//!     cargo run -p milena-fault --example error_response

use milena_fault::{FaultedRequest, Injection, respond};
use milena_messages::{ApiKey, ErrorCode, HeartbeatRequest, Message as _};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let body = HeartbeatRequest { group_id: "readers".into(), ..Default::default() }.to_bytes(1)?;
    let request = FaultedRequest { api: ApiKey::HEARTBEAT, version: 1, correlation_id: 7, body };
    let Injection::Response(frame) = respond(&request, ErrorCode::REBALANCE_IN_PROGRESS, None) else {
        panic!("a heartbeat response has a place for the code");
    };
    // Correlation id, throttle time, code 27.
    assert_eq!(frame[..], [0, 0, 0, 7, 0, 0, 0, 0, 0, 27]);
    Ok(())
}
