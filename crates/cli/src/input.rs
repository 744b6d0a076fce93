//! Input of bytes: from the command line, a file or stdin; as text in some form, or as they are.

use std::io::Read as _;
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

    /// The bytes of each file, or those of the call or of stdin.
    pub(crate) fn each(&self) -> Result<Vec<Vec<u8>>> {
        let paths = self.paths();
        if !paths.is_empty() {
            return paths.iter().map(|path| self.of_file(read_all(Some(path))?)).collect();
        }
        if !self.text.is_empty() && self.text != ["-"] {
            let text = self.text.join(" ");
            return match self.input.form() {
                None => Ok(vec![text.into_bytes()]),
                Some(form) => match text::parse(&text, form) {
                    Ok(bytes) => Ok(vec![bytes]),
                    Err(error) => Err(Failure::failed(error).hint(match self.text.as_slice() {
                        [name] if name.contains(['.', '/']) => "if this is the name of a file, there is no such file",
                        _ => "--input hex|base64|escaped|raw says what it is",
                    })),
                },
            };
        }
        Ok(vec![self.of_file(read_all(None)?)?])
    }

    /// A file may hold bytes as they are, or as text.
    fn of_file(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        let Some(form) = self.input.form() else { return Ok(bytes) };
        match (form, std::str::from_utf8(&bytes)) {
            (Form::Auto, Ok(text)) if text::is_text(&bytes) => Ok(text::parse(text, form).unwrap_or(bytes)),
            (Form::Auto, _) => Ok(bytes),
            (form, Ok(text)) => text::parse(text, form).map_err(Failure::failed),
            (_, Err(_)) => Err(Failure::failed("the input is not text").hint("--input raw takes bytes as they are")),
        }
    }
}

impl InputFormat {
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
