use std::io::{BufWriter, StdoutLock, Write as _};

use bytes::Bytes;
use milena_inspect::conversation::Frame;
use milena_inspect::{Part, secret};
use milena_schema::{Decoded, Note};
use serde_json::{Value, json};

use super::View;
use super::annotate::{self, Row};
use crate::failure::{Failure, Result};
use crate::output::{self, Paint, dump_line};

/// Bytes of what is not understood that are shown; JSON has all of them.
const DUMPED: usize = 1024;

/// Reads a message; the printer gets each field if it wants them. The base of the part counts in the input.
pub(super) fn decode(part: &Part, printer: &mut Printer) -> Result<Decoded> {
    let outcome = match printer.style {
        Style::Tree { .. } => annotate(part, printer),
        Style::Notes => {
            let annotated = part.message.decode_annotated(part.bytes.clone(), part.version);
            printer.notes(part, &annotated.notes);
            annotated.outcome
        }
        Style::Json | Style::Lines => part.message.decode(part.bytes.clone(), part.version),
    };
    outcome.map_err(|error| {
        let (name, version) = (&part.message.name, part.version);
        let failure = Failure::failed(format!("{name} version {version}: {}", error.shift(part.base)));
        match printer.style {
            Style::Tree { .. } | Style::Notes => failure,
            Style::Json | Style::Lines => failure.hint("--annotate shows what was read up to there"),
        }
    })
}

/// Shows the fields, without secrets.
fn annotate(part: &Part, printer: &mut Printer) -> milena_wire::Result<Decoded> {
    let mut annotated = part.message.decode_annotated(part.bytes.clone(), part.version);
    let shown = Part { bytes: printer.hide(part), ..part.clone() };
    if shown.bytes != part.bytes {
        match annotated.outcome {
            Ok(_) => annotated.notes = shown.message.decode_annotated(shown.bytes.clone(), shown.version).notes,
            // What was read up to the failure may be a secret too.
            Err(_) => annotated.notes.truncate(1),
        }
    }
    printer.notes(&shown, &annotated.notes);
    annotated.outcome
}

/// How things are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// Documents over several lines.
    Json,
    /// A document a line.
    Lines,
    /// One array of all fields with their ranges.
    Notes,
    /// Each field beside its bytes, with a line of words above each frame or not.
    Tree { titles: bool },
}

impl Style {
    /// What was asked for. When nothing says what the bytes are, they are shown field by field.
    pub(super) fn new(view: View, described: bool) -> Self {
        match (view.annotate, view.json, view.compact) {
            (true, true, _) => Self::Notes,
            (true, false, _) => Self::Tree { titles: !described },
            (false, _, true) => Self::Lines,
            (false, false, false) if !described => Self::Tree { titles: true },
            _ => Self::Json,
        }
    }
}

/// Where decoded things go.
pub(super) struct Printer {
    out: BufWriter<StdoutLock<'static>>,
    style: Style,
    rows: Vec<Row>,
    notes: Vec<Value>,
    titles: usize,
    show_secrets: bool,
    /// Something was hidden.
    hidden: bool,
}

impl Printer {
    pub(super) fn new(style: Style, show_secrets: bool) -> Self {
        let (rows, notes) = (Vec::new(), Vec::new());
        Self { out: output::stdout(), style, rows, notes, titles: 0, show_secrets, hidden: false }
    }

    /// The bytes of a message as they may be shown.
    fn hide(&mut self, part: &Part) -> Bytes {
        if self.show_secrets {
            return part.bytes.clone();
        }
        let hidden = secret::hide(part.message, part.version, &part.bytes);
        self.hidden |= hidden != part.bytes;
        hidden
    }

    /// The same of a frame that cannot be read, where people see it.
    pub(super) fn hide_frame(&mut self, frame: &Frame) -> Bytes {
        if self.show_secrets || !matches!(self.style, Style::Tree { .. }) {
            return frame.bytes.clone();
        }
        let hidden = match &frame.head {
            None if frame.is_sasl_token() => secret::stars(&frame.bytes, 0),
            None => frame.bytes.clone(),
            Some(head) => {
                secret::hide_frame(head.api_key, head.api_version, frame.direction, &frame.bytes, Some(frame.body))
            }
        };
        self.hidden |= hidden != frame.bytes;
        hidden
    }

