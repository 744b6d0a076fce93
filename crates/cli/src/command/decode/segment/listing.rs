//! What is in log files, as text.

use std::io::{self, Write};

use milena_inspect::blob::Blob;
use milena_inspect::record::first_offset;
use milena_inspect::secret;
use milena_inspect::segment::quorum_state_json;
use milena_inspect::topic::{RecordContent, TopicRecord};
use milena_records::{Batch, RecordRef};
use milena_storage::{Fault, File, IndexEntry, Item};

use super::Show;
use crate::brief::brief;
use crate::command::decode::records::listing::{details, head, when};
use crate::command::decode::records::rows::{self, TITLES, Widths};
use crate::output::{fit, short, size};
use crate::sheet::{Sheet, push_number, push_time};

/// Writes items as they come, those of one kind in a table.
pub(super) struct Listing<W> {
    out: W,
    headers_only: bool,
    show_secrets: bool,
    widths: Widths,
    sheet: Option<Sheet>,
    is_first: bool,
}

impl<W: Write> Listing<W> {
    pub(super) fn new(out: W, headers_only: bool, show_secrets: bool) -> Self {
        Self { out, headers_only, show_secrets, widths: Widths::stdout(), sheet: None, is_first: true }
    }

    /// The table with these titles, ready for a row.
    fn sheet(&mut self, titles: &'static [&'static str]) -> io::Result<&mut Sheet> {
        if self.sheet.as_ref().is_some_and(|sheet| sheet.titles() != titles || sheet.is_full()) {
            self.end_table()?;
        }
        if self.sheet.as_ref().is_none_or(|sheet| sheet.titles() != titles) {
            self.sheet = None;
        }
        Ok(self.sheet.get_or_insert_with(|| Sheet::new(titles)))
    }

    fn row(&mut self, titles: &'static [&'static str], cells: &[&str]) -> io::Result<()> {
        let sheet = self.sheet(titles)?;
        cells.iter().for_each(|cell| sheet.text(cell));
        Ok(())
    }

    fn numbers(&mut self, titles: &'static [&'static str], numbers: &[i64]) -> io::Result<()> {
        let sheet = self.sheet(titles)?;
        numbers.iter().for_each(|number| sheet.cell(|cell| push_number(cell, *number)));
        Ok(())
    }

    fn end_table(&mut self) -> io::Result<()> {
        match &mut self.sheet {
            Some(sheet) => sheet.write(&mut self.out),
            None => Ok(()),
        }
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
            Item::Batch { batch, crc_valid } if self.headers_only => {
                self.line(&format!("  {}", header(batch, *crc_valid)))
            }
            Item::Batch { batch, crc_valid } => {
                self.begin(&format!("{}  {}", place(batch), head(batch, first_offset(batch))))?;
                self.line(&format!("  {}", details(batch, *crc_valid)))
            }
            Item::Record { batch, record } => match decoded {
                Some(decoded) => self.meaning(record, decoded),
                None => {
                    let widths = self.widths;
                    rows::push(self.sheet(TITLES)?, batch, record, widths);
                    Ok(())
                }
            },
            Item::Fault(fault) => self.line(&format!("  {}", wrong(fault))),
            Item::Zeros(range) => {
                let room = size((range.end - range.start) as usize);
                self.line(&format!("  bytes {}..{}  zeros: {room} of preallocated space", range.start, range.end))
            }
            Item::CutOff { range, expected } => {
                let there = size((range.end - range.start) as usize);
                let whole = expected.map(|whole| format!(" of {whole}")).unwrap_or_default();
                self.line(&format!("  bytes {}..{}  a batch that is cut off: {there}{whole}", range.start, range.end))
            }
            Item::Index { entry, .. } => self.index(entry),
            Item::Producers(producers) => {
                let verdict = if producers.crc_valid { "valid" } else { "INVALID" };
                self.line(&format!("  version {}  crc {:08x} {verdict}", producers.version, producers.crc))
            }
            Item::Producer(entry) => {
                let first = entry.last_offset.wrapping_sub(entry.offset_delta.into());
                let open = match entry.current_txn_first_offset {
                    -1 => "-".to_owned(),
                    offset => offset.to_string(),
                };
                self.row(
                    &[
                        ">PRODUCER",
                        ">EPOCH",
                        ">LAST SEQUENCE",
                        ">LAST OFFSETS",
                        "TIMESTAMP",
                        ">COORDINATOR EPOCH",
                        ">OPEN SINCE",
                    ],
                    &[
                        &entry.producer_id.to_string(),
                        &entry.epoch.to_string(),
                        &entry.last_sequence.to_string(),
                        &format!("{first} to {}", entry.last_offset),
                        &when(entry.timestamp),
                        &entry.coordinator_epoch.to_string(),
                        &open,
                    ],
                )
            }
            Item::Epoch(entry) => {
                self.numbers(&[">LEADER EPOCH", ">FROM OFFSET"], &[entry.epoch.into(), entry.start_offset])
            }
            Item::Offset(entry) => {
                let (partition, offset) = (entry.partition.to_string(), entry.offset.to_string());
                self.row(&["TOPIC", ">PARTITION", ">OFFSET"], &[&fit(&entry.topic, 100), &partition, &offset])
            }
            Item::Property { name, value } => self.row(&["PROPERTY", "VALUE"], &[&fit(name, 60), &fit(value, 100)]),
            Item::QuorumState(state) => {
                let state = quorum_state_json(state).unwrap_or_default();
                for (name, value) in state.as_object().into_iter().flatten() {
                    self.row(&["PROPERTY", "VALUE"], &[&fit(name, 60), &fit(&value.to_string(), 100)])?;
                }
                Ok(())
            }
            Item::Skipped(why) => self.line(&format!("  not read: {}", why.name())),
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
                self.numbers(&[">OFFSET", ">POSITION"], &[entry.offset, entry.position.into()])
            }
            IndexEntry::Time(entry) => {
                let sheet = self.sheet(&["TIMESTAMP", ">OFFSET"])?;
                sheet.cell(|cell| push_time(cell, entry.timestamp));
                sheet.cell(|cell| push_number(cell, entry.offset));
                Ok(())
            }
            IndexEntry::Aborted(aborted) => self.numbers(
                &[">PRODUCER", ">FIRST OFFSET", ">LAST OFFSET", ">LAST STABLE OFFSET"],
                &[aborted.producer_id, aborted.first_offset, aborted.last_offset, aborted.last_stable_offset],
            ),
        }
    }

    /// A record of one of Kafka's own topics.
    fn meaning(&mut self, record: &RecordRef, decoded: &TopicRecord) -> io::Result<()> {
        let show_secrets = self.show_secrets;
        let value = if decoded.is_deletion() { "deleted".to_owned() } else { content(&decoded.value, show_secrets) };
        let key = content(&decoded.key, show_secrets);
        let sheet = self.sheet(&[">OFFSET", "TIMESTAMP", "RECORD", "KEY", "VALUE"])?;
        sheet.cell(|cell| push_number(cell, record.offset));
        sheet.cell(|cell| push_time(cell, record.timestamp));
        sheet.text(decoded.name.unwrap_or("unknown"));
        sheet.text(&fit(&key, 80));
        sheet.text(&fit(&value, 100));
        decoded.blobs.iter().try_for_each(|(path, blob)| self.blob(path, blob))
    }

    /// What a member of a group wrote into a record, below it: a subscription or an assignment.
    fn blob(&mut self, path: &str, blob: &Blob) -> io::Result<()> {
        self.line(&format!("    {path}: {}", fit(&brief(&blob.json), 200)))?;
        blob.inner.iter().try_for_each(|(name, inner)| self.blob(&format!("{path}.{name}"), inner))
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
fn header(batch: &Batch, crc_valid: bool) -> String {
    let range = batch.place().range;
    let (head, details) = (head(batch, batch.base_offset()), details(batch, crc_valid));
    format!("bytes {}..{}  {head}  {details}", range.start, range.end)
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

/// A key or value of such a record.
fn content(content: &RecordContent, show_secrets: bool) -> String {
    match content {
        RecordContent::Null => "null".to_owned(),
        RecordContent::Read { part, .. } if !show_secrets && secret::may_hold(part.message) => {
            let bytes = secret::hide(part.message, part.version, &part.bytes);
            // Asterisks are as good a value as what they stand for.
            part.message.decode(bytes, part.version).map(|read| brief(&read.json)).unwrap_or_default()
        }
        RecordContent::Read { json, .. } => brief(json),
        RecordContent::Raw { why, .. } => format!("not understood: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use milena_inspect::segment::read_log;
    use milena_inspect::topic::TopicReader;
    use milena_records::{Codec, Record, encode};
    use milena_storage::Options;

    use super::*;

    #[test]
    fn the_password_in_a_setting_of_a_broker_does_not_show() {
        // Version 1 of the frame, record type 4 at version 0: broker 1, a name, and its value.
        let record = |name: &str| {
            let text = |text: &str| [&[text.len() as u8 + 1], text.as_bytes()].concat();
            let value = [&[1, 4, 0, 4][..], &text("1"), &text(name), &text("hunter2"), &[0]].concat();
            TopicReader::for_topic("__cluster_metadata").unwrap().decode(None, Some(&value)).value
        };
        let [secret, plain] = [record("ssl.key.password"), record("log.dir")];
        assert!(content(&secret, false).ends_with("value: \"*******\""), "{}", content(&secret, false));
        assert!(content(&secret, true).ends_with("value: \"hunter2\""));
        assert!(content(&plain, false).ends_with("value: \"hunter2\""));
    }

    /// Value and key of a group that Kafka 4.4 wrote: version 3, one classic member with a subscription and an assignment.
    #[test]
    fn subscriptions_and_assignments_of_classic_members_are_opened() {
        let text = "AAMACGNvbnN1bWVyAAAAAQAFcmFuZ2UALXJlYWRlci0xLTA1NGNkNDg2LWFmY2MtNGI1MS04NDQ1LTk2YTc5YmU2NWQ2YgAAAaIsQKPgAAAA\
                    AQAtcmVhZGVyLTEtMDU0Y2Q0ODYtYWZjYy00YjUxLTg0NDUtOTZhNzliZTY1ZDZiAAhyZWFkZXItMQAHcmRrYWZrYQAKLzEyNy4wLjAuMQAEk+AA\
                    AK/IAAAAGQADAAAAAQADdHhuAAAAAAAAAAD/////AAAAAAAXAAAAAAABAAN0eG4AAAABAAAAAAAAAAA=";
        let value = milena_inspect::text::from_base64(text).unwrap();
        let key = &b"\0\x02\0\x0estatic-readers"[..];
        let decoded = TopicReader::for_topic("__consumer_offsets").unwrap().decode(Some(key), Some(&value));
        let file = encode(&[Record::new(key, value)], Codec::None).unwrap();
        let mut listing = Listing::new(Vec::new(), false, false);
        read_log(&file[..], &Options::default(), &mut |item, _| {
            listing.item(item, matches!(item, Item::Record { .. }).then_some(&decoded))
        })
        .unwrap();
        listing.finish().unwrap();
        let out = String::from_utf8(listing.out).unwrap();
        let below: Vec<&str> = out.lines().skip_while(|line| !line.contains("GroupMetadata")).skip(1).collect();
        assert_eq!(below[0], "    members[0].subscription: topics: [\"txn\"]");
        assert_eq!(below[1], "    members[0].assignment: assignedPartitions: [{topic: \"txn\", partitions: [0]}]");
    }
}
