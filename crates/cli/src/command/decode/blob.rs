//! `decode --as blob`: what members of a group send each other.

use bytes::Bytes;
use milena_inspect::Part;
use milena_inspect::blob::{Blob, CutOff, Kind, guess, guess_cut_off, part, read};
use serde_json::json;

use super::part::{Printer, decode};
use crate::failure::{Failure, Result};
use crate::output::base64;

/// Shows what the bytes are, or everything that they can be.
pub(super) fn run(bytes: &Bytes, kind: Option<Kind>, printer: &mut Printer) -> Result {
    // Of one that ends too early there is something to see.
    let cut_off = match kind {
        Some(kind) if read(kind, bytes.clone()).is_err() => {
            part(kind, bytes).ok().map(|part| (kind, part.version, part))
        }
        None if guess(bytes.clone()).is_empty() => {
            guess_cut_off(bytes.clone()).map(|CutOff { kind, version, part }| (kind, version, part))
        }
        _ => None,
    };
    if let Some((kind, version, part)) = cut_off {
        return show_cut_off(bytes, kind, version, &part, printer);
    }
    let blobs = match kind {
        Some(kind) => read(kind, bytes.clone())
            .map(|blob| vec![blob])
            .map_err(|error| Failure::failed(format!("no {}: {error}", kind.name())).hint("--as blob tries all kinds")),
        None => Ok(guess(bytes.clone())),
    };
    let blobs = match blobs {
        Ok(blobs) if !blobs.is_empty() => blobs,
        failed => {
            printer.title(&format!("not understood  bytes 0..{}", bytes.len()))?;
            printer.unknown(0, bytes)?;
            let failure = failed.err().unwrap_or_else(|| Failure::failed("these bytes are no blob that is known"));
            printer.document(&json!({ "error": failure.message(), "raw": base64(bytes) }))?;
            return Err(failure);
        }
    };
    for (index, blob) in blobs.iter().enumerate() {
        let rank = match (kind, index, blobs.len()) {
            (Some(_), ..) | (None, 0, 1) => String::new(),
            (None, 0, count) => format!("  best of {count} that fit"),
            (None, index, _) => format!("  {} of those that fit", index + 1),
        };
        show(blob, &rank, printer)?;
        printer.document(&blob.to_json())?;
    }
    Ok(())
}

/// Shows what was read up to the fault.
fn show_cut_off(bytes: &Bytes, kind: Kind, version: i16, part: &Part, printer: &mut Printer) -> Result {
    printer.title(&format!("{} version {version}, not whole  bytes 0..{}", part.message.name, bytes.len()))?;
    if part.base == 2 {
        printer.number(0, "version", version.into(), 2);
    }
    let Err(failure) = decode(part, printer) else { return Ok(()) };
    printer.document(&json!({
        "kind": kind.name(), "version": version, "error": failure.message(), "raw": base64(bytes),
    }))?;
    Err(failure)
}

fn show(blob: &Blob, rank: &str, printer: &mut Printer) -> Result {
    if printer.wants_documents() {
        return Ok(());
    }
    printer.title(&format!("{} version {}{rank}", blob.part.message.name, blob.version))?;
    fields(blob, printer)?;
    for note in &blob.notes {
        printer.note(note)?;
    }
    for (name, inner) in &blob.inner {
        printer.title(&format!("{} version {}  in {name}", inner.part.message.name, inner.version))?;
        fields(inner, printer)?;
    }
    Ok(())
}

/// Shows the fields of a blob, its version first.
pub(super) fn fields(blob: &Blob, printer: &mut Printer) -> Result {
    if blob.part.base == 2 {
        printer.number(0, "version", blob.version.into(), 2);
    }
    decode(&blob.part, printer).map(drop)
}
