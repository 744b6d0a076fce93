//! `decode --records`: batches and message sets, as they are in requests, responses and the files of a broker.

mod fields;
mod layout;
pub(super) mod listing;
pub(super) mod rows;

use std::io::{Read, Write as _};

use milena_storage::{LogContent, LogReader};

use super::View;
use crate::batches::Entry;
use crate::failure::{Failure, Result};
use crate::output::{self, Progress, size};
use fields::Fields;
use listing::Listing;

/// How to show what is read.
pub(super) struct Records {
    pub(super) view: View,
}

/// What was damaged.
#[derive(Default)]
struct Damage {
    batches: u64,
    damaged: u64,
    first: Option<String>,
    /// The last size that was read was impossible, so that nobody knows whether batches follow.
    is_lost: bool,
}

impl Records {
    /// Reads to the end, a batch at a time. Damage is shown, and makes the call fail at its end.
    pub(super) fn run(&self, input: impl Read) -> Result {
        let View { tolerant, strict, annotate, .. } = self.view;
        let json = self.view.json || self.view.compact;
        let mut damage = Damage::default();
        if annotate {
            let mut fields = Fields::new(json, tolerant);
            self.each(input, &mut damage, |entry| {
                layout::entry(&mut fields, entry);
                let refused = || entry.batch.as_ref()?.records().find_map(Result::err);
                let of_record = |error| milena_storage::Fault::of_batch(&error, entry.range.clone());
                Ok(entry.refused.clone().or_else(|| refused().map(of_record)))
            })?;
            fields.finish()?;
        } else if json {
            let (mut out, mut line) = (output::stdout(), Vec::new());
            self.each(input, &mut damage, |entry| {
                line.clear();
                let fault = entry.push_json(&mut line, tolerant);
                line.push(b'\n');
                out.write_all(&line)?;
                Ok(fault)
            })?;
            out.flush()?;
        } else {
            let (mut out, mut listing) = (output::stdout(), Listing::new(tolerant));
            self.each(input, &mut damage, |entry| {
                if entry.index > 0 {
                    out.write_all(b"\n")?;
                }
                Ok(listing.entry(&mut out, entry)?)
            })?;
            out.flush()?;
        }
        let Damage { batches, damaged, first, is_lost } = damage;
        let failure = match (first, damaged, batches) {
            (None, ..) => return Ok(()),
            (Some(fault), ..) if strict => return Err(Failure::failed(fault)),
            (Some(fault), 1, 1) => Failure::failed(fault),
            (Some(fault), ..) => {
                Failure::failed(format!("{damaged} of {batches} batches are damaged, the first: {fault}"))
            }
        };
        Err(match is_lost || tolerant {
            true => failure,
            false => failure.hint("--tolerant shows the records of damaged batches that can be read"),
        })
    }

    /// Each batch, until the end or, with --strict, the first that `show` returns a fault of.
    fn each(
        &self,
        input: impl Read,
        damage: &mut Damage,
        mut show: impl FnMut(&Entry) -> Result<Option<milena_storage::Fault>>,
    ) -> Result {
        let mut progress = Progress::new(!std::io::IsTerminal::is_terminal(&std::io::stdout()));
        let mut is_empty = true;
        for part in LogReader::new(input) {
            let part = part.map_err(|error| Failure::failed(format!("cannot read the input: {error}")))?;
            is_empty = false;
            let (start, length) = (part.range.start, (part.range.end - part.range.start) as usize);
            match &part.content {
                LogContent::CutOff { expected } => {
                    let whole = expected.map(|whole| format!(" of {whole}")).unwrap_or_default();
                    eprintln!("note: a batch that is cut off at the end, from byte {start}: {}{whole}", size(length));
                }
                LogContent::Zeros => {
                    eprintln!("note: zeros at the end, from byte {start}: {} of preallocated space", size(length));
                }
                _ => {}
            }
            let Some(entry) = Entry::of_log(damage.batches as usize, part) else { continue };
            let fault = show(&entry)?;
            damage.batches += 1;
            progress.show(damage.batches, "batches");
            damage.is_lost = fault.as_ref().is_some_and(|fault| fault.kind == "framing");
            if let Some(fault) = fault {
                damage.damaged += 1;
                damage.first.get_or_insert_with(|| fault.to_string());
                if self.view.strict {
                    return Ok(());
                }
            }
        }
        if is_empty {
            eprintln!("note: there are no bytes, and no batches");
        }
        Ok(())
    }
}
