//! What is written: every kind of part that a record can have, by chance and by design the same in each run.

use std::fmt::Write;

/// One record as it is given to a client, and as it has to come back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Sample {
    pub(super) timestamp: i64,
    pub(super) key: Option<Vec<u8>>,
    pub(super) value: Option<Vec<u8>>,
    pub(super) headers: Vec<(String, Option<Vec<u8>>)>,
}

/// What a client, or the format that its broker stores, has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) headers: bool,
    /// Headers whose value is null; not every client takes them.
    pub(super) null_headers: bool,
    /// Records whose key and value are both null; not every client takes them.
    pub(super) null_records: bool,
}

/// Milliseconds, in September 2020.
const BASE: i64 = 1_600_000_000_000;

fn sample(after: i64, key: Option<&[u8]>, value: Option<&[u8]>, headers: &[(&str, Option<&[u8]>)]) -> Sample {
    Sample {
        timestamp: BASE + after,
        key: key.map(<[u8]>::to_vec),
        value: value.map(<[u8]>::to_vec),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), value.map(<[u8]>::to_vec))).collect(),
    }
}

/// Null beside empty, bytes that are no text, times out of order, long runs and noise.
pub(super) fn samples(room: Room) -> Vec<Sample> {
    let mut all = vec![
        sample(5, Some(b"key"), Some(b"value"), &[]),
        sample(1, None, Some("Jesensk\u{e1}".as_bytes()), &[("trace", Some(b"7f"))]),
        sample(9, Some(b"tombstone"), None, &[("empty", Some(b"")), ("null", None)]),
        sample(9, Some(b""), Some(b""), &[("twice", Some(b"a")), ("twice", Some(b"b"))]),
        sample(-3, None, None, &[]),
        sample(2, Some(b"\xff\x00\xfe"), Some(b"\x80\0\x81"), &[("\u{17e}", Some(b"\xff\0"))]),
        sample(0, Some(b"run"), Some(&b"abc".repeat(30_000)), &[]),
        sample(7, Some(b"noise"), Some(&noise(70_000)), &[]),
    ];
    all.retain(|sample| room.null_records || sample.key.is_some() || sample.value.is_some());
    for sample in &mut all {
        sample.headers.retain(|(_, value)| room.headers && (room.null_headers || value.is_some()));
    }
    all
}

/// Bytes that no codec makes smaller: xorshift64 of Marsaglia.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[3]
    })
    .take(len)
    .collect()
}

/// The lines that `interop/clients/python/records.py` describes.
pub(super) fn lines(samples: &[Sample]) -> String {
    let mut text = String::new();
    for sample in samples {
        // Writing to a string cannot fail.
        let _ = write!(text, "{} {} {}", sample.timestamp, word(&sample.key), word(&sample.value));
        for (name, value) in &sample.headers {
            let _ = write!(text, " {}={}", word(&Some(name.clone().into_bytes())), word(value));
        }
        text.push('\n');
    }
    text
}

fn word(bytes: &Option<Vec<u8>>) -> String {
    let Some(bytes) = bytes else { return "-".to_owned() };
    let mut text = String::with_capacity(1 + 2 * bytes.len());
    text.push('x');
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room { headers: true, null_headers: true, null_records: true };

    #[test]
    fn lines_tell_null_from_empty_and_spell_bytes() {
        let all = samples(ROOM);
        let text = lines(&all);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), all.len());
        assert_eq!(lines[0], "1600000000005 x6b6579 x76616c7565");
        assert_eq!(lines[2], "1600000000009 x746f6d6273746f6e65 - x656d707479=x x6e756c6c=-");
        assert_eq!(lines[3], "1600000000009 x x x7477696365=x61 x7477696365=x62");
    }

    #[test]
    fn what_has_no_room_is_left_out() {
        let count = |room| samples(room).iter().map(|sample| sample.headers.len()).sum::<usize>();
        assert_eq!(count(ROOM), 6);
        assert_eq!(count(Room { null_headers: false, ..ROOM }), 5);
        assert_eq!(count(Room { headers: false, ..ROOM }), 0);
        assert_eq!(samples(ROOM).len(), 8);
        assert_eq!(samples(Room { null_records: false, ..ROOM }).len(), 7);
    }

    #[test]
    fn noise_does_not_repeat() {
        let noise = noise(70_000);
        assert_ne!(noise[..100], noise[100..200]);
        let distinct: std::collections::BTreeSet<u8> = noise.iter().copied().collect();
        assert_eq!(distinct.len(), 256);
    }
}
