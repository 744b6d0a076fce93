//! `decode --records`: batches and message sets, as they stand in requests, answers and the files of a broker.

mod fields;
mod layout;
pub(super) mod listing;

use std::io::Write as _;

use bytes::Bytes;
use milena_records::ErrorKind;

use super::View;
use crate::batch_json::push_entry;
use crate::batches::{Manner, Walk};
use crate::failure::{Failure, Result};
use crate::output::{self, size};
use fields::Fields;

/// How to show what is read.
pub(super) struct Records {
    pub(super) view: View,
}

impl Records {
    /// Reads all of the bytes. What is damaged shows, and makes the call fail at its end.
    pub(super) fn run(&self, bytes: Bytes) -> Result {
        let mut out = output::stdout();
        let View { tolerant, strict, annotate, .. } = self.view;
        let mut fields = Fields::new(bytes.clone(), tolerant);
        let json = self.view.json || self.view.compact;
        let mut walk =
            Walk::new(bytes.clone(), Manner { goes_on: !strict, searches: !strict, tolerant, segment: true });
        let (mut batches, mut damaged, mut first) = (0, 0, None);
        let mut goes_on = true;
        for entry in walk.by_ref() {
            let mut fault = entry.refused.as_ref().map(ToString::to_string);
            if annotate {
                layout::entry(&mut fields, &entry);
            } else if json {
                let mut line = Vec::new();
                let error = push_entry(&mut line, &entry, &bytes, tolerant);
                fault = fault.or(error.map(|error| error["message"].as_str().unwrap_or_default().to_owned()));
                line.push(b'\n');
                out.write_all(&line)?;
            } else {
                if batches > 0 {
                    out.write_all(b"\n")?;
                }
                listing::entry(&mut out, &entry, tolerant)?;
            }
            // Where sizes make no sense, nobody knows where the next batch begins.
            goes_on = !matches!(&entry.refused, Some(error) if error.kind() == ErrorKind::Framing);
            batches += 1;
            damaged += usize::from(fault.is_some());
            first = first.or(fault);
        }
        if annotate {
            fields.print(&mut out, json)?;
        }
        out.flush()?;
        match first {
            None => {
                tell_end(&mut walk, &bytes);
                Ok(())
            }
            Some(fault) if strict => Err(Failure::failed(fault)),
            Some(fault) => {
                tell_end(&mut walk, &bytes);
                let failure = match (damaged, batches) {
                    (1, 1) => Failure::failed(fault),
                    _ => Failure::failed(format!("{damaged} of {batches} batches are damaged, the first: {fault}")),
                };
                Err(if goes_on && !tolerant {
                    failure.hint("--tolerant shows what can be made out of damaged batches")
                } else {
                    failure
                })
            }
        }
    }
}

/// What stands behind the last batch and is no damage.
fn tell_end(walk: &mut Walk, bytes: &Bytes) {
    let (partial, mut zeros) = (walk.partial(), walk.zeros());
    if let Some(partial) = partial {
        let start = bytes.len() - partial.size;
        if bytes.iter().skip(start).all(|byte| *byte == 0) {
            zeros = partial.size;
        } else {
            let whole = partial.expected.map(|whole| format!(" of {whole}")).unwrap_or_default();
            eprintln!("note: a batch that is cut off at the end, from byte {start}: {}{whole}", size(partial.size));
        }
    }
    if zeros > 0 {
        eprintln!("note: zeros at the end, from byte {}: {} of room set aside", bytes.len() - zeros, size(zeros));
    }
    if bytes.is_empty() {
        eprintln!("note: there are no bytes, and no batches");
    }
}
