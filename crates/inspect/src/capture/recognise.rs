//! Whether bytes are Kafka, judged by their content.

use bytes::Bytes;
use milena_connection::{DEFAULT_MAX_FRAME, Foreign};
use milena_messages::ApiKey;
use milena_schema::Spec;

/// Size, key, version, correlation id, and the length of the client id.
const HEADER: usize = 14;

/// Longest client id that is believed. Kafka has no limit, but people have.
const MAX_CLIENT_ID: usize = 1024;

/// Places in a segment that are looked at closely: bytes made for it could have one at every byte.
const MAX_TRIES: usize = 256;

/// What bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The start of a request.
    Request,
    /// The start of a session with ZooKeeper.
    ZooKeeper,
    /// Something else.
    Not,
    /// Too few to say.
    Short,
}

/// Whether a request begins here, with its size in front. What follows is looked at as far as it is there.
pub(super) fn request(bytes: &[u8]) -> Verdict {
    let header = header(bytes, |key, version| key.versions().contains(version));
    let (Verdict::Request, Some([a, b, c, d])) = (header, bytes.get(4..).and_then(|bytes| bytes.first_chunk())) else {
        return header;
    };
    let (key, version) = (ApiKey(i16::from_be_bytes([*a, *b])), i16::from_be_bytes([*c, *d]));
    match size(bytes).and_then(|size| bytes.get(4..4 + size)) {
        Some(frame) => is_whole_request(frame, key, version),
        // Zeros would make a client that calls itself by an empty name: the start of a response to the first request of a
        // connection reads as a Produce of version 1.
        None if bytes.get(12..14) == Some(&[0, 0]) => Verdict::Not,
        None => Verdict::Request,
    }
}

/// The same where a connection begins: less is taken for a request, which may be broken or of a version yet to come. The
/// caller has to wait for better proof.
pub(super) fn opening(bytes: &[u8]) -> Verdict {
    if is_zookeeper(bytes) {
        return Verdict::ZooKeeper;
    }
    header(bytes, |key, version| key.name().is_some() && (0..64).contains(&version))
}

/// Whether bytes are ZooKeeper's ConnectRequest: size, protocol version 0, last zxid, timeout, session, a password of 16
/// bytes, and whether it is read-only from ZooKeeper 3.4 on.
fn is_zookeeper(bytes: &[u8]) -> bool {
    let i32_at = |at: usize| bytes.get(at..).and_then(|b| b.first_chunk()).map(|b| i32::from_be_bytes(*b));
    let size = i32_at(0);
    (size == Some(44) || size == Some(45)) && i32_at(4) == Some(0) && i32_at(28) == Some(16)
}

fn header(bytes: &[u8], is_known: impl Fn(ApiKey, i16) -> bool) -> Verdict {
    let i16_at = |at: usize| bytes.get(at..).and_then(|b| b.first_chunk()).map(|b| i16::from_be_bytes(*b));
    let i32_at = |at: usize| bytes.get(at..).and_then(|b| b.first_chunk()).map(|b| i32::from_be_bytes(*b));
    let Some(size) = i32_at(0) else { return Verdict::Short };
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    if !(8..=DEFAULT_MAX_FRAME).contains(&size) {
        return Verdict::Not;
    }
    let (Some(key), Some(version), Some(id)) = (i16_at(4), i16_at(6), i32_at(8)) else { return Verdict::Short };
    let key = ApiKey(key);
    if !is_known(key, version) || id < 0 {
        return Verdict::Not;
    }
    if key.request_header_version(version) >= 1 {
        let Some(length) = i16_at(12) else { return if size < 10 { Verdict::Not } else { Verdict::Short } };
        let length = match usize::try_from(length) {
            Ok(length) => length,
            Err(_) if length == -1 => 0,
            Err(_) => return Verdict::Not,
        };
        if length > MAX_CLIENT_ID || 10 + length > size || !is_text(&bytes[HEADER..], length) {
            return Verdict::Not;
        }
    }
    Verdict::Request
}

fn is_text(bytes: &[u8], length: usize) -> bool {
    let text = bytes.get(..length).unwrap_or(bytes);
    match std::str::from_utf8(text) {
        Ok(text) => !text.chars().any(char::is_control),
        // Cut off inside of a character.
        Err(error) => error.error_len().is_none() && text.len() < length,
    }
}

