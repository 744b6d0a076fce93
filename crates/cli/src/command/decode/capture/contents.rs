//! `--records`: what was written and read.

use std::io::{self, Write};

use bytes::Bytes;
use milena_inspect::conversation::{Exchange, Frame};
use milena_messages::{ApiKey, FetchResponse, Message as _, ProduceRequest};
use milena_records::Batches;
use milena_wire::Uuid;

use crate::exchange;

/// Writes the records of a Produce or Fetch, a line each. `known` are the topics that it is about: some versions have ids
/// in place of names.
pub(super) fn write(exchange: &Exchange, known: &[String], out: &mut impl Write) -> io::Result<()> {
    let Some(head) = exchange.head() else { return Ok(()) };
    let body = |frame: &Frame| (frame.missing == 0).then(|| frame.bytes.slice(frame.body..));
    match head.api_key {
        ApiKey::PRODUCE => {
            let body = exchange.request.as_ref().and_then(body);
            let Some(Ok(request)) = body.map(|body| ProduceRequest::from_bytes(body, head.api_version)) else {
                return Ok(());
            };
            for topic in &request.topic_data {
                let name = name(&topic.name, topic.topic_id, known);
                for partition in &topic.partition_data {
                    records(&name, partition.index, partition.records.as_ref(), out)?;
                }
            }
        }
        ApiKey::FETCH => {
            let body = exchange.response.as_ref().and_then(body);
            let Some(Ok(answer)) = body.map(|body| FetchResponse::from_bytes(body, head.api_version)) else {
                return Ok(());
            };
            for topic in &answer.responses {
                let name = name(&topic.topic, topic.topic_id, known);
                for partition in &topic.partitions {
                    records(&name, partition.partition_index, partition.records.as_ref(), out)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn records(topic: &str, partition: i32, records: Option<&Bytes>, out: &mut impl Write) -> io::Result<()> {
    let Some(records) = records else { return Ok(()) };
    for batch in Batches::new(records.clone()) {
        let Ok(batch) = batch else { return writeln!(out, "{}", exchange::below("(damaged records)")) };
        for record in batch.records() {
            let Ok(record) = record else { return writeln!(out, "{}", exchange::below("(damaged records)")) };
            writeln!(out, "{}", exchange::record(topic, partition, record.offset, record.key, record.value))?;
        }
    }
    Ok(())
}

/// The name of a topic, as far as it is known.
fn name(name: &str, id: Uuid, known: &[String]) -> String {
    match known {
        _ if !name.is_empty() => name.to_owned(),
        [only] => only.clone(),
        _ => id.to_string(),
    }
}
