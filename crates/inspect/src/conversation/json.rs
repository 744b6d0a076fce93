use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::exchange::Exchange;
use super::fact::Facts;
use super::frame::Frame;
use crate::part::Unreadable;
use crate::time;

impl Exchange {
    /// Writes the whole exchange as an object of JSON after what `out` holds, nothing left out: what is known of it, header
    /// and body of both frames in the form that [`Decoded`](milena_schema::Decoded) describes, and what stands after a body
    /// as base64 in `leftover`. A frame that cannot be read has `error` and, as base64, `frame` in their place; a request
    /// or response that there is none of is null.
    ///
    /// ```json
    /// {"type": "exchange", "connection": 1, "client": "10.0.0.7:52144", "broker": "10.0.0.1:9092",
    ///  "time": "2024-05-01T12:30:59.250000Z", "api": "Heartbeat", "version": 0, "correlationId": 7, "clientId": null,
    ///  "latencyMicros": 3000,
    ///  "request": {"size": 33, "header": {"requestApiKey": 12}, "body": {"groupId": "readers"}},
    ///  "response": {"size": 6, "header": {"correlationId": 7}, "body": {"errorCode": 27}},
    ///  "topics": [], "errors": ["REBALANCE_IN_PROGRESS"], "throttleTimeMs": 0, "fault": null, "notes": []}
    /// ```
    ///
    /// | member | what |
    /// |---|---|
    /// | `connection`, `client`, `broker` | number and ends of the connection; missing where only one is looked at |
    /// | `time` | of the first frame, RFC 3339; for a capture that of the packet with its last byte |
    /// | `api`, `version`, `correlationId`, `clientId` | what the request's header says; null where there is none |
    /// | `latencyMicros` | from the request to the response, in microseconds; null without one |
    /// | `size` | bytes of the frame without the size in front |
    /// | `topics`, `errors`, `throttleTimeMs` | the [`Facts`] |
    /// | `fault` | what a tap did on purpose; always null in a capture, which cannot know |
    /// | `notes` | the [`Remark`](super::Remark)s, one sentence each |
    ///
    /// Raw SASL tokens stand in it, and whatever else the frames hold: see [`Exchange::without_secrets`].
    pub fn write_json(&self, facts: &Facts, out: &mut Vec<u8>) {
        out.push(b'{');
        put(out, "type", &json!("exchange"));
        if let Some(endpoints) = &self.endpoints {
            put(out, "connection", &json!(endpoints.connection));
            put(out, "client", &json!(endpoints.client));
            put(out, "broker", &json!(endpoints.broker));
        }
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
        put(out, "topics", &json!(facts.topics));
        put(out, "errors", &facts.errors.iter().map(|error| error.to_string()).collect());
        put(out, "throttleTimeMs", &json!(facts.throttle.map_or(0, |time| time.as_millis() as u64)));
        put(out, "fault", &json!(self.fault.map(|fault| fault.to_string())));
        put(out, "notes", &self.remarks.iter().map(|remark| remark.to_string()).collect());
        out.push(b'}');
    }
}

/// Writes a member of an object.
fn put(out: &mut Vec<u8>, name: &str, value: &Value) {
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
