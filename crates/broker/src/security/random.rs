//! Random values that nobody can guess.

/// Letters and digits of nonces and salts.
const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Text of so many small letters and digits.
pub(crate) fn text(length: usize) -> String {
    let mut out = String::with_capacity(length);
    while out.len() < length {
        let mut bytes = [0; 64];
        fill(&mut bytes);
        // 252 is a multiple of 36: each digit is as likely as the others.
        let digits = bytes.iter().filter(|byte| **byte < 252).map(|byte| char::from(DIGITS[usize::from(byte % 36)]));
        out.extend(digits.take(length - out.len()));
    }
    out
}

/// # Panics
/// The system has no source of random numbers; it would not be safe to go on.
pub(crate) fn fill(bytes: &mut [u8]) {
    if let Err(error) = getrandom::fill(bytes) {
        panic!("no random numbers from the system: {error}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_have_their_length_and_differ() {
        let all: Vec<String> = (0..100).map(|_| text(26)).collect();
        assert!(all.iter().all(|text| text.len() == 26 && text.bytes().all(|byte| DIGITS.contains(&byte))));
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 100);
    }
}
