//! `decode --as frames`: requests and responses with their headers.

use bytes::Bytes;
use milena_inspect::stream::{Assume, FoundFrame, Guess, Reading, read};
use serde_json::{Map, Value, json};

use super::no_bytes;
use super::part::Printer;
use super::show::{Shown, Tally};
use crate::failure::{Failure, Result};
use crate::output::base64;

/// Reads all frames.
pub(super) fn run(bytes: &Bytes, assume: Assume, printer: &mut Printer) -> Result {
    let frames = read(bytes, assume);
    if frames.is_empty() {
        return Err(no_bytes());
    }
    let mut tally = Tally::default();
    for found in frames {
        let failure = show(found, printer)?;
        tally.count(failure);
    }
    tally.finish("frames")
}

fn show(found: FoundFrame, printer: &mut Printer) -> Result<Option<Failure>> {
    let (start, end) = (found.range.start, found.range.end);
    let place = format!("bytes {start}..{end}");
    let mut notes = found.notes.clone();
    let mut members = Map::new();
    match &found.reading {
        Reading::Foreign(foreign) => {
            printer.title(&format!("not a Kafka frame  {place}"))?;
            printer.unknown(start, &found.frame.bytes)?;
            let what = notes.join("; ");
            printer.document(&json!({
                "foreign": foreign.to_string(), "error": what, "frame": base64(&found.frame.bytes),
            }))?;
            return Ok(Some(Failure::failed(what).hint(foreign.hint())));
        }
        Reading::Unknown => {
            printer.title(&format!("not understood  {place}"))?;
            if let Some(size) = found.size {
                printer.size(start, size);
            }
            printer.unknown(found.base(), &found.frame.bytes)?;
            let what = format!("the frame at byte {start} is neither request nor response: {}", notes.join("; "));
            printer.document(&json!({ "error": what, "frame": base64(&found.frame.bytes) }))?;
            let hint = "add --request, or --response with --api and --version";
            return Ok(Some(Failure::failed(what).hint(hint)));
        }
        Reading::Guess(guesses) => {
            members.insert("guess".to_owned(), guesses.iter().map(guess_json).collect());
            notes.push(in_words(guesses));
        }
        Reading::Request | Reading::Response => {}
    }
    let (base, size) = (found.base(), found.size);
    Shown { frame: &found.frame, base, size, place, members, notes }.show(printer)
}

fn guess_json(guess: &Guess) -> Value {
    json!({
        "api": guess.api_key.to_string(),
        "versions": guess.versions.to_string(),
        "reasons": guess.reasons,
    })
}

/// What a response was taken for and why, and what else it may be.
fn in_words(guesses: &[Guess]) -> String {
    let name = |guess: &Guess| format!("{} {}", guess.api_key, guess.versions);
    let mut names = guesses.iter().map(name);
    let best = names.next().unwrap_or_default();
    let reasons = guesses.first().map(|guess| guess.reasons.join(", ")).unwrap_or_default();
    let others: Vec<String> = names.collect();
    let others = if others.is_empty() { String::new() } else { format!("; others that fit: {}", others.join(", ")) };
    format!("the request to this response is not here, so this is a guess: {best} ({reasons}){others}")
}
