use std::fmt;
use std::str::FromStr;

/// A 128-bit id of Kafka: topics, directories, incarnations. All zero means none.
///
/// Text is Kafka's form: the 16 bytes in URL-safe base64 without padding, 22 characters.
///
/// ```
/// # use milena_wire::Uuid;
/// let id: Uuid = "AAECAwQFBgcICQoLDA0ODw".parse()?;
/// assert_eq!(id.as_bytes(), &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
/// assert_eq!(Uuid::ZERO.to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
/// # Ok::<(), milena_wire::ParseUuidError>(())
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid([u8; 16]);

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl Uuid {
    /// The zero id, which stands for "none".
    pub const ZERO: Self = Self([0; 16]);

    /// The id of these bytes, most significant first.
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The bytes, most significant first.
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// Whether this is the zero id.
    pub fn is_zero(&self) -> bool {
        self.0 == [0; 16]
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = u128::from_be_bytes(self.0);
        let mut text = [0u8; 22];
        for (i, c) in text.iter_mut().enumerate() {
            // 22 sextets hold 132 bits: the last four are padding.
            let sextet = if i < 21 { bits >> (122 - 6 * i) } else { bits << 4 };
            *c = ALPHABET[(sextet & 63) as usize];
        }
        f.pad(&text.iter().map(|&c| char::from(c)).collect::<String>())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is not an id in Kafka's form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a Kafka uuid: 22 characters of URL-safe base64 expected")]
pub struct ParseUuidError;

impl FromStr for Uuid {
    type Err = ParseUuidError;

    /// Accepts the 22 characters, with or without the padding `==`. As in Kafka, the four spare bits of the last
    /// character are ignored.
    fn from_str(text: &str) -> Result<Self, ParseUuidError> {
        let text = text.strip_suffix("==").unwrap_or(text).as_bytes();
        if text.len() != 22 {
            return Err(ParseUuidError);
        }
        let mut bits = 0u128;
        for (i, c) in text.iter().enumerate() {
            let sextet = ALPHABET.iter().position(|a| a == c).ok_or(ParseUuidError)? as u128;
            bits = if i < 21 { bits << 6 | sextet } else { bits << 2 | sextet >> 4 };
        }
        Ok(Self(bits.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_random_bytes_is_that_of_base64() {
        // base64.urlsafe_b64encode(bytes(range(240, 256))) of Python.
        let id = Uuid::from_bytes(std::array::from_fn(|i| 240 + i as u8));
        assert_eq!(id.to_string(), "8PHy8_T19vf4-fr7_P3-_w");
        assert_eq!("8PHy8_T19vf4-fr7_P3-_w".parse(), Ok(id));
        assert_eq!("8PHy8_T19vf4-fr7_P3-_w==".parse(), Ok(id));
    }

    #[test]
    fn text_of_another_form_is_refused() {
        for text in ["", "AAAA", "8PHy8/T19vf4-fr7_P3-_w", "c0ffee00-0000-0000-0000-000000000000"] {
            assert_eq!(text.parse::<Uuid>(), Err(ParseUuidError), "{text}");
        }
    }
}
