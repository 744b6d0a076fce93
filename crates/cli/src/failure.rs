use std::fmt::Display;
use std::io;
use std::process::ExitCode;

use milena_schema::UnknownName;

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
    code: u8,
}

pub(crate) type Result<T = (), E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Something failed, or bytes could not be understood.
    pub(crate) fn failed(message: impl Display) -> Self {
        Self { message: message.to_string(), hint: None, code: 1 }
    }

    /// The command line is wrong.
    pub(crate) fn usage(message: impl Display) -> Self {
        Self { message: message.to_string(), hint: None, code: 2 }
    }

    /// Ends silently: the reader of our output has closed it.
    fn quiet() -> Self {
        Self { message: String::new(), hint: None, code: 0 }
    }

    /// The same with a line that says what to do.
    pub(crate) fn hint(mut self, hint: impl Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// The same without a hint.
    pub(crate) fn without_hint(self) -> Self {
        Self { hint: None, ..self }
    }

    /// The same with a text before it.
    pub(crate) fn preface(mut self, preface: impl Display) -> Self {
        self.message.insert_str(0, &preface.to_string());
        self
    }

    /// What failed, without the hint.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// A failure that was reported already.
    pub(crate) fn reported() -> Self {
        Self { message: String::new(), hint: None, code: 1 }
    }

    /// Reports all but the last on stderr, each hint once, and fails with the last.
    pub(crate) fn several(failures: Vec<Self>) -> Result {
        let mut failures = failures.into_iter().peekable();
        while let Some(mut failure) = failures.next() {
            match failures.peek() {
                None => return Err(failure),
                Some(next) => {
                    if failure.hint == next.hint {
                        failure.hint = None;
                    }
                    failure.report();
                }
            }
        }
        Ok(())
    }

    /// Prints it on stderr.
    pub(crate) fn report(self) -> ExitCode {
        if !self.message.is_empty() {
            eprintln!("error: {}", one_line(&self.message));
        }
        if let Some(hint) = self.hint {
            eprintln!("hint: {}", one_line(&hint));
        }
        ExitCode::from(self.code)
    }
}

/// Text from elsewhere may hold anything; on stderr it has to stay one line without control characters.
fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// An error of stdout: commands report all other I/O errors by themselves.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::quiet(),
            _ => Self::failed(format!("cannot write to stdout: {error}")),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        if error.is_io() { io::Error::from(error).into() } else { Self::failed(error) }
    }
}

impl From<UnknownName> for Failure {
    fn from(error: UnknownName) -> Self {
        Self::usage(error)
    }
}
