//! Strings with escapes, as C, Python, Rust, Java and their like write them.

use super::hex::digit;

/// One or more strings in quotes, with nothing but spaces, backslashes at the ends of lines and plus signs between them.
/// `None` when the text is something else.
pub(super) fn quoted(text: &str) -> Option<Result<Vec<u8>, String>> {
    let mut rest = text.trim().trim_end_matches([';', ',']);
    // char name[] = "…" of C.
    if let Some((_, value)) = rest.split_once("[] = ") {
        rest = value.trim_start();
    }
    let mut bytes = Vec::new();
    let mut any = false;
    while !rest.is_empty() {
        let body = rest.trim_start_matches(['b', 'B', 'r', 'u']);
        let quote = body.chars().next().filter(|c| ['"', '\''].contains(c))?;
        let body = &body[1..];
        let end = closing(body, quote)?;
        match bare(&body[..end]) {
            Ok(part) => bytes.extend(part),
            Err(error) => return Some(Err(error)),
        }
        any = true;
        rest = body[end + 1..].trim_start_matches(|c: char| c.is_whitespace() || c == '\\' || c == '+');
    }
    // Digits in quotes are hex like others.
    (any && text.contains('\\')).then_some(Ok(bytes))
}

/// Where the string ends.
fn closing(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}

/// What is between the quotes. A character that is not escaped is its UTF-8.
pub(super) fn bare(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.trim_matches(['\n', '\r']).as_bytes();
    let at = |rest: &[u8]| text.len().saturating_sub(rest.len());
    while let [first, after @ ..] = rest {
        rest = after;
        if *first != b'\\' {
            bytes.push(*first);
            continue;
        }
        let [kind, after @ ..] = rest else { return Err("a backslash at the end escapes nothing".to_owned()) };
        rest = after;
        match kind {
            b'x' => {
                let digits = match rest {
                    [high, low, ..] => digit(*high).zip(digit(*low)),
                    _ => None,
                };
                let Some((high, low)) = digits else {
                    return Err(format!("\\x at byte {} is not followed by two hex digits", at(rest) - 2));
                };
                bytes.push(high << 4 | low);
                rest = &rest[2..];
            }
            b'0'..=b'7' => {
                let mut value = u16::from(kind - b'0');
                for _ in 0..2 {
                    if let [next @ b'0'..=b'7', after @ ..] = rest {
                        value = value * 8 + u16::from(next - b'0');
                        rest = after;
                    }
                }
                bytes.push(u8::try_from(value).map_err(|_| format!("\\{value:o} is more than a byte"))?);
            }
            b'u' => {
                let digits = rest.get(..4).and_then(|digits| std::str::from_utf8(digits).ok());
                let Some(value) = digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()) else {
                    return Err(format!("\\u at byte {} is not followed by four hex digits", at(rest) - 2));
                };
                // What is one byte in Latin-1 was a byte before it became a character of Java or JSON.
                match (u8::try_from(value), char::from_u32(value.into())) {
                    (Ok(byte), _) => bytes.push(byte),
                    (_, Some(c)) => bytes.extend(c.to_string().bytes()),
                    _ => return Err(format!("\\u{value:04x} is half a character")),
                }
                rest = &rest[4..];
            }
            b'n' => bytes.push(b'\n'),
            b'r' => bytes.push(b'\r'),
            b't' => bytes.push(b'\t'),
            b'a' => bytes.push(7),
            b'b' => bytes.push(8),
            b'v' => bytes.push(11),
            b'f' => bytes.push(12),
            b'e' => bytes.push(27),
            b'\\' | b'\'' | b'"' => bytes.push(*kind),
            // A string that goes on in the next line.
            b'\n' => {}
            other => return Err(format!("\\{} is no escape that is known", other.escape_ascii())),
        }
    }
    Ok(bytes)
}
