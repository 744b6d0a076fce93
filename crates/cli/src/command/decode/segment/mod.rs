//! `decode --as segment`: the log folders of a broker, and the files in them.

mod listing;
mod option;
mod verdict;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use milena_inspect::segment::{JsonLines, read, verify};
use milena_inspect::topic::TopicRecord;
use milena_storage::{Item, Options, Summary};

use super::View;
use super::records::Records;
use crate::failure::{Failure, Result};
use crate::input::read_all;
use crate::output::{self, Progress};
use listing::Listing;
pub(super) use option::Segments;
use verdict::Verdicts;

/// Shows the files, or what is in the folders, one after the other.
pub(super) fn run(paths: &[PathBuf], view: View, segments: Segments) -> Result {
    if view.annotate {
        return annotate(paths, view);
    }
    let is_verified = segments.verify;
    let options = segments.options(view)?;
    let out = output::stdout();
    let mut show: Box<dyn Show> = match (view.json || view.compact, is_verified) {
        (true, _) => Box::new(JsonLines::new(out)),
        (false, true) => Box::new(Verdicts::new(out)),
        (false, false) => Box::new(Listing::new(out, options.headers_only, view.show_secrets)),
    };
    let mut progress = Progress::new(!io::IsTerminal::is_terminal(&io::stdout()));
    let mut total = Summary::default();
    for path in paths {
        let summary = one(path, &options, is_verified, show.as_mut(), &mut progress)?;
        total.faults += summary.faults;
        total.first_fault = total.first_fault.or(summary.first_fault);
        if options.strict && total.faults > 0 {
            break;
        }
    }
    show.finish()?;
    drop(progress);
    match (total.first_fault, total.faults) {
        (None, _) => Ok(()),
        (Some(fault), _) if options.strict => Err(Failure::failed(fault).hint("without --strict, reading goes on")),
        (Some(fault), 1) => Err(Failure::failed(fault)),
        (Some(fault), faults) => Err(Failure::failed(format!("{faults} faults, the first: {fault}"))),
    }
}

fn one(
    path: &Path,
    options: &Options,
    is_verified: bool,
    show: &mut dyn Show,
    progress: &mut Progress,
) -> Result<Summary> {
    // Reading fails in words of its own; writing fails as it does everywhere.
    let mut unwritten = None;
    let mut batches = 0;
    let mut visit = |item: &Item, decoded: Option<&TopicRecord>| {
        if matches!(item, Item::Batch { .. }) {
            batches += 1;
            progress.show(batches, "batches");
        }
        show.item(item, decoded).map_err(|error| {
            let kind = error.kind();
            unwritten = Some(error);
            kind.into()
        })
    };
    let read = match is_verified {
        true => verify(path, options, &mut visit),
        false => read(path, options, &mut visit),
    };
    match (read, unwritten) {
        (_, Some(error)) => Err(error.into()),
        (Err(error), None) => Err(Failure::failed(error)),
        (Ok(summary), None) => Ok(summary),
    }
}

/// Each byte beside its field, of logs alone.
fn annotate(paths: &[PathBuf], view: View) -> Result {
    for path in paths {
        if path.is_dir() || !path.to_string_lossy().ends_with(".log") {
            return Err(Failure::usage(format!("{}: --annotate is for .log files", path.display()))
                .hint("leave it out, or name the .log files of a partition"));
        }
        Records { view }.run(read_all(Some(path))?.into())?;
    }
    Ok(())
}

/// How items are shown.
trait Show {
    fn item(&mut self, item: &Item, decoded: Option<&TopicRecord>) -> io::Result<()>;

    /// Writes what was held back.
    fn finish(&mut self) -> io::Result<()>;
}

impl<W: Write> Show for JsonLines<W> {
    fn item(&mut self, item: &Item, decoded: Option<&TopicRecord>) -> io::Result<()> {
        Self::item(self, item, decoded)
    }

    fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }
}
