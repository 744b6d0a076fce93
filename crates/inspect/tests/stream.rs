//! Frames that somebody found: what they are, or what they may be.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bytes::Bytes;
use milena_connection::Foreign;
use milena_inspect::stream::{Assume, FoundFrame, Reading, guess, read};
use milena_messages::ApiKey;
use milena_schema::Spec;

/// Hex with any spacing.
fn hex(text: &str) -> Bytes {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// Frames with their sizes in front.
fn stream(frames: &[&str]) -> Bytes {
    let mut bytes = Vec::new();
    for frame in frames.iter().map(|frame| hex(frame)) {
        bytes.extend((frame.len() as i32).to_be_bytes());
        bytes.extend(frame);
    }
    bytes.into()
}

fn named(found: &FoundFrame) -> (&'static str, &str, i16) {
    let reading = match found.reading {
        Reading::Request => "request",
        Reading::Response => "response",
        Reading::Guess(_) => "guess",
        Reading::Foreign(_) => "foreign",
        _ => "unknown",
    };
    let head = found.frame.head.as_ref();
    (reading, head.and_then(|head| head.api_key.name()).unwrap_or("-"), head.map_or(-1, |head| head.api_version))
}

#[test]
fn both_directions_may_be_mixed() {
    // The responses have ids that look like requests of Produce.
    let bytes = stream(&[
        "0012 0003 00000003 0001 63 00 02 61 02 62 00",
        "0003 0001 00000004 0001 63 ffffffff",
        "00000003 0023 00000001 0012 0000 0002",
        "00000004 00000000 00000000 00000000",
    ]);
    let found = read(&bytes, Assume::Nothing);
    let names: Vec<_> = found.iter().map(named).collect();
    let expected = [
        ("request", "ApiVersions", 3),
        ("request", "Metadata", 1),
        ("response", "ApiVersions", 0),
        ("response", "Metadata", 1),
    ];
    assert_eq!(names, expected);
    assert!(found[2].notes[0].contains("KIP-511"));
    assert!(found.iter().all(|found| found.frame.decode().unwrap().leftover == 0));
    assert_eq!(found[3].range.end, bytes.len());
}

#[test]
fn tokens_of_sasl_0_stand_among_frames() {
    let bytes = stream(&[
        "0011 0000 00000001 ffff 0005 504c41494e",
        "00000001 0000 00000001 0005 504c41494e",
        "00 616c696365 00 736563726574",
        "",
        "0012 0000 00000002 ffff",
        "00000002 0000 00000000",
    ]);
    let found = read(&bytes, Assume::Nothing);
    assert!(found[2].frame.is_sasl_token() && found[3].frame.is_sasl_token());
    assert_eq!(named(&found[5]), ("response", "ApiVersions", 0));
}

#[test]
fn other_protocols_are_named_with_the_number_that_people_see() {
    for (bytes, foreign, number) in [
        (&b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03"[..], Foreign::TlsHandshake, "369295618"),
        (b"\x16\x03\x03\x01", Foreign::TlsHandshake, "369296129"),
        (b"\x15\x03\x03\0\x02\x02\x50", Foreign::TlsAlert, "352518912"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", Foreign::Http, "1213486160"),
        (b"GET / HTTP/1.1\r\nHost: kafka:9092\r\n\r\n", Foreign::Http, "1195725856"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", Foreign::Ssh, "1397966893"),
    ] {
        let found = read(&Bytes::from_static(bytes), Assume::Nothing);
        assert_eq!(found[0].reading, Reading::Foreign(foreign));
        assert!(found[0].notes[0].contains(number), "{:?}", found[0].notes);
    }
}

#[test]
fn responses_alone_are_guessed_with_reasons() {
    let spec = Spec::kafka();
    let cases = [
        (
            "Metadata",
            1,
            serde_json::json!({
                "brokers": [{"nodeId": 1, "host": "kafka-1.example", "port": 9092}], "controllerId": 1,
                "topics": [{"name": "letters", "partitions": [{"leaderId": 1, "replicaNodes": [1], "isrNodes": [1]}]}],
            }),
        ),
        (
            "ApiVersions",
            3,
            serde_json::json!({
                "apiKeys": [{"apiKey": 0, "maxVersion": 9}, {"apiKey": 1, "maxVersion": 12}, {"apiKey": 18, "maxVersion": 3}],
            }),
        ),
        ("FindCoordinator", 2, serde_json::json!({"nodeId": 3, "host": "kafka-3.example", "port": 9092})),
        (
            "JoinGroup",
            5,
            serde_json::json!({
                "generationId": 3, "protocolName": "range", "leader": "consumer-1", "memberId": "consumer-1",
            }),
        ),
    ];
    for (api, version, json) in cases {
        let known = spec.api_named(api).unwrap();
        let mut bytes = vec![0, 0, 0, 9];
        bytes.extend(vec![0; usize::from(known.response_header_version(version) == 1)]);
        bytes.extend(spec.message(&format!("{api}Response")).unwrap().encode(&json, version).unwrap());
        let guesses = guess(&bytes.clone().into());
        assert_eq!(guesses[0].api_key.name(), Some(api), "{guesses:#?}");
        assert!(guesses[0].versions.contains(version));
        assert!(guesses[0].reasons.contains(&"no bytes are left over".to_owned()));
        let found = read(&bytes.into(), Assume::Nothing);
        assert_eq!(named(&found[0]).0, "guess");
        assert_eq!(found[0].frame.decode().unwrap().leftover, 0);
    }
}

#[test]
fn a_response_with_a_small_id_is_not_a_produce_request() {
    // ApiVersions version 0 with id 2: as Produce version 2 it would leave most of its bytes over.
    let bytes = stream(&["00000002 0000 00000003 0000 0000 0009 0001 0004 000b 0012 0000 0003"]);
    let found = read(&bytes, Assume::Nothing);
    assert_eq!(named(&found[0]), ("guess", "ApiVersions", 0));
    // A request that leaves bytes over and reads as nothing else is one: librdkafka sends such.
    let bytes = stream(&["0000 0000 00000001 ffff ffff 000003e8 00000000 aabbcc"]);
    assert_eq!(named(&read(&bytes, Assume::Nothing)[0]), ("request", "Produce", 0));
}

#[test]
fn an_unknown_key_is_neither_and_says_so() {
    let found = read(&stream(&["2710 0005 00000009 0003 666f6f 11223344"]), Assume::Nothing);
    assert_eq!(found[0].reading, Reading::Unknown);
    assert!(found[0].notes[0].contains("API key 10000, which no release has"), "{:?}", found[0].notes);
    let found = read(&stream(&["2710 0005 00000009 0003 666f6f 11223344"]), Assume::Requests);
    assert_eq!(found[0].frame.json().unwrap_err().to_string(), "no release has API key 10000");
}

#[test]
fn what_was_cut_off_or_broken_is_still_found() {
    let whole = stream(&["0003 0001 00000004 0001 63 ffffffff"]);
    let found = read(&whole.slice(..whole.len() - 2), Assume::Nothing);
    assert_eq!((named(&found[0]), found[0].is_cut_off()), (("request", "Metadata", 1), true));
    assert!(found[0].frame.json().is_err());
    let found = read(&whole.slice(4..), Assume::Nothing);
    assert_eq!((named(&found[0]), found[0].base()), (("request", "Metadata", 1), 0));
    assert!(read(&Bytes::new(), Assume::Nothing).is_empty());
}

#[test]
fn the_caller_may_know_better() {
    let bytes = stream(&["00000003 0000 00000000", "00000004 0023 00000000"]);
    let found = read(&bytes, Assume::Responses(ApiKey::API_VERSIONS, 0));
    assert_eq!(found.iter().map(named).collect::<Vec<_>>(), [("response", "ApiVersions", 0); 2]);
    let found = read(&bytes, Assume::Responses(ApiKey::API_VERSIONS, 3));
    assert_eq!(named(&found[1]), ("response", "ApiVersions", 0));
}
