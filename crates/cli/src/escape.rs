//! Escapes in options: `\t` for a tab, because a shell makes it hard to type one.

/// The bytes that a text with escapes stands for.
///
/// # Errors
/// An escape that is not known, or a `\` at the end.
pub(crate) fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => bytes.push(escape(&mut chars)?),
            c => bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Ok(bytes)
}

/// The byte that the characters after a `\` stand for.
///
/// # Errors
/// They are no escape.
pub(crate) fn escape(after: &mut impl Iterator<Item = char>) -> Result<u8, String> {
    const EXPECTED: &str = "after \\ comes n, t, r, 0, \\, {, }, or x and two hex digits";
    Ok(match after.next() {
        Some('n') => b'\n',
        Some('t') => b'\t',
        Some('r') => b'\r',
        Some('0') => 0,
        Some('\\') => b'\\',
        Some('{') => b'{',
        Some('}') => b'}',
        Some('x') => {
            let mut digit = || after.next().and_then(|c| c.to_digit(16)).ok_or(EXPECTED);
            (digit()? * 16 + digit()?) as u8
        }
        _ => return Err(EXPECTED.to_owned()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_stand_for_bytes() {
        assert_eq!(unescape(r"a\tb\\\x1f\xff\0ž"), Ok(b"a\tb\\\x1f\xff\0\xc5\xbe".to_vec()));
        for wrong in [r"\", r"\q", r"\x1", r"\xg0"] {
            assert!(unescape(wrong).is_err(), "{wrong}");
        }
    }
}
