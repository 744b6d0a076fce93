//! Text that is not UTF-8.

use std::borrow::Cow;

/// Bytes as text, with U+FFFD for what is not UTF-8, in the places where Java's decoder puts it: an encoded surrogate
/// (ED A0..BF xx, also a cut one) becomes a single one, where [`String::from_utf8_lossy`] puts three.
pub fn text_lossy(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(java_lossy(bytes)),
    }
}

fn java_lossy(mut bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    loop {
        match std::str::from_utf8(bytes) {
            Ok(valid) => {
                text.push_str(valid);
                return text;
            }
            Err(error) => {
                let (valid, rest) = bytes.split_at(error.valid_up_to());
                text.push_str(&String::from_utf8_lossy(valid));
                text.push('\u{FFFD}');
                let skip = match rest {
                    [0xED, 0xA0..=0xBF, 0x80..=0xBF, ..] => 3,
                    [0xED, 0xA0..=0xBF, ..] => 2,
                    _ => error.error_len().unwrap_or(rest.len()),
                };
                bytes = &rest[skip..];
            }
        }
    }
}
