use serde_json::json;

use super::reader::Captured;
use crate::conversation::put;

impl Captured {
    /// Writes an object of JSON behind what `out` holds: `type`, which is `exchange`, `connection`, `client` and `broker`, then
    /// what [`Exchange::write_json`](crate::conversation::Exchange::write_json) has, then `errors` and `topics`.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        out.push(b'{');
        put(out, "type", &json!("exchange"));
        put(out, "connection", &json!(self.connection));
        put(out, "client", &json!(self.client.to_string()));
        put(out, "broker", &json!(self.broker.to_string()));
        self.exchange.write_members(out);
        put(out, "errors", &self.errors.iter().map(|error| error.to_string()).collect());
        put(out, "topics", &json!(self.topics));
        out.push(b'}');
    }
}
