use std::io::{BufWriter, StdoutLock, Write as _};

use bytes::Bytes;
use milena_schema::{Decoded, Message, Note};
use serde_json::{Value, json};

use super::annotate::{self, Row};
use crate::failure::{Failure, Result};
use crate::output;

/// A message somewhere in the input.
pub(super) struct Part {
    pub(super) message: &'static Message,
    pub(super) version: i16,
    /// Where `bytes` begin in the input.
    pub(super) base: usize,
    /// The message, and what may follow it.
    pub(super) bytes: Bytes,
}

impl Part {
    /// Reads the message; the printer hears of each field if it wants to.
    pub(super) fn decode(&self, printer: &mut Printer) -> Result<Decoded> {
        let outcome = match printer.annotate {
            true => {
                let annotated = self.message.decode_annotated(self.bytes.clone(), self.version);
                printer.notes(self, &annotated.notes);
                annotated.outcome
            }
            false => self.message.decode(self.bytes.clone(), self.version),
        };
        outcome.map_err(|error| {
            let failure =
                Failure::failed(format!("{} version {}: {}", self.message.name, self.version, error.shift(self.base)));
            match printer.annotate {
                true => failure,
                false => failure.hint("--annotate shows what was read up to there"),
            }
        })
    }
}

/// Bytes behind a message are no error, but somebody may wonder.
pub(super) fn note_leftover(part: &Part, leftover: usize) {
    if leftover > 0 {
        let at = part.bytes.len() - leftover;
        let bytes = output::short(&output::hex(&part.bytes[at..]), 40);
        let (count, start) = (output::size(leftover), part.base + at);
        eprintln!("note: {count} left over behind the message, from byte {start}: {bytes}");
    }
}

/// Where decoded parts go.
pub(super) struct Printer {
    out: BufWriter<StdoutLock<'static>>,
    annotate: bool,
    json: bool,
    compact: bool,
    rows: Vec<Row>,
    notes: Vec<Value>,
}

impl Printer {
    pub(super) fn new(annotate: bool, json: bool, compact: bool) -> Self {
        Self { out: output::stdout(), annotate, json, compact, rows: Vec::new(), notes: Vec::new() }
    }

    /// The size in front of a frame.
    pub(super) fn size(&mut self, start: usize, size: i32) {
        if self.annotate && self.json {
            let note =
                json!({ "depth": 0, "path": "size", "type": "int32", "start": start, "end": start + 4, "value": size });
            self.notes.push(note);
        } else if self.annotate {
            if !self.rows.is_empty() {
                self.rows.push(Row::default());
            }
            self.rows.push(Row::size(start, size));
        }
    }

    fn notes(&mut self, part: &Part, notes: &[Note]) {
        if self.json {
            self.notes.extend(notes.iter().map(|note| {
                let mut note = note.clone();
                note.range = note.range.start + part.base..note.range.end + part.base;
                note.to_json()
            }));
        } else {
            annotate::rows(part, notes, &mut self.rows);
        }
    }

    /// A message or frame as JSON; nothing when its fields were told one by one.
    pub(super) fn document(&mut self, json: Value) -> Result {
        match (self.annotate, self.compact) {
            (true, _) => return Ok(()),
            (false, true) => serde_json::to_writer(&mut self.out, &json)?,
            (false, false) => serde_json::to_writer_pretty(&mut self.out, &json)?,
        }
        self.out.write_all(b"\n")?;
        Ok(())
    }

    /// Prints what is still to print.
    pub(super) fn finish(&mut self) -> Result {
        if self.annotate && self.json {
            serde_json::to_writer_pretty(&mut self.out, &self.notes)?;
            self.out.write_all(b"\n")?;
        } else if self.annotate {
            self.out.write_all(annotate::render(&self.rows).as_bytes())?;
        }
        self.out.flush()?;
        Ok(())
    }
}
