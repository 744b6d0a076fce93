use std::time::Duration;

use bytes::Bytes;
use milena::wire::MAX_STRING_BYTES;
use milena_inspect::blob::{self, Kind};
use milena_inspect::conversation::{Bounds, Conversation, Direction, Exchange, FactReader};
use milena_inspect::stream::{Assume, Reading, read};
use milena_inspect::text::{Form, parse};
use milena_inspect::topic::{self, RecordContent};
use milena_inspect::trace;

/// Text that stands for bytes: what comes out as hex comes out of that again.
pub fn inspect_text(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for form in [Form::Auto, Form::Hex, Form::Base64, Form::Escaped] {
        let Ok(bytes) = parse(text, form) else { continue };
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(parse(&hex, Form::Hex).as_ref(), Ok(&bytes));
        let escaped: String = bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect();
        assert_eq!(parse(&format!("\"{escaped}\\\\\""), Form::Auto), Ok([&bytes[..], b"\\"].concat()));
    }
}

/// Bytes that are searched for frames: those that are found are one after the other and cover all of them.
pub fn inspect_stream(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    for assume in [Assume::Nothing, Assume::Requests, Assume::Responses(milena::messages::ApiKey(18), 3)] {
        let mut end = 0;
        for found in read(&bytes, assume) {
            assert_eq!(found.range.start, end);
            end = found.range.end;
            assert_eq!(&bytes[found.base()..end], &found.frame.bytes[..]);
            let decoded = found.frame.decode();
            if let Reading::Guess(guesses) = &found.reading {
                assert!(!guesses.is_empty() && decoded.is_ok_and(|decoded| decoded.leftover == 0));
            }
        }
        assert_eq!(end, bytes.len());
    }
}

/// Frames of a connection in any order: each comes out once, and no more are kept than the bounds say.
pub fn inspect_conversation(data: &[u8]) {
    let bounds = Bounds { requests: 4, bytes: 200, late_requests: 2 };
    let mut conversation = Conversation::with_bounds(bounds);
    let (mut fed, mut given) = (0, 0);
    let mut facts = FactReader::default();
    let mut count = |exchange: &Exchange| {
        given += exchange.request.iter().chain(&exchange.response).count();
        let _ = (exchange.request_json(), exchange.response_json(), facts.read(exchange));
        exchange.write_json(&facts.read(exchange), &mut Vec::new());
        exchange.remarks.iter().for_each(|remark| assert!(!remark.to_string().is_empty()));
    };
    let mut rest = data;
    while let [head, behind @ ..] = rest {
        let (frame, behind) = behind.split_at(usize::from(head >> 1).min(behind.len()));
        let direction = if head & 1 == 0 { Direction::Request } else { Direction::Response };
        let exchange = conversation.feed(direction, Duration::from_micros(fed), Bytes::copy_from_slice(frame));
        exchange.iter().for_each(&mut count);
        fed += 1;
        assert!(conversation.waiting().count() <= bounds.requests);
        rest = behind;
    }
    conversation.finish().iter().for_each(&mut count);
    assert_eq!(given as u64, fed);
}

/// Lines of a trace: what is read is written as a line that reads as the same.
pub fn inspect_trace(data: &[u8]) {
    for frame in trace::TraceReader::new(data).flatten() {
        let mut line = Vec::new();
        frame.write(None, &mut line).expect("memory takes it");
        let mut again = trace::TracedFrame::parse(&line).expect("it was written");
        // A line has no more than microseconds.
        again.time = frame.time;
        assert_eq!(again, frame);
    }
}

/// What members of a group send each other: what is understood can be written, and reads as the same.
pub fn inspect_blob(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    for kind in Kind::ALL {
        let Ok(blob) = blob::read(kind, bytes.clone()) else { continue };
        blob.to_json();
        // Text that is no UTF-8 grows when it is replaced, and may then be too long.
        if bytes.len() < MAX_STRING_BYTES / 3 {
            let again = blob::encode(kind, blob.part.version, &blob.json).expect("it was read");
            let again = blob::read(kind, again).expect("it was written");
            assert_eq!((again.json, again.leftover), (blob.json, 0));
        }
    }
    let guesses = blob::guess(bytes);
    assert!(guesses.iter().all(|blob| !blob.notes.is_empty() || blob.leftover == 0));
}

/// A record of one of Kafka's own topics: nothing of what is not understood is lost.
pub fn inspect_topic(data: &[u8]) {
    let [choice, length, rest @ ..] = data else { return };
    let name = topic::TopicReader::topics().nth(usize::from(*choice) % 5).expect("there are five");
    let reader = topic::TopicReader::for_topic(name).expect("it has that name from there");
    let (key, value) = rest.split_at(usize::from(*length).min(rest.len()));
    for (key, value) in [(Some(key), Some(value)), (None, Some(value)), (Some(key), None)] {
        let record = reader.decode(key, value);
        record.to_json();
        for (content, bytes) in [(&record.key, key), (&record.value, value)] {
            match content {
                RecordContent::Null => assert!(bytes.is_none()),
                RecordContent::Raw { bytes: raw, why } => assert!(Some(&raw[..]) == bytes && !why.is_empty()),
                RecordContent::Read { part, .. } => assert!(bytes.is_some_and(|bytes| part.base <= bytes.len())),
            }
        }
        assert_eq!(record.is_deletion(), key.is_some() && value.is_none());
    }
}
