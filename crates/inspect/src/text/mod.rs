//! Bytes written down as text: hex of many kinds, base64, strings with escapes, arrays of numbers.
//!
//! ```
//! use milena_inspect::text::{Form, parse};
//!
//! for text in [
//!     "0012ff61",
//!     "00:12:FF:61",
//!     "{0x00, 0x12, 0xff, 0x61}",
//!     "00000000: 0012 ff61                                ...a",
//!     "ABL/YQ==",
//!     r"b'\x00\x12\xffa'",
//!     "[0, 18, -1, 97]",
//! ] {
//!     assert_eq!(parse(text, Form::Auto).unwrap(), b"\0\x12\xffa", "{text}");
//! }
//! ```

mod base64;
mod dump;
mod escape;
mod hex;

pub use base64::from_base64;
pub use hex::from_hex;

/// How bytes are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// What it looks like. What can be hex is hex.
    Auto,
    /// Digits, with anything between them that is not one; dumps of xxd, hexdump, od, tcpdump and Wireshark.
    Hex,
    /// Standard or URL-safe, padded or not, with any spaces.
    Base64,
    /// A string as C, Python and their like write it, in quotes or not.
    Escaped,
}

/// The bytes that a text stands for.
///
/// # Errors
/// What is wrong with the text, in one sentence.
pub fn parse(text: &str, form: Form) -> Result<Vec<u8>, String> {
    match form {
        Form::Hex => hex(text),
        Form::Base64 => from_base64(text).ok_or_else(|| "this is not base64".to_owned()),
        Form::Escaped => escape::bare(text),
        Form::Auto => auto(text),
    }
}

fn auto(text: &str) -> Result<Vec<u8>, String> {
    if let Some(bytes) = escape::quoted(text) {
        return bytes;
    }
    let as_hex = match hex(text) {
        Ok(bytes) => return Ok(bytes),
        Err(error) => error,
    };
    if text.contains('\\') {
        if let Ok(bytes) = escape::bare(text) {
            return Ok(bytes);
        }
    }
    from_base64(text).ok_or_else(|| format!("the input is neither hex nor base64: as hex, {as_hex}"))
}

fn hex(text: &str) -> Result<Vec<u8>, String> {
    if let Some(numbers) = hex::numbers(text) {
        return Ok(numbers);
    }
    match dump::lines(text) {
        Some(bytes) => bytes,
        None => hex::spaced(text),
    }
}

/// Whether bytes are text at all, in which bytes could be written down.
pub fn is_text(bytes: &[u8]) -> bool {
    let printable = |text: &str| text.chars().all(|c| !c.is_control() || c.is_ascii_whitespace());
    !bytes.trim_ascii().is_empty() && std::str::from_utf8(bytes).is_ok_and(printable)
}
