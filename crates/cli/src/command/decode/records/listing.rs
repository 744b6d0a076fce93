//! Batches as text: two lines for the header, then a table of the records.

use std::io::{self, Write};

use milena_inspect::record::first_offset;
use milena_records::{Batch, TimestampType};
use milena_storage::Fault;

use super::rows::{self, TITLES, Widths};
use crate::batches::Entry;
use crate::output::short;
use crate::sheet::{Sheet, push_time};

/// Writes batches.
pub(super) struct Listing {
    sheet: Sheet,
    tolerant: bool,
    widths: Widths,
}

impl Listing {
    pub(super) fn new(tolerant: bool) -> Self {
        Self { sheet: Sheet::new(TITLES), tolerant, widths: Widths::stdout() }
    }

    /// Writes one batch. Returns why strict reading refuses it, if it does.
    pub(super) fn entry(&mut self, out: &mut impl Write, entry: &Entry) -> io::Result<Option<Fault>> {
        let range = format!("batch {}  bytes {}..{}", entry.index, entry.range.start, entry.range.end);
        let Some(batch) = &entry.batch else {
            writeln!(out, "{range}")?;
            fault(out, "damaged", entry.refused.as_ref())?;
            return Ok(entry.refused.clone());
        };
        writeln!(out, "{range}  {}", head(batch, first_offset(batch)))?;
        writeln!(out, "  {}", details(batch, batch.check_crc().is_ok()))?;
        let refused = match (&entry.refused, self.tolerant) {
            (Some(refused), false) => {
                fault(out, "damaged", Some(refused))?;
                return Ok(Some(refused.clone()));
            }
            (Some(refused), true) => refused.clone(),
            // What a consumer would refuse is not shown, so all records have to be read before the first is written.
            (None, _) => match batch.records().find_map(Result::err) {
                None => {
                    self.records(out, batch)?;
                    return Ok(None);
                }
                Some(error) => Fault::of_batch(&error, entry.range.clone()),
            },
        };
        if !self.tolerant {
            fault(out, "damaged", Some(&refused))?;
            return Ok(Some(refused));
        }
        let failed = match entry.tolerant() {
            Some(batch) => self.records(out, &batch)?.map(|error| Fault::of_batch(&error, entry.range.clone())),
            None => Some(refused.clone()),
        };
        match &failed {
            Some(failed) => fault(out, "damaged", Some(failed))?,
            None => fault(out, "refused", Some(&refused))?,
        }
        Ok(Some(refused))
    }

    /// The records up to the first that cannot be read.
    fn records(&mut self, out: &mut impl Write, batch: &Batch) -> io::Result<Option<milena_records::Error>> {
        let mut failed = None;
        for record in batch.records() {
            match record {
                Ok(record) => rows::push(&mut self.sheet, batch, &record, self.widths),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
            if self.sheet.is_full() {
                self.sheet.write(out)?;
            }
        }
        self.sheet.write(out)?;
        Ok(failed)
    }
}

fn fault(out: &mut impl Write, word: &str, fault: Option<&Fault>) -> io::Result<()> {
    match fault {
        Some(fault) => writeln!(out, "  {word}: {}: {}", fault.kind, short(&fault.to_string(), 300)),
        None => Ok(()),
    }
}

/// What there is, and in which form.
pub(in crate::command::decode) fn head(batch: &Batch, first: i64) -> String {
    let last = batch.last_offset();
    let offsets = if first == last { format!("offset {first}") } else { format!("offsets {first} to {last}") };
    let codec = match batch.codec() {
        Ok(codec) if batch.is_compressed() => codec.name(),
        Ok(_) => "not compressed",
        Err(_) => "unknown codec",
    };
    let mut parts = vec![offsets, format!("magic {}", batch.magic()), codec.to_owned()];
    match batch.count() {
        Some(1) => parts.push("1 record".to_owned()),
        Some(count) => parts.push(format!("{count} records")),
        None => {}
    }
    parts.extend(batch.is_transactional().then(|| "transactional".to_owned()));
    parts.extend(batch.is_control().then(|| "control".to_owned()));
    parts.join("  ")
}

/// The other fields of the header that have a meaning.
pub(in crate::command::decode) fn details(batch: &Batch, crc_valid: bool) -> String {
    let verdict = if crc_valid { "valid" } else { "INVALID" };
    let mut parts = vec![format!("crc {:08x} {verdict}", batch.crc())];
    match batch.timestamp_type() {
        TimestampType::None => {}
        // The base is the horizon then.
        TimestampType::CreateTime if batch.delete_horizon().is_some() => {
            parts.push(format!("created up to {}", when(batch.max_timestamp())));
        }
        TimestampType::CreateTime if batch.count().is_some() => {
            parts.push(format!("created {} to {}", when(batch.base_timestamp()), when(batch.max_timestamp())));
        }
        TimestampType::CreateTime => parts.push(format!("created {}", when(batch.max_timestamp()))),
        TimestampType::LogAppendTime => parts.push(format!("appended {}", when(batch.max_timestamp()))),
    }
    if batch.count().is_some() {
        parts.push(format!("leader epoch {}", batch.partition_leader_epoch()));
    }
    if batch.producer_id() >= 0 {
        let (id, epoch, sequence) = (batch.producer_id(), batch.producer_epoch(), batch.base_sequence());
        parts.push(format!("producer {id} epoch {epoch} sequence {sequence}"));
    }
    parts.extend(batch.delete_horizon().map(|horizon| format!("delete horizon {}", when(horizon))));
    parts.join("  ")
}

/// A time, or `-` for none.
pub(in crate::command::decode) fn when(millis: i64) -> String {
    let mut text = Vec::new();
    push_time(&mut text, millis);
    String::from_utf8(text).unwrap_or_default()
}
