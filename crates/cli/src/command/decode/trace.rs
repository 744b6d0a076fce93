//! `decode --as trace`: frames as `milena tap` saves them.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use milena_inspect::conversation::{Conversation, Exchange, Frame};
use milena_inspect::trace::Reader;
use serde_json::{Map, Value, json};

use super::part::{Part, Printer};
use crate::failure::{Failure, Result};

/// Shows every frame, a request in front of its answer.
pub(super) fn run(bytes: &Bytes, printer: &mut Printer) -> Result {
    let mut connections: BTreeMap<u64, Conversation> = BTreeMap::new();
    let mut told = Told::default();
    for traced in Reader::new(&bytes[..]) {
        let traced = traced.map_err(Failure::failed)?;
        let conversation = connections.entry(traced.connection).or_default();
        let exchange = conversation.feed(traced.direction, traced.time.unwrap_or_default(), traced.frame);
        if let Some(exchange) = exchange {
            told.exchange(traced.connection, &exchange, printer)?;
        }
    }
    for (number, mut conversation) in connections {
        for exchange in conversation.finish() {
            told.exchange(number, &exchange, printer)?;
        }
    }
    match told.first {
        None => Ok(()),
        Some(what) => {
            let (failed, frames) = (told.failed, told.frames);
            Err(Failure::failed(format!("{failed} of {frames} frames cannot be read, the first: {what}")))
        }
    }
}

/// What was shown so far.
#[derive(Default)]
struct Told {
    frames: usize,
    failed: usize,
    /// Why the first frame that cannot be read cannot.
    first: Option<String>,
}

impl Told {
    fn exchange(&mut self, connection: u64, exchange: &Exchange, printer: &mut Printer) -> Result {
        for frame in exchange.request.iter().chain(&exchange.response) {
            self.frames += 1;
            let mut document = head(connection, frame);
            let remarks: Vec<Value> = exchange.remarks.iter().map(|remark| json!(remark.to_string())).collect();
            if !remarks.is_empty() {
                document.insert("notes".to_owned(), Value::Array(remarks));
            }
            let read = frame.parts().map_err(|error| error.to_string()).and_then(|parts| {
                let mut json = parts.into_iter().map(|part| {
                    let part =
                        Part { message: part.message, version: part.version, base: part.base, bytes: part.bytes };
                    part.decode(printer).map(|decoded| decoded.json).map_err(|failure| failure.message().to_owned())
                });
                Ok((json.next().transpose()?, json.next().transpose()?))
            });
            match read {
                Ok((header, body)) => {
                    document.insert("header".to_owned(), json!(header));
                    document.insert("body".to_owned(), json!(body));
                }
                Err(what) => {
                    document.insert("error".to_owned(), json!(what));
                    document.insert("frame".to_owned(), json!(STANDARD.encode(&frame.bytes)));
                    self.failed += 1;
                    self.first.get_or_insert(what);
                }
            }
            printer.document(Value::Object(document))?;
        }
        Ok(())
    }
}

fn head(connection: u64, frame: &Frame) -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("connection".to_owned(), json!(connection));
    map.insert("time".to_owned(), json!(milena_inspect::time::format(frame.time)));
    map.insert("direction".to_owned(), json!(frame.direction.name()));
    if let Some(head) = &frame.head {
        map.insert("api".to_owned(), json!(head.api_key.to_string()));
        map.insert("version".to_owned(), json!(head.api_version));
    }
    map
}
