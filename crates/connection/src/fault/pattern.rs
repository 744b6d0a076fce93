use std::fmt;
use std::str::FromStr;

/// A pattern for text such as client ids and topics: `*` stands for any text, also for none.
///
/// In double quotes every character stands for itself, except that `\"` and `\\` are a quote and a backslash.
///
/// ```
/// use milena_connection::fault::Pattern;
///
/// let pattern: Pattern = "app*".parse()?;
/// assert!(pattern.matches("app-1") && !pattern.matches("my app"));
/// let pattern: Pattern = r#""my app: *"*"#.parse()?;
/// assert!(pattern.matches("my app: *7") && !pattern.matches("my app: 7"));
/// # Ok::<(), milena_connection::fault::PatternError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    /// What stands between the stars.
    literals: Vec<String>,
}

/// Text that is no pattern: a quote is not closed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` has an opening quote without a closing one")]
pub struct PatternError(String);

impl Pattern {
    /// Whether text fits.
    pub fn matches(&self, text: &str) -> bool {
        let (Some((first, rest)), Some(last)) = (self.literals.split_first(), self.literals.last()) else {
            return false;
        };
        if rest.is_empty() {
            return text == first;
        }
        let Some(mut left) = text.strip_prefix(first.as_str()) else { return false };
        for literal in &rest[..rest.len() - 1] {
            match left.find(literal.as_str()) {
                Some(at) => left = &left[at + literal.len()..],
                None => return false,
            }
        }
        left.ends_with(last.as_str())
    }
}

impl FromStr for Pattern {
    type Err = PatternError;

    fn from_str(text: &str) -> Result<Self, PatternError> {
        let mut literals = vec![String::new()];
        let (mut quoted, mut escaped) = (false, false);
        for c in text.chars() {
            match c {
                '\\' if quoted && !escaped => {
                    escaped = true;
                    continue;
                }
                '"' if !escaped => quoted = !quoted,
                '*' if !quoted => literals.push(String::new()),
                c => push_to_last(&mut literals, c),
            }
            escaped = false;
        }
        if quoted { Err(PatternError(text.to_owned())) } else { Ok(Self { text: text.to_owned(), literals }) }
    }
}

fn push_to_last(literals: &mut [String], c: char) {
    if let Some(last) = literals.last_mut() {
        last.push(c);
    }
}

impl fmt::Display for Pattern {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Splits text where a character stands outside of double quotes. The quotes stay.
pub fn split_unquoted(text: &str, at: impl Fn(char) -> bool) -> Vec<&str> {
    let (mut quoted, mut escaped, mut start) = (false, false, 0);
    let mut parts = Vec::new();
    for (index, c) in text.char_indices() {
        match c {
            '\\' if quoted && !escaped => {
                escaped = true;
                continue;
            }
            '"' if !escaped => quoted = !quoted,
            c if !quoted && at(c) => {
                parts.push(&text[start..index]);
                start = index + c.len_utf8();
            }
            _ => {}
        }
        escaped = false;
    }
    parts.push(&text[start..]);
    parts
}