    /// A line of words above what follows.
    pub(super) fn title(&mut self, title: &str) -> Result {
        if self.style != (Style::Tree { titles: true }) {
            return Ok(());
        }
        self.flush_rows()?;
        if self.titles > 0 {
            self.out.write_all(b"\n")?;
        }
        self.titles += 1;
        writeln!(self.out, "{}", Paint::stdout().bold(title))?;
        Ok(())
    }

    /// Something that is odd but no failure.
    pub(super) fn note(&mut self, note: &str) -> Result {
        match self.style {
            Style::Tree { titles: true } => {
                self.flush_rows()?;
                writeln!(self.out, "note: {note}")?;
            }
            _ => eprintln!("note: {note}"),
        }
        Ok(())
    }

    /// The size in front of a frame.
    pub(super) fn size(&mut self, start: usize, size: i32) {
        match self.style {
            Style::Notes => self.notes.push(
                json!({ "depth": 0, "path": "size", "type": "int32", "start": start, "end": start + 4, "value": size }),
            ),
            Style::Tree { titles } => {
                if !self.rows.is_empty() && !titles {
                    self.rows.push(Row::default());
                }
                self.rows.push(Row::number(start, "size", size.into(), 4));
            }
            Style::Json | Style::Lines => {}
        }
    }

    /// A number in front of a message that no layout has.
    pub(super) fn number(&mut self, start: usize, name: &str, number: i64, bytes: usize) {
        match self.style {
            Style::Notes => self.notes.push(json!({
                "depth": 0, "path": name, "type": annotate::int_type(bytes), "start": start, "end": start + bytes,
                "value": number,
            })),
            Style::Tree { .. } => self.rows.push(Row::number(start, name, number, bytes)),
            Style::Json | Style::Lines => {}
        }
    }

    fn notes(&mut self, part: &Part, notes: &[Note]) {
        if self.style == Style::Notes {
            self.notes.extend(notes.iter().map(|note| {
                let mut note = note.clone();
                note.range = note.range.start + part.base..note.range.end + part.base;
                note.to_json()
            }));
        } else {
            annotate::rows(part, notes, &mut self.rows);
        }
    }

    /// Bytes that are not understood, with where they are in the input.
    pub(super) fn unknown(&mut self, start: usize, bytes: &[u8]) -> Result {
        match self.style {
            Style::Tree { .. } => {
                self.flush_rows()?;
                for (index, line) in bytes.chunks(16).take(DUMPED / 16).enumerate() {
                    writeln!(self.out, "{}", dump_line(start + 16 * index, line))?;
                }
                if bytes.len() > DUMPED {
                    writeln!(self.out, "… {} more", output::size(bytes.len() - DUMPED))?;
                }
            }
            Style::Notes => self.notes.push(json!({
                "depth": 0, "path": "unknown", "type": "unknown", "start": start, "end": start + bytes.len(),
                "hex": output::hex(bytes), "failed": true,
            })),
            Style::Json | Style::Lines => {}
        }
        Ok(())
    }

    /// A message or frame as JSON; nothing when its fields were shown one by one.
    pub(super) fn document(&mut self, json: &Value) -> Result {
        match self.style {
            Style::Tree { .. } | Style::Notes => return Ok(()),
            Style::Lines => serde_json::to_writer(&mut self.out, json)?,
            Style::Json => serde_json::to_writer_pretty(&mut self.out, json)?,
        }
        self.out.write_all(b"\n")?;
        Ok(())
    }

    /// Whether a document is wanted at all.
    pub(super) fn wants_documents(&self) -> bool {
        matches!(self.style, Style::Json | Style::Lines)
    }

    fn flush_rows(&mut self) -> Result {
        if !self.rows.is_empty() {
            self.out.write_all(annotate::render(&self.rows).as_bytes())?;
            self.rows.clear();
        }
        Ok(())
    }

    /// Prints what is still to print.
    pub(super) fn finish(&mut self) -> Result {
        match self.style {
            Style::Notes => {
                serde_json::to_writer_pretty(&mut self.out, &self.notes)?;
                self.out.write_all(b"\n")?;
            }
            // A table of no rows still has its titles, which say what would be there.
            Style::Tree { titles: false } if self.rows.is_empty() => {
                self.out.write_all(annotate::render(&[]).as_bytes())?;
            }
            _ => self.flush_rows()?,
        }
        self.out.flush()?;
        if self.hidden {
            eprintln!("note: asterisks stand for passwords, tokens and keys; --show-secrets shows them");
        }
        Ok(())
    }
}
