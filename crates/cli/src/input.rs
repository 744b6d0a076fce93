//! How bytes come in: from the command line, a file or stdin; as hex of many tastes, base64, or as they are.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::alphabet::{STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use clap::{Args, ValueEnum};

use crate::failure::{Failure, Result};

/// Where the bytes are.
#[derive(Args, Debug)]
pub(crate) struct BytesInput {
    /// Files and folders, or the bytes as hex or base64, or - for stdin, where bytes come from when nothing is given.
    ///
    /// Hex may have any spacing, 0x or \x prefixes, colons or commas, and may come as xxd, hexdump -C and tcpdump -x
    /// print it.
    #[arg(value_name = "BYTES", conflicts_with = "file")]
    text: Vec<String>,

    /// Read the bytes from this file; - for stdin
    #[arg(long, short, value_name = "PATH")]
    file: Option<PathBuf>,

    /// What the bytes look like. auto: hex if it can be hex, else base64, else the bytes as they are
    #[arg(long, short, value_name = "FORMAT", default_value = "auto")]
    input: InputFormat,
}

/// What bytes look like where they come in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InputFormat {
    /// Look at it
    Auto,
    /// Digits, with anything between them that is not one
    Hex,
    /// Standard or URL-safe, with or without padding
    Base64,
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

    /// The bytes of each file, or those of the call or of stdin.
    pub(crate) fn each(&self) -> Result<Vec<Vec<u8>>> {
        let paths = self.paths();
        if !paths.is_empty() {
            return paths.iter().map(|path| self.of_file(read_all(Some(path))?)).collect();
        }
        if !self.text.is_empty() && self.text != ["-"] {
            let text = self.text.join(" ");
            return match self.input {
                InputFormat::Raw => Ok(vec![text.into_bytes()]),
                format => from_text(&text, format).map(|bytes| vec![bytes]),
            };
        }
        Ok(vec![self.of_file(read_all(None)?)?])
    }

    /// A file may hold bytes as they are, or text that stands for them.
    fn of_file(&self, bytes: Vec<u8>) -> Result<Vec<u8>> {
        match (self.input, std::str::from_utf8(&bytes)) {
            (InputFormat::Raw, _) => Ok(bytes),
            (InputFormat::Auto, Ok(text)) if looks_like_text(text) => Ok(from_text(text, self.input).unwrap_or(bytes)),
            (InputFormat::Auto, _) => Ok(bytes),
            (format, Ok(text)) => from_text(text, format),
            (_, Err(_)) => Err(Failure::failed("the input is not text").hint("--input raw takes bytes as they are")),
        }
    }
}

/// All of a file, or of stdin.
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

fn looks_like_text(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().all(|c| !c.is_control() || c.is_ascii_whitespace())
}

fn from_text(text: &str, format: InputFormat) -> Result<Vec<u8>> {
    let hex = match format {
        InputFormat::Base64 => return from_base64(text).ok_or_else(|| Failure::failed("this is not base64")),
        _ => from_hex_dump(text),
    };
    match (hex, format) {
        (Ok(bytes), _) => Ok(bytes),
        (Err(error), InputFormat::Hex) => Err(Failure::failed(error)),
        (Err(error), _) => from_base64(text).ok_or_else(|| {
            Failure::failed(format!("the input is neither hex nor base64: as hex, {error}"))
                .hint("--input hex|base64|raw says what it is")
        }),
    }
}

/// Base64 of either alphabet, padded or not; spaces do not matter.
pub(crate) fn from_base64(text: &str) -> Option<Vec<u8>> {
    const CONFIG: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let text: String = text.split_ascii_whitespace().collect();
    let alphabet = if text.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
    GeneralPurpose::new(alphabet, CONFIG).decode(text).ok()
}

/// Hex without anything between the digits.
///
/// # Errors
/// What is wrong and at which character.
pub(crate) fn from_hex(text: &str) -> std::result::Result<Vec<u8>, String> {
    let digits = text.as_bytes();
    let mut bytes = Vec::with_capacity(digits.len() / 2);
    let pairs = digits.chunks_exact(2);
    let even = pairs.remainder().is_empty();
    for (index, pair) in pairs.enumerate() {
        match (digit(pair[0]), digit(pair[1])) {
            (Some(high), Some(low)) => bytes.push(high << 4 | low),
            (high, _) => {
                let at = 2 * index + usize::from(high.is_some());
                let found = text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or('\u{fffd}');
                return Err(format!("{found:?} at character {at} is not a hex digit"));
            }
        }
    }
    match even {
        true => Ok(bytes),
        false => Err(format!("{} hex digits make no whole bytes", digits.len())),
    }
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// Hex of many tastes.
fn from_hex_dump(text: &str) -> std::result::Result<Vec<u8>, String> {
    let canonical = text.lines().any(|line| line.trim_end().ends_with('|'));
    let mut digits = String::with_capacity(text.len());
    for line in text.lines() {
        let mut line = line.trim();
        if canonical {
            // hexdump -C: offset, bytes, the characters between bars. The last line is an offset alone.
            line = line.split('|').next().unwrap_or_default();
            line = line.split_once(' ').map_or("", |(_, bytes)| bytes);
        } else if let Some((offset, bytes)) = line.split_once(": ") {
            // xxd and tcpdump: offset, colon, bytes, two spaces, the characters.
            if offset.chars().all(|c| c.is_ascii_hexdigit() || c == 'x') {
                line = bytes.trim_start().split("  ").next().unwrap_or_default();
            }
        }
        for word in line.split(|c: char| c.is_whitespace() || ",:;'\"[](){}".contains(c)) {
            let word = word.strip_prefix("0x").or(word.strip_prefix("0X")).unwrap_or(word);
            digits.extend(word.split("\\x"));
        }
    }
    from_hex(&digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hex_may_come_in_many_tastes() {
        let dumps = [
            "0012ff61",
            "00 12 FF 61",
            "0x00, 0x12, 0xff, 0x61",
            "0x0012ff61",
            "00:12:ff:61",
            r"\x00\x12\xff\x61",
            "[0x00,0x12,0xff,0x61]",
            "00000000: 0012 ff61                                ...a",
            "\t0x0000:  0012 ff61                                ...a",
            "00000000  00 12 ff 61                                       |...a|\n00000004\n",
        ];
        for dump in dumps {
            assert_eq!(from_text(dump, InputFormat::Auto).unwrap(), [0, 0x12, 0xff, b'a'], "{dump}");
        }
    }

    #[test]
    fn base64_may_be_of_either_alphabet() {
        for text in ["//79+w==", "//79+w", "__79-w", "//79\n+w=="] {
            assert_eq!(from_text(text, InputFormat::Auto).unwrap(), [0xff, 0xfe, 0xfd, 0xfb], "{text}");
        }
        // What can be both is hex, unless said otherwise.
        assert_eq!(from_text("abcd", InputFormat::Auto).unwrap(), [0xab, 0xcd]);
        assert_eq!(from_text("abcd", InputFormat::Base64).unwrap(), [0x69, 0xb7, 0x1d]);
    }

    #[test]
    fn errors_of_hex_name_the_character() {
        assert_eq!(from_hex("00g0").unwrap_err(), "'g' at character 2 is not a hex digit");
        assert_eq!(from_hex("0ž00").unwrap_err(), "'ž' at character 1 is not a hex digit");
        assert_eq!(from_hex("000").unwrap_err(), "3 hex digits make no whole bytes");
    }
}
