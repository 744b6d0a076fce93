//! `decode --as topic`: a record of one of Kafka's own topics.

use bytes::Bytes;
use milena_inspect::topic::{RecordContent, TopicReader, TopicRecord};

use super::blob;
use super::part::{Printer, decode};
use crate::failure::{Failure, Result};

/// The record that the call names.
pub(super) struct Record {
    pub(super) topic: String,
    pub(super) key: Option<Bytes>,
    pub(super) value: Option<Bytes>,
}

impl Record {
    pub(super) fn run(&self, printer: &mut Printer) -> Result {
        let reader = TopicReader::for_topic(&self.topic).ok_or_else(|| {
            let topics: Vec<&str> = TopicReader::topics().collect();
            Failure::usage(format!("`{}` is none of Kafka's own topics", self.topic))
                .hint(format!("those are {}", topics.join(", ")))
        })?;
        let record = reader.decode(self.key.as_deref(), self.value.as_deref());
        printer.document(&record.to_json())?;
        if !printer.wants_documents() {
            show(&record, printer)?;
        }
        let why =
            [("key", &record.key), ("value", &record.value)].into_iter().find_map(|(name, content)| match content {
                RecordContent::Raw { why, .. } => Some(Failure::failed(format!("the {name} is not understood: {why}"))),
                _ => None,
            });
        why.map_or(Ok(()), Err)
    }
}

fn show(record: &TopicRecord, printer: &mut Printer) -> Result {
    let name = record.name.unwrap_or("a record that is not known");
    let deletion = if record.is_deletion() { "  deletion: the value is null" } else { "" };
    for (what, content) in [("key", &record.key), ("value", &record.value)] {
        match content {
            RecordContent::Null if what == "value" => {
                printer.title(&format!("{name}  no value{deletion}"))?;
            }
            RecordContent::Null => printer.title(&format!("{name}  no key"))?,
            RecordContent::Raw { bytes, .. } => {
                printer.title(&format!("{name}  {what}, not understood"))?;
                printer.unknown(0, bytes)?;
            }
            RecordContent::Read { part, prefix, .. } => {
                printer.title(&format!("{name}  {what}"))?;
                let width = part.base / prefix.len().max(1);
                for (index, (field, number)) in prefix.iter().enumerate() {
                    printer.number(index * width, field, *number, width);
                }
                decode(part, printer)?;
            }
        }
    }
    for note in &record.notes {
        printer.note(note)?;
    }
    for (path, inner) in &record.blobs {
        printer.title(&format!("{} version {}  in {path}", inner.part.message.name, inner.version))?;
        blob::fields(inner, printer)?;
    }
    Ok(())
}
