//! Which topic names are allowed.

use milena_messages::ErrorCode;

use crate::refusal::Refusal;

/// A broker's directories are named after topic and partition number, which is where the limit comes from.
const MAX_LENGTH: usize = 249;

/// Checks a name. The messages are those of Kafka 4.4.
pub(crate) fn check(name: &str) -> Result<(), Refusal> {
    let invalid = |message: String| {
        Err(Refusal::new(ErrorCode::INVALID_TOPIC_EXCEPTION, format!("Topic name is invalid: {message}")))
    };
    match name {
        "" => invalid("the empty string is not allowed".to_owned()),
        "." | ".." => invalid(format!("'{name}' is not allowed")),
        _ if name.len() > MAX_LENGTH => {
            invalid(format!("the length of '{name}' is longer than the max allowed length {MAX_LENGTH}"))
        }
        _ if !name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-')) => invalid(format!(
            "'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
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
