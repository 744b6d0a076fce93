//! What a topic may be called.

use milena_messages::ErrorCode;

use crate::refusal::Refusal;

/// Directories on a broker's disk are named after topics, with a partition number behind, which is where the limit
/// comes from.
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

/// Whether metrics could not tell the two apart: they write `_` for `.`.
pub(crate) fn collide(a: &str, b: &str) -> bool {
    let same = |(x, y): (u8, u8)| x == y || (matches!(x, b'.' | b'_') && matches!(y, b'.' | b'_'));
    a.len() == b.len() && a != b && a.bytes().zip(b.bytes()).all(same)
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

    #[test]
    fn dots_and_underscores_collide() {
        assert!(collide("a.b", "a_b"));
        assert!(!collide("a.b", "a.b"));
        assert!(!collide("a.b", "a-b"));
        assert!(!collide("a.b", "a_bc"));
    }
}
