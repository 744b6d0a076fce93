//! Percent-encoded parts of a URL.

use super::error::Refused;

/// A part of a path, as text.
pub(super) fn decode(text: &str) -> Result<String, Refused> {
    let wrong = || Refused::bad(format!("`{text}` is not percent-encoded UTF-8"));
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        rest = tail;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = tail.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit)).ok_or_else(wrong)?;
        let digits = std::str::from_utf8(digits).map_err(|_| wrong())?;
        bytes.push(u8::from_str_radix(digits, 16).map_err(|_| wrong())?);
        rest = &tail[2..];
    }
    String::from_utf8(bytes).map_err(|_| wrong())
}

/// The fields of a query, in their order. A plus sign is a space, as forms write it.
pub(super) fn fields(query: &str) -> Result<Vec<(String, String)>, Refused> {
    let parts = query.split('&').filter(|part| !part.is_empty());
    let field = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        Ok((decode(&name.replace('+', " "))?, decode(&value.replace('+', " "))?))
    };
    parts.map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percent_signs_stand_before_two_digits() {
        assert_eq!(decode("a%2Fb%C3%A4+c").unwrap(), "a/bä+c");
        for wrong in ["%", "%4", "%g0", "%ff", "%+1"] {
            assert!(decode(wrong).is_err(), "{wrong}");
        }
        let fields = fields("client=my+app%3A1&wait=1s&&x").unwrap();
        let fields: Vec<_> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(fields, [("client", "my app:1"), ("wait", "1s"), ("x", "")]);
    }
}
