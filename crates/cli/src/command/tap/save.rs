use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use milena_inspect::capture::PcapngWriter;
use milena_inspect::conversation::{Exchange, Head};
use milena_inspect::trace::TracedFrame;

use crate::failure::{Failure, Result};

/// A file that keeps what passes. When it takes no more, such as on a full disk, that is said once and the traffic goes on.
pub(crate) struct Save {
    path: PathBuf,
    /// `None` once it failed.
    form: Option<Form>,
}

enum Form {
    Trace(BufWriter<File>),
    Pcapng(PcapngWriter<BufWriter<File>>),
}

impl Save {
    /// Makes the file; its name says which form it has.
    pub(crate) fn create(path: &Path) -> Result<Self> {
        let failed = |error: io::Error| Failure::failed(format!("{}: {error}", path.display()));
        let open = || File::create(path).map(BufWriter::new).map_err(failed);
        let form = match path.extension().and_then(|extension| extension.to_str()) {
            Some("jsonl") => Form::Trace(open()?),
            Some("pcapng") => Form::Pcapng(PcapngWriter::new(open()?).map_err(failed)?),
            _ => {
                let what = format!("--save {}: the name has to end in .jsonl or .pcapng", path.display());
                return Err(Failure::usage(what));
            }
        };
        Ok(Self { path: path.to_owned(), form: Some(form) })
    }

    pub(crate) fn exchange(&mut self, exchange: &Exchange) {
        self.write(|form| match form {
            Form::Pcapng(file) => file.write(exchange),
            Form::Trace(file) => trace(exchange).try_for_each(|(frame, head)| frame.write(head.as_ref(), file)),
        });
    }

    /// A connection is at its end.
    pub(crate) fn close(&mut self, connection: u64) {
        self.write(|form| match form {
            Form::Pcapng(file) => file.close(connection),
            Form::Trace(_) => Ok(()),
        });
    }

    /// Lets others see what was written so far.
    pub(crate) fn flush(&mut self) {
        self.write(|form| match form {
            Form::Pcapng(file) => file.flush(),
            Form::Trace(file) => file.flush(),
        });
    }

    /// The end.
    ///
    /// # Errors
    /// Something is missing in the file.
    pub(crate) fn finish(mut self) -> Result {
        self.flush();
        match self.form {
            Some(_) => Ok(()),
            None => Err(Failure::failed(format!("{}: not all that passed is in it", self.path.display()))),
        }
    }

    fn write(&mut self, write: impl FnOnce(&mut Form) -> io::Result<()>) {
        if let Some(Err(error)) = self.form.as_mut().map(write) {
            eprintln!("warning: {}: {error}; nothing more is kept in it", self.path.display());
            self.form = None;
        }
    }
}

/// The frames of an exchange, with what is known of them.
fn trace(exchange: &Exchange) -> impl Iterator<Item = (TracedFrame, Option<Head>)> {
    let endpoints = exchange.endpoints.as_deref();
    exchange.request.iter().chain(&exchange.response).map(move |frame| {
        let traced = TracedFrame {
            time: Some(frame.time),
            connection: exchange.connection(),
            client: endpoints.map(|endpoints| endpoints.client.clone()),
            broker: endpoints.map(|endpoints| endpoints.broker.clone()),
            direction: frame.direction,
            frame: frame.bytes.clone(),
        };
        (traced, exchange.head().cloned())
    })
}
