use std::time::Duration;

use milena_inspect::conversation::{Conversation, Direction};
use milena_tap::{Exchange, Facts};
use serde_json::{Value, json};

/// An exchange with its whole messages.
pub(crate) fn exchange(exchange: &Exchange, facts: &Facts, records: Vec<Value>) -> Value {
    let mut json = json!({
        "time": milena_inspect::time::format(exchange.time),
        "connection": exchange.connection,
        "client": exchange.client.to_string(),
        "broker": exchange.broker.to_string(),
        "clientId": exchange.client_id.as_deref(),
        "api": exchange.api.map(|api| api.to_string()),
        "version": exchange.version,
        "correlationId": exchange.correlation_id,
        "requestBytes": exchange.request.len() + 4,
        "responseBytes": exchange.response.as_ref().map(|response| response.len() + 4),
        "latencyMs": exchange.latency.map(millis),
        "topics": facts.topics,
        "errors": facts.errors.iter().map(|code| code.to_string()).collect::<Vec<_>>(),
        "fault": exchange.fault.map(|fault| fault.to_string()),
        "request": null,
        "response": null,
    });
    let mut conversation = Conversation::new();
    let time = exchange.time;
    let asked = conversation.feed(Direction::Request, time, exchange.request.clone());
    let whole = match &exchange.response {
        Some(response) => conversation.feed(Direction::Response, time, response.clone()),
        None => asked.or_else(|| conversation.finish().pop()),
    };
    if let (Some(whole), true) = (whole, exchange.api.is_some()) {
        match whole.request_json() {
            Ok(request) => json["request"] = request,
            Err(error) => json["unreadable"] = json!(format!("the request: {error}")),
        }
        if exchange.response.is_some() {
            match whole.response_json() {
                Ok(response) => json["response"] = response,
                Err(error) => json["unreadable"] = json!(format!("the answer: {error}")),
            }
        }
    }
    if !records.is_empty() {
        json["records"] = Value::Array(records);
    }
    json
}

/// Milliseconds with microseconds behind the point.
pub(crate) fn millis(time: Duration) -> f64 {
    time.as_micros() as f64 / 1000.0
}
