use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::exchange::Exchange;
use super::frame::Frame;
use crate::time;

impl Exchange {
    /// The whole exchange, nothing left out: what is known of it, header and body of both frames in the form that
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
    pub fn to_json(&self) -> Map<String, Value> {
        let mut map = Map::new();
        let mut put = |name: &str, value: Value| map.insert(name.to_owned(), value);
        let first = self.request.as_ref().or(self.response.as_ref());
        put("time", json!(first.map(|frame| time::format(frame.time))));
        let head = self.head();
        put("api", json!(head.map(|head| head.api_key.to_string())));
        put("version", json!(head.map(|head| head.api_version)));
        put("correlationId", json!(head.map(|head| head.correlation_id)));
        put("clientId", json!(head.and_then(|head| head.client_id.as_ref()).map(|id| &**id)));
        put("latencyMicros", json!(self.latency().map(|latency| latency.as_micros() as u64)));
        put("request", json!(self.request.as_ref().map(frame_json)));
        put("response", json!(self.response.as_ref().map(frame_json)));
        put("notes", self.remarks.iter().map(|remark| remark.to_string()).collect());
        map
    }
}

fn frame_json(frame: &Frame) -> Value {
    let mut map = Map::new();
    map.insert("size".to_owned(), json!(frame.size()));
    let read = frame.parts().and_then(|[header, body]| {
        let decoded = frame.decode()?;
        let leftover = body.bytes.slice(body.bytes.len() - decoded.leftover..);
        Ok((header.decode()?.json, decoded.json, leftover))
    });
    match read {
        Ok((header, body, leftover)) => {
            map.insert("header".to_owned(), header);
            map.insert("body".to_owned(), body);
            if !leftover.is_empty() {
                map.insert("leftover".to_owned(), json!(STANDARD.encode(leftover)));
            }
        }
        Err(error) => {
            map.insert("error".to_owned(), json!(error.to_string()));
            map.insert("frame".to_owned(), json!(STANDARD.encode(&frame.bytes)));
        }
    }
    Value::Object(map)
}
