//! What is in log files, for eyes.

use std::io::{self, Write};

use milena_inspect::secret;
use milena_inspect::segment::quorum_state_json;
use milena_inspect::topic::{Content, TopicRecord};
use milena_records::{Batch, RecordRef};
use milena_storage::{Fault, File, IndexEntry, Item};

use super::Show;
use crate::brief::brief;
use crate::command::decode::records::listing::{details, head, row, when};
use crate::output::{short, size};
use crate::table::Table;

/// Rows in one table, so that long files take no memory of note.
const ROWS: usize = 1000;

/// Writes items as they come, those of one kind in a table.
pub(super) struct Listing<W> {
    out: W,
    headers_only: bool,
    show_secrets: bool,
    table: Option<Rows>,
    is_first: bool,
}

/// Rows that are not written yet.
struct Rows {
    titles: &'static [&'static str],
    table: Table,
    count: usize,
}

impl<W: Write> Listing<W> {
    pub(super) fn new(out: W, headers_only: bool, show_secrets: bool) -> Self {
        Self { out, headers_only, show_secrets, table: None, is_first: true }
    }

    fn row(&mut self, titles: &'static [&'static str], cells: Vec<String>) -> io::Result<()> {
        if self.table.as_ref().is_some_and(|rows| rows.titles != titles || rows.count == ROWS) {
            self.end_table()?;
        }
        let rows = self.table.get_or_insert_with(|| Rows { titles, table: Table::new(titles), count: 0 });
        rows.table.row(cells);
        rows.count += 1;
        Ok(())
    }

    fn end_table(&mut self) -> io::Result<()> {
        if let Some(rows) = self.table.take() {
            for line in rows.table.render().lines() {
                writeln!(self.out, "  {line}")?;
            }
        }
        Ok(())
    }

    fn line(&mut self, text: &str) -> io::Result<()> {
        self.end_table()?;
        writeln!(self.out, "{text}")
    }

    /// A paragraph apart from what was before.
    fn begin(&mut self, text: &str) -> io::Result<()> {
        self.end_table()?;
        if !self.is_first {
            writeln!(self.out)?;
        }
        self.is_first = false;
        writeln!(self.out, "{text}")
    }
}

