//! `decode --as segment`: the log folders of a broker, and the files in them.

mod listing;
mod option;
mod verdict;

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use milena_inspect::segment::{JsonLines, read, read_log, verify};
use milena_inspect::topic::TopicRecord;
use milena_storage::{Item, Options, Summary};

use super::View;
use super::records::Records;
use crate::failure::{Failure, Result};
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
    let mut shown = Shown::new(view, &options, is_verified);
    for path in paths {
        shown.read(&mut |visit| match is_verified {
            true => verify(path, &options, visit),
            false => read(path, &options, visit),
        })?;
        if options.strict && shown.total.faults > 0 {
            break;
        }
    }
    shown.finish(options.strict)
}

/// Shows the log that comes from stdin.
pub(super) fn run_stdin(view: View, segments: Segments) -> Result {
    if segments.verify {
        return Err(Failure::usage("--verify compares files of a folder").hint("name the folder or a file of it"));
    }
    if view.annotate {
        return Records { view }.run(io::stdin().lock());
    }
    let options = segments.options(view)?;
    let mut shown = Shown::new(view, &options, false);
    shown.read(&mut |visit| read_log(io::stdin().lock(), &options, visit))?;
    shown.finish(options.strict)
}

/// What is shown, and how much of it was wrong.
struct Shown {
    show: Box<dyn Show>,
    progress: Progress,
    batches: u64,
    total: Summary,
}

/// Receives items.
type Visit<'a> = dyn FnMut(&Item, Option<&TopicRecord>) -> io::Result<()> + 'a;

impl Shown {
    fn new(view: View, options: &Options, is_verified: bool) -> Self {
        let out = output::stdout();
        let show: Box<dyn Show> = match (view.json || view.compact, is_verified) {
            (true, _) => Box::new(JsonLines::new(out).headers_only(options.headers_only)),
            (false, true) => Box::new(Verdicts::new(out)),
            (false, false) => Box::new(Listing::new(out, options.headers_only, view.show_secrets)),
        };
        let progress = Progress::new(!io::IsTerminal::is_terminal(&io::stdout()));
        Self { show, progress, batches: 0, total: Summary::default() }
    }

    fn read(&mut self, read: &mut dyn FnMut(&mut Visit) -> io::Result<Summary>) -> Result {
        // Reading fails in words of its own; writing fails as it does everywhere.
        let mut unwritten = None;
        let read = read(&mut |item, decoded| {
            if matches!(item, Item::Batch { .. }) {
                self.batches += 1;
                self.progress.show(self.batches, "batches");
            }
            self.show.item(item, decoded).map_err(|error| {
                let kind = error.kind();
                unwritten = Some(error);
                kind.into()
            })
        });
        let summary = match (read, unwritten) {
            (_, Some(error)) => return Err(error.into()),
            (Err(error), None) => return Err(Failure::failed(error)),
            (Ok(summary), None) => summary,
        };
        self.total.faults += summary.faults;
        self.total.first_fault = self.total.first_fault.take().or(summary.first_fault);
        Ok(())
    }

    fn finish(mut self, strict: bool) -> Result {
        self.show.finish()?;
        drop(self.progress);
        match (self.total.first_fault, self.total.faults) {
            (None, _) => Ok(()),
            (Some(fault), _) if strict => Err(Failure::failed(fault).hint("without --strict, reading goes on")),
            (Some(fault), 1) => Err(Failure::failed(fault)),
            (Some(fault), faults) => Err(Failure::failed(format!("{faults} faults, the first: {fault}"))),
        }
    }
}

/// Each byte beside its field, of logs alone.
fn annotate(paths: &[PathBuf], view: View) -> Result {
    for path in paths {
        if path.is_dir() || !path.to_string_lossy().ends_with(".log") {
            return Err(Failure::usage(format!("{}: --annotate is for .log files", path.display()))
                .hint("leave it out, or name the .log files of a partition"));
        }
        let file = fs::File::open(path);
        let file = file.map_err(|error| Failure::failed(format!("cannot read {}: {error}", path.display())))?;
        Records { view }.run(file)?;
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
