/// Hex without anything between the digits.
///
/// # Errors
/// What is wrong and at which character.
pub fn from_hex(text: &str) -> Result<Vec<u8>, String> {
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
        false => Err(format!("the number of digits is odd: {}", digits.len())),
    }
}

pub(super) fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// What stands between digits without meaning anything.
const BETWEEN: &str = ",:;'\"[](){}<>\\+";

/// Hex with spaces, prefixes and punctuation, as people and programs print it: `0x00, 0x12`, `00:12`, `\x00\x12`,
/// `<Buffer 00 12>`, `static const unsigned char packet[2] = { 0x00, 0x12 };`.
pub(super) fn spaced(text: &str) -> Result<Vec<u8>, String> {
    let text = without_comments(text);
    let mut digits = String::with_capacity(text.len());
    for word in inside(&text).split(|c: char| c.is_whitespace() || BETWEEN.contains(c)) {
        let word = word.strip_prefix("0x").or(word.strip_prefix("0X")).or(word.strip_prefix('x')).unwrap_or(word);
        // A word of one digit is a byte if it stands among others, as in 0x0, 0x12.
        if word.len() == 1 && text.contains("0x") {
            digits.push('0');
        }
        digits.push_str(word);
    }
    from_hex(&digits)
}

/// What is between braces, of an array of C, Java or Go; all of it where there are none.
fn inside(text: &str) -> &str {
    let text = text.trim();
    if let Some(buffer) = text.strip_prefix("<Buffer ") {
        return buffer;
    }
    match (text.find('{'), text.rfind('}')) {
        (Some(start), Some(end)) if start < end => &text[start + 1..end],
        _ => text,
    }
}

/// Without `/* … */`, which Wireshark writes into arrays, and `// …`.
fn without_comments(text: &str) -> String {
    if !text.contains("/*") && !text.contains("//") {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("/*") {
        out.push_str(&rest[..start]);
        out.push(' ');
        rest = rest[start..].find("*/").map_or("", |end| &rest[start + end + 2..]);
    }
    out.push_str(rest);
    // Base64 may have two slashes too, but an array has not.
    if !out.contains('{') {
        return out;
    }
    out.lines().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// An array of decimal numbers from -128 to 255, as Java, Go, Python and Erlang print bytes: `[0, 18, -1]`, `[0 18 255]`,
/// `<<0,18,255>>`. `None` when it is none: no brackets, or numbers that are hex, with a 0 in front or with letters.
pub(super) fn numbers(text: &str) -> Option<Vec<u8>> {
    let text = text.trim();
    let inner = [("[", "]"), ("{", "}"), ("(", ")"), ("<<", ">>")]
        .iter()
        .find_map(|(open, close)| text.strip_prefix(open)?.strip_suffix(close))
        .or_else(|| text.strip_prefix("[]byte{")?.strip_suffix('}'))?;
    let numbers = inner.split(|c: char| c.is_whitespace() || c == ',').filter(|number| !number.is_empty());
    numbers
        .map(|number| {
            let digits = number.strip_prefix('-').unwrap_or(number);
            let padded = digits.len() > 1 && digits.starts_with('0');
            let value = if padded { None } else { number.parse::<i16>().ok() };
            value.filter(|value| (-128..=255).contains(value)).map(|value| value as u8)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_hex_name_the_character() {
        assert_eq!(from_hex("00g0").unwrap_err(), "'g' at character 2 is not a hex digit");
        assert_eq!(from_hex("0ž00").unwrap_err(), "'ž' at character 1 is not a hex digit");
        assert_eq!(from_hex("000").unwrap_err(), "the number of digits is odd: 3");
    }
}
