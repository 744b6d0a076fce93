use std::sync::LazyLock;

use bytes::Bytes;
use milena::messages::{Message as Typed, MessageVisitor, visit_message};
use milena::schema::{JSON_LIMITS, MessageSpec, Spec};
use milena::wire::{Error, ErrorKind, Limits, Reader, Result, Writer};
use serde_json::Value;

static PAIRS: LazyLock<Vec<(&'static MessageSpec, i16)>> = LazyLock::new(|| {
    let messages = Spec::kafka().messages.iter();
    messages.flat_map(|message| message.versions.iter().map(move |version| (message, version))).collect()
});

/// The message and version that the first two bytes choose, and the bytes after them.
fn choose(data: &[u8]) -> Option<(&'static MessageSpec, i16, &[u8])> {
    let (number, rest) = data.split_first_chunk()?;
    let (message, version) = PAIRS[usize::from(u16::from_be_bytes(*number)) % PAIRS.len()];
    Some((message, version, rest))
}

/// The two bytes that choose a message and version.
pub fn pair(name: &str, version: i16) -> Option<[u8; 2]> {
    let index = PAIRS.iter().position(|pair| pair.0.name == name && pair.1 == version)?;
    u16::try_from(index).ok().map(u16::to_be_bytes)
}

/// What a typed message makes of bytes.
struct Read {
    leftover: usize,
    written: Result<Bytes>,
}

struct Probe {
    bytes: Bytes,
    version: i16,
    limits: Limits,
}

// One visitor for all, so that each message is compiled for it once.
impl MessageVisitor for Probe {
    type Output = Result<Read>;

    fn visit<M: Typed>(self) -> Result<Read> {
        let mut reader = Reader::with_limits(self.bytes, self.limits);
        let message = M::decode(&mut reader, self.version)?;
        let written = message.to_bytes(self.version);
        if let Ok(bytes) = &written {
            let mut segments = Writer::in_segments(16);
            message.encode(&mut segments, self.version).expect("it was written before");
            assert_eq!(segments.into_segments().concat(), bytes[..]);

            // What was overlong is shorter now, so that the budget of the input may not be enough.
            let mut again = Reader::with_limits(bytes.clone(), JSON_LIMITS);
            let read = M::decode(&mut again, self.version).expect("what was written can be read");
            assert_eq!(again.remaining(), 0);
            // NaN is not equal to itself.
            #[expect(clippy::eq_op, reason = "that is how to find a NaN")]
            let has_nan = message != message;
            assert!(has_nan || read == message);
            assert_eq!(read.to_bytes(self.version).as_ref(), Ok(bytes));
        }
        Ok(Read { leftover: reader.remaining(), written })
    }
}

fn typed(message: &MessageSpec, version: i16, bytes: Bytes, limits: Limits) -> Result<Read> {
    visit_message(&message.name, Probe { bytes, version, limits }).expect("each message of the spec has a struct")
}

/// A typed message: what can be read and written comes back the same.
pub fn message(data: &[u8]) {
    let Some((message, version, body)) = choose(data) else { return };
    match typed(message, version, Bytes::copy_from_slice(body), Limits::default()) {
        Ok(Read { leftover, written }) => {
            assert!(leftover <= body.len());
            // Tags that came in no order can be read and not written, as in Kafka; nor can text that grew by U+FFFD.
            let kind = written.err().map(|error| error.kind());
            assert!(matches!(kind, None | Some(ErrorKind::InvalidValue)), "{kind:?}");
        }
        Err(error) => placed(&error, message, body),
    }
}

/// An error of reading says where.
fn placed(error: &Error, message: &MessageSpec, body: &[u8]) {
    assert!(error.offset().is_some_and(|offset| offset <= body.len()), "{error}");
    assert!(error.path().starts_with(&*message.name), "{error}");
}

/// The schema codec and the typed one: the same verdict with the same words, and the same bytes when written again.
pub fn schema(data: &[u8]) {
    let Some((message, version, body)) = choose(data) else { return };
    let bytes = Bytes::copy_from_slice(body);
    let mut reader = Reader::with_limits(bytes.clone(), JSON_LIMITS);
    let dynamic = message.decode_from(&mut reader, version);
    let annotated = message.decode_annotated(bytes.clone(), version);
    assert_eq!(annotated.outcome.as_ref().err(), dynamic.as_ref().err());
    match (typed(message, version, bytes, JSON_LIMITS), dynamic) {
        // The one measures structs, the other JSON.
        (Err(error), _) | (_, Err(error)) if error.kind() == ErrorKind::LimitExceeded => {}
        (Err(typed), Err(dynamic)) => {
            placed(&typed, message, body);
            assert_eq!(typed, dynamic);
        }
        (Ok(typed), Ok(json)) => {
            assert_eq!(typed.leftover, reader.remaining());
            same(typed.written, message.encode(&json, version), &json);
        }
        (typed, dynamic) => panic!("typed {:?}, schema {dynamic:?}", typed.map(|read| read.written)),
    }
}

fn same(typed: Result<Bytes>, dynamic: Result<Bytes>, json: &Value) {
    match (typed, dynamic) {
        (Ok(typed), Ok(dynamic)) => {
            // JSON has one NaN.
            assert!(typed == dynamic || json.to_string().contains("\"NaN\""), "{typed:?}\n{dynamic:?}\n{json}");
        }
        (Err(typed), Err(dynamic)) => assert_eq!(typed.kind(), dynamic.kind(), "{typed}\n{dynamic}"),
        (typed, dynamic) => panic!("typed {typed:?}, schema {dynamic:?}"),
    }
}

/// JSON that people and scripts write: what is taken comes back, and the typed message agrees.
pub fn json(data: &[u8]) {
    let Some((message, version, body)) = choose(data) else { return };
    let Ok(json) = serde_json::from_slice::<Value>(body) else { return };
    let Ok(bytes) = message.encode(&json, version) else { return };
    let decoded = message.decode(bytes.clone(), version).expect("what was written can be read");
    assert_eq!(decoded.leftover, 0);
    assert_eq!(message.encode(&decoded.json, version).as_ref(), Ok(&bytes), "{}", decoded.json);
    let text = decoded.json.to_string();
    assert_eq!(serde_json::from_str::<Value>(&text).ok().as_ref(), Some(&decoded.json));
    let typed = typed(message, version, bytes.clone(), JSON_LIMITS).expect("what was written can be read");
    assert_eq!(typed.written, Ok(bytes));
}
