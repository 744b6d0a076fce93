//! `--records`: what was written and read.

use std::io::{self, Write};

use bytes::Bytes;
use milena_inspect::conversation::{Exchange, Frame};
use milena_messages::{ApiKey, FetchResponse, Message as _, ProduceRequest};
use milena_records::Batches;

use crate::output::short;

/// Characters of a key or value.
const WIDTH: usize = 60;

/// Writes the records of a Produce or Fetch, a line each.
pub(super) fn write(exchange: &Exchange, out: &mut impl Write) -> io::Result<()> {
    let Some(head) = exchange.head() else { return Ok(()) };
    let body = |frame: &Frame| (frame.missing == 0).then(|| frame.bytes.slice(frame.body..));
    match head.api_key {
        ApiKey::PRODUCE => {
            let body = exchange.request.as_ref().and_then(body);
            let Some(Ok(request)) = body.map(|body| ProduceRequest::from_bytes(body, head.api_version)) else {
                return Ok(());
            };
            for topic in &request.topic_data {
                for partition in &topic.partition_data {
                    records(partition.index, partition.records.as_ref(), out)?;
                }
            }
        }
        ApiKey::FETCH => {
            let body = exchange.response.as_ref().and_then(body);
            let Some(Ok(answer)) = body.map(|body| FetchResponse::from_bytes(body, head.api_version)) else {
                return Ok(());
            };
            for topic in &answer.responses {
                for partition in &topic.partitions {
                    records(partition.partition_index, partition.records.as_ref(), out)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn records(partition: i32, records: Option<&Bytes>, out: &mut impl Write) -> io::Result<()> {
    let Some(records) = records else { return Ok(()) };
    for batch in Batches::new(records.clone()) {
        let Ok(batch) = batch else { return writeln!(out, "{:>24} (damaged records)", "") };
        for record in batch.records() {
            let Ok(record) = record else { return writeln!(out, "{:>24} (damaged records)", "") };
            let (key, value) = (text(record.key), text(record.value));
            writeln!(out, "{:>24} {partition:>4} @ {:<8} {key} = {value}", "", record.offset)?;
        }
    }
    Ok(())
}

fn text(bytes: Option<&[u8]>) -> String {
    match bytes.map(std::str::from_utf8) {
        None => "null".to_owned(),
        Some(Ok(text)) => format!("{:?}", short(text, WIDTH)),
        Some(Err(_)) => format!("0x{}", short(&crate::output::hex(bytes.unwrap_or_default()), WIDTH)),
    }
}
