//! Which topic names are allowed.

use milena_messages::ErrorCode;

use crate::refusal::Refusal;

/// A broker's directories are named after topic and partition number, which is where the limit comes from.
const MAX_LENGTH: usize = 249;

pub(crate) fn check(name: &str) -> Result<(), Refusal> {
    let invalid = |message: String| Err(Refusal::new(ErrorCode::INVALID_TOPIC_EXCEPTION, message));
    match name {
        "" => invalid("A topic name cannot be empty.".to_owned()),
        "." | ".." => invalid(format!("A topic cannot be called '{name}'.")),
        _ if name.len() > MAX_LENGTH => {
            invalid(format!("A topic name has at most {MAX_LENGTH} characters, this one has {}.", name.len()))
        }
        _ if !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-')) => invalid(format!(
            "Topic name '{name}' is invalid: only ASCII letters, digits, '.', '_' and '-' are allowed."
        )),
        _ => Ok(()),
    }
}

/// The name as metrics write it: with `_` for `.`.
pub(crate) fn in_metrics(name: &str) -> String {
    name.replace('.', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rules_of_kafka() {
        for name in ["a", "a.b_c-D9", "...", "__consumer_offsets", &"x".repeat(249)] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        for name in ["", ".", "..", "a b", "a/b", "ä", "a\0", &"x".repeat(250)] {
            assert_eq!(check(name).unwrap_err().code, ErrorCode::INVALID_TOPIC_EXCEPTION, "{name}");
        }
    }
}
