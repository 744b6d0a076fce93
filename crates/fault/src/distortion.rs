//! Changes to a response that are no errors.

use bytes::Bytes;
use milena_connection::fault::Random;
use milena_connection::response_body_start;
use milena_messages::ApiKey;
use milena_schema::StructId;
use serde_json::json;

use crate::respond::{fields, message};

/// What is done to the bytes of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Distortion {
    /// It says that the client was throttled for so many milliseconds. Versions without a field for it stay as they are.
    Throttle {
        /// Milliseconds.
        ms: i32,
    },
    /// So many bytes of its body have other values.
    Garble {
        /// Bytes of the body, at most all of them.
        bytes: u64,
        /// Decides which bytes, and what they become.
        seed: u64,
    },
    /// Its last bytes are missing.
    Short {
        /// Bytes that are missing, at most all of the body; half of it for `None`.
        by: Option<u64>,
    },
}

impl Distortion {
    /// Changes a response, header and body without the size in front. `None` when there is nothing to change.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use milena_fault::Distortion;
    /// use milena_messages::ApiKey;
    ///
    /// let heartbeat = Bytes::from_static(b"\0\0\0\x07\0\0\0\0\0\0");
    /// let throttled = Distortion::Throttle { ms: 1000 }.apply(ApiKey::HEARTBEAT, 1, &heartbeat);
    /// assert_eq!(throttled, Some(Bytes::from_static(b"\0\0\0\x07\0\0\x03\xe8\0\0")));
    /// ```
    pub fn apply(self, api: ApiKey, version: i16, frame: &Bytes) -> Option<Bytes> {
        let start = response_body_start(frame, api, version)?;
        match self {
            Self::Throttle { ms } => throttled(api, version, frame, start, ms),
            Self::Garble { bytes, seed } => garbled(frame, start, bytes, seed),
            Self::Short { by } => {
                let body = (frame.len() - start) as u64;
                let missing = by.unwrap_or(body.div_ceil(2)).min(body);
                (missing > 0).then(|| frame.slice(..frame.len() - missing as usize))
            }
        }
    }
}

fn throttled(api: ApiKey, version: i16, frame: &Bytes, start: usize, ms: i32) -> Option<Bytes> {
    let response = message(api, "Response")?;
    let field = fields(response, StructId::ROOT, version).find(|field| field.json_name == "throttleTimeMs")?;
    let mut json = response.decode(frame.slice(start..), version).ok()?.json;
    json[&field.json_name] = json!(ms);
    let mut changed = frame[..start].to_vec();
    changed.extend(response.encode(&json, version).ok()?);
    Some(changed.into())
}

fn garbled(frame: &Bytes, start: usize, bytes: u64, seed: u64) -> Option<Bytes> {
    let size = frame.len() - start;
    let count = usize::try_from(bytes).unwrap_or(usize::MAX).min(size);
    if count == 0 {
        return None;
    }
    let mut random = Random::seeded(seed);
    let mut changed = frame.to_vec();
    // The first places of a shuffled list: each byte is changed once.
    let mut places: Vec<usize> = (start..frame.len()).collect();
    for at in 0..count {
        let other = at + (random.next_u64() % (size - at) as u64) as usize;
        places.swap(at, other);
        // Never the value that it had.
        changed[places[at]] ^= 1 + (random.next_u64() % 255) as u8;
    }
    Some(changed.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn garbled_bytes_are_in_the_body_and_as_many_as_were_said() {
        let frame = Bytes::from(vec![0; 30]);
        for (bytes, expected) in [(1, 1), (5, 5), (1000, 26)] {
            for seed in 0..50 {
                let changed = Distortion::Garble { bytes, seed }.apply(ApiKey::HEARTBEAT, 1, &frame).unwrap();
                assert_eq!(changed[..4], frame[..4]);
                assert_eq!(changed.iter().filter(|byte| **byte != 0).count(), expected);
                assert_eq!(Distortion::Garble { bytes, seed }.apply(ApiKey::HEARTBEAT, 1, &frame), Some(changed));
            }
        }
    }

    #[test]
    fn a_short_response_keeps_its_header() {
        let frame = Bytes::from(vec![7; 11]);
        let short = |by| Distortion::Short { by }.apply(ApiKey::HEARTBEAT, 1, &frame).map(|frame| frame.len());
        assert_eq!([short(None), short(Some(1)), short(Some(99))], [Some(7), Some(10), Some(4)]);
        assert_eq!(Distortion::Short { by: None }.apply(ApiKey::HEARTBEAT, 1, &frame.slice(..4)), None);
    }

    #[test]
    fn versions_without_a_throttle_time_stay_as_they_are() {
        let frame = Bytes::from(vec![0; 6]);
        assert_eq!(Distortion::Throttle { ms: 5 }.apply(ApiKey::HEARTBEAT, 0, &frame), None);
        // Produce 1 has it after its topics: none here.
        let frame = Bytes::from(vec![0; 12]);
        let changed = Distortion::Throttle { ms: 5 }.apply(ApiKey::PRODUCE, 1, &frame).unwrap();
        assert_eq!(changed[..], *b"\0\0\0\0\0\0\0\0\0\0\0\x05");
    }
}
