//! What `--verify` says of files: a line for each, and what is wrong.

use std::io::{self, Write};

use milena_inspect::topic::TopicRecord;
use milena_storage::{FileKind, Item, Skipped, Verified};

use super::Show;
use super::listing::wrong;
use crate::output::short;

/// Writes a line for each valid file, and more for an invalid one.
pub(super) struct Verdicts<W> {
    out: W,
    file: String,
    kind: FileKind,
}

impl<W: Write> Verdicts<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, file: String::new(), kind: FileKind::Log }
    }
}

impl<W: Write> Show for Verdicts<W> {
    fn item(&mut self, item: &Item, _: Option<&TopicRecord>) -> io::Result<()> {
        match item {
            Item::File(file) => {
                self.file = short(&file.path.to_string_lossy(), 300);
                self.kind = file.name.kind;
                write!(self.out, "{}", self.file)
            }
            Item::Fault(fault) => write!(self.out, "\n  {}", wrong(fault)),
            Item::Verified(verified) => {
                let counts = counts(self.kind, verified);
                match verified.faults {
                    0 => writeln!(self.out, "  {counts}  valid"),
                    1 => writeln!(self.out, "\n  {counts}  1 FAULT"),
                    faults => writeln!(self.out, "\n  {counts}  {faults} FAULTS"),
                }
            }
            Item::Skipped(Skipped::Deleted) => writeln!(self.out, "  not checked: the broker will delete it"),
            Item::Skipped(Skipped::Cleaned) => writeln!(self.out, "  not checked: compaction has not finished it"),
            Item::Skipped(why) => writeln!(self.out, "  not checked: {}", why.name()),
            _ => Ok(()),
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn counts(kind: FileKind, verified: &Verified) -> String {
    let many = |count: u64, one: &str, more: &str| format!("{count} {}", if count == 1 { one } else { more });
    let entries = verified.entries;
    match kind {
        FileKind::Log | FileKind::KraftSnapshot => {
            let (batches, records) = (many(entries, "batch", "batches"), many(verified.records, "record", "records"));
            match &verified.offsets {
                Some(offsets) => format!("{batches}, {records}, offsets {} to {}", offsets.start, offsets.end - 1),
                None => batches,
            }
        }
        FileKind::OffsetIndex | FileKind::TimeIndex | FileKind::TxnIndex => many(entries, "entry", "entries"),
        FileKind::ProducerSnapshot => many(entries, "producer", "producers"),
        _ => many(entries, "line", "lines"),
    }
}