/// Whether a frame without its size is a request that can be read to its end.
pub(super) fn is_whole_request(frame: &[u8], key: ApiKey, version: i16) -> Verdict {
    let frame = Bytes::copy_from_slice(frame);
    let read = milena_connection::read_request_header(frame).ok().and_then(|(_, body)| {
        let message = Spec::kafka().message(&format!("{key}Request")).ok()?;
        message.scan(body, version, |_, _| {}).ok()
    });
    // Kafka ignores bytes after a request, and a few clients send some.
    if read.is_some_and(|leftover| leftover <= 8) { Verdict::Request } else { Verdict::Not }
}

/// Where in the payload of a segment a request begins. In the middle, what follows it has to fit too.
pub(super) fn find_request(bytes: &[u8]) -> Option<usize> {
    if request(bytes) == Verdict::Request {
        return Some(0);
    }
    find_inside(bytes, |rest| request(rest) == Verdict::Request)
}

/// The same for a response to one of the requests with these correlation ids.
pub(super) fn find_response(bytes: &[u8], is_awaited: impl Fn(i32) -> bool) -> Option<usize> {
    let fits = |bytes: &[u8]| {
        let id = bytes.get(4..).and_then(|bytes| bytes.first_chunk()).map(|id| i32::from_be_bytes(*id));
        size(bytes).is_some() && id.is_some_and(&is_awaited)
    };
    if fits(bytes) { Some(0) } else { find_inside(bytes, fits) }
}

fn find_inside(bytes: &[u8], fits: impl Fn(&[u8]) -> bool) -> Option<usize> {
    // Most places are no size, and it costs next to nothing to see that.
    let places = (1..bytes.len().saturating_sub(8)).filter_map(|at| {
        let rest = &bytes[at..];
        let end = 4 + size(rest)?;
        (end <= rest.len()).then_some((at, rest, end))
    });
    let found = places.take(MAX_TRIES).find(|(_, rest, end)| fits(rest) && (*end == rest.len() || fits(&rest[*end..])));
    found.map(|(at, ..)| at)
}

/// The size of a frame that is none of the smallest.
fn size(bytes: &[u8]) -> Option<usize> {
    let size = usize::try_from(i32::from_be_bytes(*bytes.first_chunk()?)).ok()?;
    (4..=DEFAULT_MAX_FRAME).contains(&size).then_some(size)
}

/// Another protocol that these bytes, the payload of a segment, begin with.
pub(super) fn foreign(bytes: &[u8]) -> Option<Foreign> {
    match bytes {
        // Data of TLS, in a connection that began before.
        [0x17, 3, 0..=4, high, ..] if *high <= 0x41 => Some(Foreign::TlsHandshake),
        _ => Foreign::detect(bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEARTBEAT: &[u8] = b"\0\0\0\x1b\0\x0c\0\0\0\0\0\x07\xff\xff\0\x07readers\0\0\0\x03\0\x02m1";

    #[test]
    fn requests_are_recognised_by_their_content() {
        assert_eq!(request(HEARTBEAT), Verdict::Request);
        assert_eq!(request(&HEARTBEAT[..13]), Verdict::Short);
        // Not all of it is there, but what is there fits.
        assert_eq!(request(&HEARTBEAT[..20]), Verdict::Request);
        let others: [&[u8]; 6] = [
            &[0; 64],
            b"GET / HTTP/1.1\r\n\r\n",
            b"\x16\x03\x01\0\xc8\x01\0\0\xc4\x03\x03random",
            b"\0\0\0\x40\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0",
            b"\0\0\0\x10\x27\x10\0\0\0\0\0\x01\xff\xff\0\0\0\0",
            b"\0\0\0\x1b\0\x0c\0\0\0\0\0\x07\0\x03\x01\x02\x03\0\0\0\0",
        ];
        for bytes in others {
            assert_eq!(request(bytes), Verdict::Not, "{}", bytes.escape_ascii());
        }
    }

    #[test]
    fn a_frame_is_found_after_what_is_none() {
        assert_eq!(find_request(HEARTBEAT), Some(0));
        let after = [b"some rest of records", HEARTBEAT].concat();
        assert_eq!(find_request(&after), Some(20));
        assert_eq!(find_request(&[&after, HEARTBEAT].concat()), Some(20));
        assert_eq!(find_request(&[&after[..], b"and more that is none"].concat()), None);
        let response = b"\0\0\0\x06\0\0\0\x07\0\x1b";
        assert_eq!(find_response(response, |id| id == 7), Some(0));
        assert_eq!(find_response(response, |id| id == 8), None);
        assert_eq!(find_response(&[&[0xff; 7][..], response].concat(), |id| id == 7), Some(7));
    }
}
