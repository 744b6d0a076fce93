use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::exchange::Exchange;
use super::frame::Frame;
use crate::part::Unreadable;
use crate::time;

impl Exchange {
    /// Writes the whole exchange as an object of JSON behind what `out` holds, nothing left out: what is known of it, header and body of both frames in the form that
    /// [`Decoded`](milena_schema::Decoded) describes, and what stands behind a body as base64 in `leftover`. A frame that
    /// cannot be read has `error` and, as base64, `frame` in their place. Times are RFC 3339, `latencyMicros` is a number.
    ///
    /// ```json
    /// {"time": "2024-05-01T12:30:59.250000Z", "api": "Heartbeat", "version": 0, "correlationId": 7, "clientId": null,
    ///  "latencyMicros": 3000,
    ///  "request": {"size": 33, "header": {"requestApiKey": 12}, "body": {"groupId": "readers"}},
    ///  "response": {"size": 6, "header": {"correlationId": 7}, "body": {"errorCode": 27}},
    ///  "notes": []}
    /// ```
    ///
    /// Tokens of SASL stand in it, and whatever else the frames hold.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        self.write_members(out);
        out.push(b'}');
    }

    /// What stands in the object, for one that says more.
    pub(crate) fn write_members(&self, out: &mut Vec<u8>) {
        let first = self.request.as_ref().or(self.response.as_ref());
        let head = self.head();
        put(out, "time", &json!(first.map(|frame| time::format(frame.time))));
        put(out, "api", &json!(head.map(|head| head.api_key.to_string())));
        put(out, "version", &json!(head.map(|head| head.api_version)));
        put(out, "correlationId", &json!(head.map(|head| head.correlation_id)));
        put(out, "clientId", &json!(head.and_then(|head| head.client_id.as_ref()).map(|id| &**id)));
        put(out, "latencyMicros", &json!(self.latency().map(|latency| latency.as_micros() as u64)));
        for (name, frame) in [("request", &self.request), ("response", &self.response)] {
            match frame {
                Some(frame) => {
                    begin(out, name);
                    out.push(b'{');
                    write_frame(frame, out);
                    out.push(b'}');
                }
                None => put(out, name, &Value::Null),
            }
        }
        put(out, "notes", &self.remarks.iter().map(|remark| remark.to_string()).collect());
    }
}

/// Writes a member of an object.
pub(crate) fn put(out: &mut Vec<u8>, name: &str, value: &Value) {
    begin(out, name);
    // Nothing can go wrong in memory.
    serde_json::to_writer(out, value).ok();
}

/// Writes what stands in front of the value of a member. No value ends in an opening brace.
fn begin(out: &mut Vec<u8>, name: &str) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    out.push(b'"');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\":");
}

fn write_frame(frame: &Frame, out: &mut Vec<u8>) {
    put(out, "size", &json!(frame.size()));
    let before = out.len();
    if let Err(error) = write_parts(frame, out) {
        out.truncate(before);
        put(out, "error", &json!(error.to_string()));
        put(out, "frame", &json!(STANDARD.encode(&frame.bytes)));
    }
}

fn write_parts(frame: &Frame, out: &mut Vec<u8>) -> Result<(), Unreadable> {
    let parts = frame.whole()?;
    let mut leftover = 0;
    for (name, part) in ["header", "body"].into_iter().zip(&parts) {
        begin(out, name);
        leftover = part.write_json(out)?;
    }
    if leftover > 0 {
        put(out, "leftover", &json!(STANDARD.encode(&frame.bytes[frame.bytes.len() - leftover..])));
    }
    Ok(())
}