impl<W: Write> Show for Listing<W> {
    fn item(&mut self, item: &Item, decoded: Option<&TopicRecord>) -> io::Result<()> {
        match item {
            Item::File(file) => self.begin(&title(file)),
            Item::Batch { batch, .. } if self.headers_only => self.line(&format!("  {}", header(batch))),
            Item::Batch { batch, .. } => {
                self.begin(&format!("{}  {}", place(batch), head(batch)))?;
                self.line(&format!("  {}", details(batch)))
            }
            Item::Record { batch, record } => match decoded {
                Some(decoded) => {
                    let cells = meaning(record, decoded, self.show_secrets);
                    self.row(&[">OFFSET", "TIMESTAMP", "RECORD", "KEY", "VALUE"], cells)
                }
                None => self.row(&[">OFFSET", "TIMESTAMP", "KEY", "VALUE", "HEADERS"], row(batch, record)),
            },
            Item::Fault(fault) => self.line(&format!("  {}", wrong(fault))),
            Item::Zeros(range) => {
                let room = size((range.end - range.start) as usize);
                self.line(&format!("  bytes {}..{}  zeros: {room} of room set aside", range.start, range.end))
            }
            Item::CutOff { range, expected } => {
                let there = size((range.end - range.start) as usize);
                let whole = expected.map(|whole| format!(" of {whole}")).unwrap_or_default();
                self.line(&format!("  bytes {}..{}  a batch that is cut off: {there}{whole}", range.start, range.end))
            }
            Item::Index { entry, .. } => self.index(entry),
            Item::Producers(producers) => {
                let right = if producers.crc_valid { "right" } else { "WRONG" };
                self.line(&format!("  version {}  crc {:08x} {right}", producers.version, producers.crc))
            }
            Item::Producer(entry) => self.row(
                &[
                    ">PRODUCER",
                    ">EPOCH",
                    ">LAST SEQUENCE",
                    ">LAST OFFSETS",
                    "TIMESTAMP",
                    ">COORDINATOR EPOCH",
                    ">OPEN SINCE",
                ],
                vec![
                    entry.producer_id.to_string(),
                    entry.epoch.to_string(),
                    entry.last_sequence.to_string(),
                    format!("{} to {}", entry.last_offset.wrapping_sub(entry.offset_delta.into()), entry.last_offset),
                    when(entry.timestamp),
                    entry.coordinator_epoch.to_string(),
                    match entry.current_txn_first_offset {
                        -1 => "-".to_owned(),
                        offset => offset.to_string(),
                    },
                ],
            ),
            Item::Epoch(entry) => self
                .row(&[">LEADER EPOCH", ">FROM OFFSET"], vec![entry.epoch.to_string(), entry.start_offset.to_string()]),
            Item::Offset(entry) => self.row(
                &["TOPIC", ">PARTITION", ">OFFSET"],
                vec![short(&entry.topic, 100), entry.partition.to_string(), entry.offset.to_string()],
            ),
            Item::Property { name, value } => {
                self.row(&["PROPERTY", "VALUE"], vec![short(name, 60), short(value, 100)])
            }
            Item::QuorumState(state) => {
                let state = quorum_state_json(state).unwrap_or_default();
                for (name, value) in state.as_object().into_iter().flatten() {
                    self.row(&["PROPERTY", "VALUE"], vec![short(name, 60), short(&value.to_string(), 100)])?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.end_table()?;
        self.out.flush()
    }
}

impl<W: Write> Listing<W> {
    fn index(&mut self, entry: &IndexEntry) -> io::Result<()> {
        match entry {
            IndexEntry::Offset(entry) => {
                self.row(&[">OFFSET", ">POSITION"], vec![entry.offset.to_string(), entry.position.to_string()])
            }
            IndexEntry::Time(entry) => {
                self.row(&["TIMESTAMP", ">OFFSET"], vec![when(entry.timestamp), entry.offset.to_string()])
            }
            IndexEntry::Aborted(aborted) => self.row(
                &[">PRODUCER", ">FIRST OFFSET", ">LAST OFFSET", ">LAST STABLE OFFSET"],
                vec![
                    aborted.producer_id.to_string(),
                    aborted.first_offset.to_string(),
                    aborted.last_offset.to_string(),
                    aborted.last_stable_offset.to_string(),
                ],
            ),
        }
    }
}

/// A file, and what it is of.
fn title(file: &File) -> String {
    let path = short(&file.path.to_string_lossy(), 300);
    format!("{path}  {}", size(file.size as usize))
}

fn place(batch: &Batch) -> String {
    let place = batch.place();
    format!("batch {}  bytes {}..{}", place.index, place.range.start, place.range.end)
}

/// A batch in one line.
fn header(batch: &Batch) -> String {
    let range = batch.place().range;
    format!("bytes {}..{}  {}  {}", range.start, range.end, head(batch), details(batch))
}

/// What is wrong, where, and what is lost with it.
pub(super) fn wrong(fault: &Fault) -> String {
    let lost = match &fault.lost {
        Some(lost) if lost.end - lost.start == 1 => format!("; offset {} is lost", lost.start),
        Some(lost) => format!("; offsets {} to {} are lost", lost.start, lost.end - 1),
        None => String::new(),
    };
    let what = short(&fault.to_string(), 300);
    format!("damaged: bytes {}..{}: {}: {what}{lost}", fault.range.start, fault.range.end, fault.kind)
}

/// A record of one of Kafka's own topics.
fn meaning(record: &RecordRef, decoded: &TopicRecord, show_secrets: bool) -> Vec<String> {
    let value = if decoded.is_deletion() { "deleted".to_owned() } else { content(&decoded.value, show_secrets) };
    let name = decoded.name.unwrap_or("unknown").to_owned();
    let key = content(&decoded.key, show_secrets);
    vec![record.offset.to_string(), when(record.timestamp), name, short(&key, 80), short(&value, 100)]
}

/// A key or value of such a record.
fn content(content: &Content, show_secrets: bool) -> String {
    match content {
        Content::Null => "null".to_owned(),
        Content::Read { part, .. } if !show_secrets && secret::may_hold(part.message) => {
            let bytes = secret::hide(part.message, part.version, &part.bytes);
            // Asterisks are as good a value as what they stand for.
            part.message.decode(bytes, part.version).map(|read| brief(&read.json)).unwrap_or_default()
        }
        Content::Read { json, .. } => brief(json),
        Content::Raw { why, .. } => format!("not understood: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use milena_inspect::topic::Reader;

    use super::*;

    #[test]
    fn the_password_in_a_setting_of_a_broker_does_not_show() {
        // Version 1 of the frame, record type 4 at version 0: broker 1, a name, and its value.
        let record = |name: &str| {
            let text = |text: &str| [&[text.len() as u8 + 1], text.as_bytes()].concat();
            let value = [&[1, 4, 0, 4][..], &text("1"), &text(name), &text("hunter2"), &[0]].concat();
            Reader::for_topic("__cluster_metadata").unwrap().decode(None, Some(&value)).value
        };
        let [secret, plain] = [record("ssl.key.password"), record("log.dir")];
        assert!(content(&secret, false).ends_with("value: \"*******\""), "{}", content(&secret, false));
        assert!(content(&secret, true).ends_with("value: \"hunter2\""));
        assert!(content(&plain, false).ends_with("value: \"hunter2\""));
    }
}
