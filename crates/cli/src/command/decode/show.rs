//! Frames, each with what is known of it, and how many of them were not understood.

use milena_inspect::Part;
use milena_inspect::conversation::{Direction, Frame};
use milena_schema::Decoded;
use serde_json::{Map, Value, json};

use super::part::{Printer, decode};
use crate::failure::{Failure, Result};
use crate::output::{self, fit};

/// A frame to be shown.
pub(super) struct Shown<'a> {
    pub(super) frame: &'a Frame,
    /// Where its header begins in the input.
    pub(super) base: usize,
    /// The size in front of it, where there is one.
    pub(super) size: Option<i32>,
    /// Where and when it is from, in words.
    pub(super) place: String,
    /// What JSON has in front.
    pub(super) members: Map<String, Value>,
    /// What is odd about it.
    pub(super) notes: Vec<String>,
}

/// What was shown so far.
#[derive(Default)]
pub(super) struct Tally {
    shown: usize,
    failed: usize,
    first: Option<Failure>,
}

impl Tally {
    /// Counts one that was understood, or why it was not.
    pub(super) fn count(&mut self, failure: Option<Failure>) {
        self.shown += 1;
        if let Some(failure) = failure {
            self.failed += 1;
            self.first.get_or_insert(failure);
        }
    }

    /// The verdict on all.
    pub(super) fn finish(self, what: &str) -> Result {
        match self.first {
            None => Ok(()),
            Some(failure) if self.shown == 1 => Err(failure),
            Some(failure) => {
                Err(failure
                    .preface(format!("{} of {} {what} are not understood, the first: ", self.failed, self.shown)))
            }
        }
    }
}

/// Whether the JSON gives the same bytes.
fn is_exact(part: &Part, read: &Decoded) -> bool {
    let bytes = part.bytes.get(..part.bytes.len() - read.leftover);
    part.message.encode(&read.json, part.version).is_ok_and(|written| Some(&written[..]) == bytes)
}

impl Shown<'_> {
    /// Shows it, and gives why it was not understood, if it was not.
    pub(super) fn show(mut self, printer: &mut Printer) -> Result<Option<Failure>> {
        printer.title(&self.title())?;
        if let Some(size) = self.size {
            printer.size(self.base - 4, size);
        }
        let read = self.read(printer);
        if let Some(missing) = self.missing() {
            self.notes.insert(0, missing);
        }
        let failure = match read {
            Ok((header, body, leftover)) => {
                self.members.insert("header".to_owned(), header);
                self.members.insert("body".to_owned(), body);
                if leftover > 0 {
                    let rest = &self.frame.bytes[self.frame.bytes.len() - leftover..];
                    self.members.insert("leftover".to_owned(), json!(output::base64(rest)));
                    let (count, start) = (output::size(leftover), self.base + self.frame.bytes.len() - leftover);
                    let hex = fit(&output::hex(rest), 40);
                    self.notes.insert(0, format!("{count} left over after the message, from byte {start}: {hex}"));
                }
                None
            }
            Err(failure) => {
                // What there is of a header that is not shown as a whole.
                if let Some(head) = &self.frame.head {
                    self.members.insert("correlationId".to_owned(), json!(head.correlation_id));
                    self.members.insert("clientId".to_owned(), json!(head.client_id.as_deref()));
                }
                self.members.insert("error".to_owned(), json!(failure.message()));
                self.members.insert("frame".to_owned(), json!(output::base64(&self.frame.bytes)));
                Some(match self.missing() {
                    Some(missing) => failure.hint(missing),
                    None => failure,
                })
            }
        };
        // A frame that cannot be read says so itself when it was cut off.
        let cut_off = failure.is_some() && self.missing().is_some();
        for note in self.notes.iter().skip(usize::from(cut_off)) {
            printer.note(note)?;
        }
        if printer.wants_documents() {
            if !self.notes.is_empty() {
                self.members.insert("notes".to_owned(), json!(self.notes));
            }
            printer.document(&Value::Object(self.members))?;
        }
        Ok(failure)
    }

    /// Header, body, and how many bytes are left over.
    fn read(&mut self, printer: &mut Printer) -> Result<(Value, Value, usize)> {
        let frame = self.frame;
        self.members.insert("direction".to_owned(), json!(frame.direction.name()));
        if let Some(head) = &frame.head {
            self.members.insert("api".to_owned(), json!(head.api_key.to_string()));
            self.members.insert("version".to_owned(), json!(head.api_version));
        }
        let parts = match frame.parts() {
            Ok(parts) => parts,
            Err(error) => {
                let bytes = printer.hide_frame(frame);
                printer.unknown(self.base, &bytes)?;
                return Err(Failure::failed(format!("{error} (at byte {})", self.base)));
            }
        };
        let [head, body] = parts.map(|part| Part { base: part.base + self.base, ..part });
        let (header, read) = (decode(&head, printer)?, decode(&body, printer)?);
        if printer.wants_documents() && !(is_exact(&head, &header) && is_exact(&body, &read)) {
            // A string that is no UTF-8, a bool of 2, a longer varint than need be: the JSON does not say that.
            self.members.insert("raw".to_owned(), json!(output::base64(&frame.bytes)));
            self.notes.push("Kafka would write this in other bytes; `raw` has those that are there".to_owned());
        }
        Ok((header.json, read.json, read.leftover))
    }

    fn missing(&self) -> Option<String> {
        let there = self.frame.bytes.len();
        let size = self.size.filter(|size| usize::try_from(*size) != Ok(there))?;
        Some(format!("the size field of the frame says {size} bytes, but {there} follow"))
    }

    fn title(&self) -> String {
        let arrow = match self.frame.direction {
            Direction::Request => "→",
            Direction::Response => "←",
        };
        let what = match &self.frame.head {
            Some(head) => {
                let client = head.client_id.as_ref().map(|id| format!("  {:?}", fit(id, 40))).unwrap_or_default();
                format!("{} v{}  #{}{client}", head.api_key, head.api_version, head.correlation_id)
            }
            None if self.frame.is_sasl_token() => "token of SASL".to_owned(),
            None => self.frame.direction.name().to_owned(),
        };
        format!("{arrow} {what}  {}", self.place)
    }
}
