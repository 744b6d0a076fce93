mod api;
mod batch;
mod encoding;
mod error;
mod family;
mod files;
mod index;
mod message;
mod proposal;
mod release;
mod search;
mod site;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use clap::Args;
use milena_schema::Spec;

use crate::failure::{Failure, Result};

const EXAMPLES: &str = "Examples:
  milena docs --out reference                      then open reference/index.html in a browser
  milena docs --out reference && python3 -m http.server -d reference
  milena docs --out site/kafka --force             into a folder that has other files

The pages need neither a server nor the network: they can be zipped, printed, or put on any web
server. Only the search needs JavaScript. The same version of milena always writes the same bytes.";

/// Write a reference of the whole protocol as web pages
///
/// One page per API with every version of its request and response: fields, types, defaults and meaning, what each version
/// changed, which releases of Kafka have it, and an example byte by byte. More pages cover records, headers, error codes,
/// releases, encodings and proposals. All of it is made from the same spec as the codec.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Docs {
    /// Folder to write into; it is created if necessary
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Write even into a folder with other files
    #[arg(long)]
    force: bool,
}

impl Docs {
    pub(crate) fn run(self) -> Result {
        let out = &self.out;
        let cannot = |error: io::Error| Failure::failed(format!("cannot write to {}: {error}", out.display()));
        match state(out) {
            Ok(State::Free) => {}
            Ok(State::File) => return Err(Failure::usage(format!("{} is not a folder", out.display()))),
            Ok(State::Foreign) if self.force => {}
            Ok(State::Foreign) => {
                let message = format!("{} has files that `milena docs` did not write", out.display());
                return Err(Failure::usage(message).hint("choose another folder, or add --force"));
            }
            Err(error) => return Err(cannot(error)),
        }
        let files = files::files(Spec::kafka());
        fs::create_dir_all(out).map_err(cannot)?;
        for (name, text) in &files {
            fs::write(out.join(name), text).map_err(cannot)?;
        }
        let bytes: usize = files.values().map(String::len).sum();
        let (count, start) = (files.len(), out.join("index.html"));
        eprintln!("{count} files, {:.1} MB; open {}", bytes as f64 / 1e6, start.display());
        Ok(())
    }
}

/// What is at a path.
enum State {
    /// Nothing, an empty folder, or one that `milena docs` wrote.
    Free,
    /// A folder with other files.
    Foreign,
    /// Not a folder.
    File,
}

fn state(out: &Path) -> io::Result<State> {
    let mut entries = match fs::read_dir(out) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(State::Free),
        Err(_) if out.is_file() => return Ok(State::File),
        Err(error) => return Err(error),
    };
    if entries.next().is_none() {
        return Ok(State::Free);
    }
    match fs::read_to_string(out.join("index.html")) {
        Ok(text) if text.contains(&format!("content=\"{}\"", site::GENERATOR)) => Ok(State::Free),
        _ => Ok(State::Foreign),
    }
}
