//! Input of bytes: from the command line, a file or stdin; as text in some form, or as they are.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use milena_inspect::text::{self, Form};

use crate::failure::{Failure, Result};

/// Where the bytes are.
#[derive(Args, Debug)]
pub(crate) struct BytesInput {
    /// Files and folders, or the bytes as hex or base64, or - for stdin, which is also the default.
    ///
    /// Hex may have any spacing, prefixes and punctuation, and the forms that xxd, hexdump, od, tcpdump -x and Wireshark
    /// print. Strings of C and Python, and arrays of numbers, are read too.
    #[arg(value_name = "BYTES", conflicts_with = "file")]
    text: Vec<String>,

    /// Read the bytes from this file; - for stdin
    #[arg(long, short, value_name = "PATH")]
    file: Option<PathBuf>,

    /// Form of the bytes. auto: hex if it can be hex, else base64 or a string, else the bytes as they are
    #[arg(long, short, value_name = "FORMAT", default_value = "auto")]
    input: InputFormat,
}

/// The form of input bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// Detect it from the content
    Auto,
    /// Hex digits, with any other characters between them
    Hex,
    /// Standard or URL-safe, with or without padding
    Base64,
    /// A string with escapes, such as \x00\x12abc
    Escaped,
    /// The bytes as they are
    Raw,
}

impl BytesInput {
    /// The files and folders that are named, in their place or with --file.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        match &self.file {
            Some(file) if file != Path::new("-") => vec![file.clone()],
            None if self.text.first().is_some_and(|first| first != "-" && Path::new(first).exists()) => {
                self.text.iter().map(PathBuf::from).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether the bytes come from stdin as they are.
    pub(crate) fn is_stdin(&self) -> bool {
        let named = self.file.is_some() || !self.text.is_empty();
        let dash = self.text == ["-"] || self.file.as_deref() == Some(Path::new("-"));
        (!named || dash) && matches!(self.input, InputFormat::Auto | InputFormat::Raw)
    }

    /// Each file, or the bytes of the call or of stdin. Files are opened one after the other.
    pub(crate) fn each(&self) -> impl Iterator<Item = Result<Input>> {
        let paths = self.paths();
        let named = paths.is_empty().then(|| self.of_call());
        named.into_iter().chain(paths.into_iter().map(|path| Input::open(open(&path)?, self.input, path.display())))
    }

    fn of_call(&self) -> Result<Input> {
        if self.text.is_empty() || self.text == ["-"] {
            return Input::open(Box::new(std::io::stdin().lock()), self.input, "stdin");
        }
        let text = self.text.join(" ");
        let bytes = match self.input.form() {
            None => text.into_bytes(),
            Some(form) => text::parse(&text, form).map_err(|error| match self.text.as_slice() {
                [name] if form == Form::Auto && name.contains(['.', '/']) => {
                    Failure::failed(format!("there is no file {name}"))
                        .hint(format!("as bytes it cannot be read: {error}"))
                }
                _ => Failure::failed(error).hint("set its form with --input hex, base64, escaped or raw"),
            })?,
        };
        Input::open(Box::new(Cursor::new(bytes)), InputFormat::Raw, "the input")
    }
}

/// Bytes that are read as they are needed. The first of them are there.
pub(crate) struct Input {
    head: Vec<u8>,
    rest: Option<Box<dyn Read>>,
    format: InputFormat,
    name: String,
}

impl Input {
    /// Bytes that are read to see what an input is.
    const HEAD: u64 = 64 << 10;

    fn open(mut read: Box<dyn Read>, format: InputFormat, name: impl ToString) -> Result<Self> {
        let (mut head, name) = (Vec::new(), name.to_string());
        read.by_ref().take(Self::HEAD).read_to_end(&mut head).map_err(|error| unreadable(&name, error))?;
        let rest = (head.len() as u64 == Self::HEAD).then_some(read);
        Ok(Self { head, rest, format, name })
    }

    /// The first bytes, if they are what they look like and not text that stands for others.
    pub(crate) fn head(&self) -> Option<&[u8]> {
        let is_text = match self.format {
            InputFormat::Raw => false,
            InputFormat::Auto => {
                // The last character may be cut.
                let valid = match std::str::from_utf8(&self.head) {
                    Err(error) if error.error_len().is_none() => error.valid_up_to(),
                    _ => self.head.len(),
                };
                text::is_text(self.head.get(..valid).unwrap_or_default())
            }
            _ => true,
        };
        (!is_text).then_some(&self.head)
    }

    /// Whether the first bytes are all there are.
    pub(crate) fn is_whole(&self) -> bool {
        self.rest.is_none()
    }

    /// The bytes as they are, from the first one on.
    pub(crate) fn stream(self) -> impl Read {
        Cursor::new(self.head).chain(self.rest.unwrap_or_else(|| Box::new(std::io::empty())))
    }

    /// All bytes, or those that the text stands for.
    pub(crate) fn all(self) -> Result<Vec<u8>> {
        let Self { mut head, rest, format, name } = self;
        if let Some(mut rest) = rest {
            rest.read_to_end(&mut head).map_err(|error| unreadable(&name, error))?;
        }
        format.bytes(head)
    }
}

impl InputFormat {
    /// A file may hold bytes as they are, or text that stands for them.
    fn bytes(self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let Some(form) = self.form() else { return Ok(bytes) };
        match (form, std::str::from_utf8(&bytes)) {
            (Form::Auto, Ok(text)) if text::is_text(&bytes) => Ok(text::parse(text, form).unwrap_or(bytes)),
            (Form::Auto, _) => Ok(bytes),
            (form, Ok(text)) => text::parse(text, form).map_err(Failure::failed),
            (_, Err(_)) => Err(Failure::failed("the input is not text").hint("--input raw takes bytes as they are")),
        }
    }

    /// The form of text; `None` for bytes as they are.
    fn form(self) -> Option<Form> {
        match self {
            Self::Auto => Some(Form::Auto),
            Self::Hex => Some(Form::Hex),
            Self::Base64 => Some(Form::Base64),
            Self::Escaped => Some(Form::Escaped),
            Self::Raw => None,
        }
    }
}

fn open(path: &Path) -> Result<Box<dyn Read>> {
    let file = File::open(path).map_err(|error| unreadable(&path.display().to_string(), error))?;
    Ok(Box::new(file))
}

fn unreadable(name: &str, error: std::io::Error) -> Failure {
    Failure::failed(format!("cannot read {name}: {error}"))
}

/// Everything in a file or on stdin.
pub(crate) fn read_all(path: Option<&Path>) -> Result<Vec<u8>> {
    match path {
        Some(path) if path != Path::new("-") => {
            std::fs::read(path).map_err(|error| Failure::failed(format!("cannot read {}: {error}", path.display())))
        }
        _ => {
            let mut bytes = Vec::new();
            match std::io::stdin().lock().read_to_end(&mut bytes) {
                Ok(_) => Ok(bytes),
                Err(error) => Err(Failure::failed(format!("cannot read stdin: {error}"))),
            }
        }
    }
}
