//! `decode --as trace`: frames as `milena tap` saves them.

use std::collections::BTreeMap;

use bytes::Bytes;
use milena_inspect::conversation::{Conversation, Exchange};
use milena_inspect::time;
use milena_inspect::trace::{TraceReader, TracedFrame};
use serde_json::{Map, json};

use super::part::Printer;
use super::show::{Shown, Tally};
use crate::failure::{Failure, Result};

/// What is known of a connection.
#[derive(Default)]
struct Connection {
    conversation: Conversation,
    /// Client and broker.
    ends: String,
}

/// Shows every frame, a request before its response.
pub(super) fn run(bytes: &Bytes, printer: &mut Printer) -> Result {
    let mut connections: BTreeMap<u64, Connection> = BTreeMap::new();
    let mut tally = Tally::default();
    for traced in TraceReader::new(&bytes[..]) {
        let traced = match traced {
            Ok(traced) => traced,
            Err(error) => {
                tally.count(Some(Failure::failed(error)));
                continue;
            }
        };
        let number = traced.connection;
        let connection = connections.entry(number).or_default();
        if connection.ends.is_empty() {
            connection.ends = ends(&traced);
        }
        let time = traced.time.unwrap_or_default();
        if let Some(exchange) = connection.conversation.feed(traced.direction, time, traced.frame) {
            show(number, &connection.ends, &exchange, printer, &mut tally)?;
        }
    }
    for (number, mut connection) in connections {
        for exchange in connection.conversation.finish() {
            show(number, &connection.ends, &exchange, printer, &mut tally)?;
        }
    }
    tally.finish("frames")
}

fn ends(traced: &TracedFrame) -> String {
    match (&traced.client, &traced.broker) {
        (Some(client), Some(broker)) => format!("  {client} to {broker}"),
        _ => String::new(),
    }
}

fn show(number: u64, ends: &str, exchange: &Exchange, printer: &mut Printer, tally: &mut Tally) -> Result {
    // What is odd is said once, with what came last.
    let last = exchange.request.iter().chain(&exchange.response).count();
    for (index, frame) in exchange.request.iter().chain(&exchange.response).enumerate() {
        let time = time::format(frame.time);
        let mut members = Map::new();
        members.insert("connection".to_owned(), json!(number));
        members.insert("time".to_owned(), json!(time));
        let latency = exchange.latency().filter(|_| index == 1);
        if let Some(latency) = latency {
            members.insert("latencyMicros".to_owned(), json!(latency.as_micros() as u64));
        }
        let latency = latency.map(|latency| format!("  after {latency:?}")).unwrap_or_default();
        let place = format!("connection {number}{ends}  {time}{latency}");
        let notes = match index + 1 == last {
            true => exchange.remarks.iter().map(ToString::to_string).collect(),
            false => Vec::new(),
        };
        let failure = Shown { frame, base: 0, size: None, place, members, notes }.show(printer)?;
        tally.count(failure);
    }
    Ok(())
}
