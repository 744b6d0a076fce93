use std::fmt;
use std::io;
use std::path::Path;

/// What keeps a broker, or a client of another make, from running.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program that has to be installed is not.
    #[error("`{program}` does not run: {reason}; {advice}")]
    Missing {
        /// Its name.
        program: &'static str,
        /// What the operating system said.
        reason: String,
        /// What to do.
        advice: &'static str,
    },
    /// A program ended with an error.
    #[error("{what} failed ({status})\n{output}")]
    Failed {
        /// What it was for.
        what: &'static str,
        /// How it ended.
        status: String,
        /// The last lines that it wrote.
        output: String,
    },
    /// A broker runs but does not respond in time.
    #[error("no response from {bootstrap} within {seconds} s: {last}\n{log}")]
    Silent {
        /// Where it should listen.
        bootstrap: String,
        /// How long it was waited for.
        seconds: u64,
        /// What the last attempt came to.
        last: String,
        /// The last lines of its log.
        log: String,
    },
    /// A file or a process could not be handled.
    #[error("{what}: {error}")]
    Io {
        /// Which.
        what: String,
        /// The reason.
        error: io::Error,
    },
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// The result of starting something.
pub type Result<T, E = Error> = std::result::Result<T, E>;

pub(crate) trait Context<T> {
    fn on(self, path: &Path) -> Result<T>;
    fn doing(self, what: impl fmt::Display) -> Result<T>;
}

impl<T> Context<T> for io::Result<T> {
    fn on(self, path: &Path) -> Result<T> {
        self.doing(path.display())
    }

    fn doing(self, what: impl fmt::Display) -> Result<T> {
        self.map_err(|error| Error::Io { what: what.to_string(), error })
    }
}
