//! Requests find their responses, whatever is odd about them.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::Duration;

use bytes::Bytes;
use milena_inspect::Unreadable;
use milena_inspect::conversation::{Bounds, Conversation, Direction, Exchange, FactReader, Facts, Line, Remark};
use milena_messages::{ApiKey, ErrorCode};

/// Hex with any spacing.
fn hex(text: &str) -> Bytes {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// Feeds lines of `>` or `<` and hex, a millisecond apart; what is not complete at the end is given too.
fn converse(lines: &[&str]) -> Vec<Exchange> {
    let mut conversation = Conversation::new();
    let mut exchanges = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        let direction = if line.starts_with('>') { Direction::Request } else { Direction::Response };
        exchanges.extend(conversation.feed(direction, Duration::from_millis(index as u64), hex(&line[1..])));
    }
    exchanges.extend(conversation.finish());
    exchanges
}

fn facts(exchange: &Exchange) -> Facts {
    FactReader::default().read(exchange)
}

#[test]
fn pipelined_requests_find_their_responses_by_id() {
    let exchanges = converse(&[
        "> 000c 0000 00000007 ffff 0001 67 00000003 0001 6d",
        "> 0003 0001 00000008 0001 63 ffffffff",
        "< 00000007 001b",
        "< 00000008 00000000 00000000 00000001 0003 0007 6c657474657273 00 00000000",
    ]);
    let [heartbeat, metadata] = &exchanges[..] else { panic!("{exchanges:?}") };
    assert_eq!(heartbeat.latency(), Some(Duration::from_millis(2)));
    assert_eq!(facts(heartbeat).errors, [ErrorCode::REBALANCE_IN_PROGRESS]);
    assert_eq!(heartbeat.request_json().unwrap()["generationId"], 3);
    assert_eq!(heartbeat.head().unwrap().client_id, None);
    assert_eq!(metadata.head().unwrap().client_id.as_deref(), Some("c"));
    assert_eq!(facts(metadata).topics, ["letters"]);
    assert_eq!(facts(metadata).errors, [ErrorCode::UNKNOWN_TOPIC_OR_PARTITION]);
    assert!(exchanges.iter().all(|exchange| exchange.remarks.is_empty()));
}

#[test]
fn a_produce_with_acks_0_is_complete_at_once() {
    let header = |version: &str| format!("> 0000 {version} 00000001 ffff");
    let zero = format!("{} 0000 000003e8 00000000", header("0000"));
    let transactional = format!("{} 0001 74 0000 000003e8 00000000", header("0003"));
    let flexible = format!("{} 00 00 0000 000003e8 01 00", header("0009"));
    let all = format!("{} ffff 000003e8 00000000", header("0000"));
    for (line, wanted) in [(zero, false), (transactional, false), (flexible, false), (all, true)] {
        let exchanges = converse(&[&line]);
        let why = if wanted { Remark::NoResponse } else { Remark::NoResponseWanted };
        assert_eq!(exchanges[0].remarks, [why], "{line}");
        assert_eq!(exchanges[0].request_json().unwrap()["timeoutMs"], 1000, "{line}");
    }
}

#[test]
fn a_refusal_of_api_versions_is_read_at_version_0() {
    // What Kafka 2.0 says to version 3, and any to a version of the future.
    for (request, asked) in [("> 0012 0003 00000000 ffff 00 02 61 02 62 00", 3), ("> 0012 0063 00000000 ffff 00", 99)] {
        let exchanges = converse(&[request, "< 00000000 0023 00000001 0012 0000 0002"]);
        assert_eq!(exchanges[0].remarks, [Remark::Fallback { asked }]);
        let json = exchanges[0].response_json().unwrap();
        assert_eq!((&json["errorCode"], &json["apiKeys"][0]["maxVersion"]), (&35.into(), &2.into()));
    }
}

#[test]
fn tokens_follow_sasl_handshake_0_until_a_request_comes() {
    let exchanges = converse(&[
        "> 0011 0000 00000001 ffff 0005 504c41494e",
        "< 00000001 0000 00000001 0005 504c41494e",
        "> 00 616c696365 00 736563726574",
        "<",
        "> 0012 0000 00000002 ffff",
        "< 00000002 0000 00000000",
    ]);
    let [handshake, token, versions] = &exchanges[..] else { panic!("{exchanges:?}") };
    assert_eq!(handshake.request_json().unwrap()["mechanism"], "PLAIN");
    assert_eq!(token.remarks, [Remark::SaslToken]);
    assert!(token.request.as_ref().unwrap().is_sasl_token() && token.response.as_ref().unwrap().is_sasl_token());
    assert_eq!(token.request_json(), Err(Unreadable::SaslToken));
    assert_eq!(versions.head().unwrap().api_key, ApiKey::API_VERSIONS);
    assert!(versions.remarks.is_empty());

    // After version 1 tokens come inside of SaslAuthenticate.
    let exchanges = converse(&["> 0011 0001 00000001 ffff 0005 504c41494e", "> 00 616c696365 00 736563726574"]);
    assert_eq!(exchanges[1].remarks[0], Remark::UnknownApi(ApiKey(0x61)));
}

#[test]
fn the_last_token_of_gssapi_has_no_response_and_what_follows_is_paired_right() {
    // A handshake, two tokens with one response, then requests.
    let exchanges = converse(&[
        "> 0011 0000 00000001 ffff 0006 475353415049",
        "< 00000001 0000 00000001 0006 475353415049",
        "> 6082 0102 0304",
        "< 6005 0607",
        "> 0504 04ff 000c 0000",
        "> 0012 0000 00000002 ffff",
        "< 00000002 0000 00000000",
        "> 000c 0000 00000003 ffff 0001 67 00000003 0001 6d",
        "< 00000003 001b",
    ]);
    let [_, first, last, versions, heartbeat] = &exchanges[..] else { panic!("{exchanges:?}") };
    assert_eq!(first.response.as_ref().unwrap().bytes, hex("60050607"));
    assert_eq!(last.response, None);
    assert_eq!(last.remarks, [Remark::SaslToken, Remark::NoResponseToToken]);
    assert_eq!((versions.head().unwrap().api_key, versions.remarks.len()), (ApiKey::API_VERSIONS, 0));
    assert_eq!(versions.response_json().unwrap()["errorCode"], 0);
    assert_eq!(facts(heartbeat).errors, [ErrorCode::REBALANCE_IN_PROGRESS]);
    assert_eq!(heartbeat.latency(), Some(Duration::from_millis(1)));
}

#[test]
fn throttling_is_a_fact() {
    // Heartbeat version 1, throttled for 1500 ms, and not at all.
    let exchanges = converse(&[
        "> 000c 0001 00000007 ffff 0001 67 00000003 0001 6d",
        "< 00000007 000005dc 0000",
        "> 000c 0001 00000008 ffff 0001 67 00000003 0001 6d",
        "< 00000008 00000000 0000",
    ]);
    assert_eq!(facts(&exchanges[0]).throttle, Some(Duration::from_millis(1500)));
    assert_eq!(facts(&exchanges[1]).throttle, None);
    let line = Line::new(&exchanges[0], &facts(&exchanges[0])).to_string();
    assert!(line.ends_with("(throttled for 1.50 s)"), "{line}");
}

#[test]
fn what_no_release_has_passes_as_it_is() {
    let exchanges = converse(&["> 2710 0005 00000009 0003 666f6f 11223344", "< 00000009 55667788"]);
    assert_eq!(exchanges[0].remarks, [Remark::UnknownApi(ApiKey(10_000))]);
    assert_eq!(exchanges[0].request_json(), Err(Unreadable::UnknownApi(10_000)));
    let head = exchanges[0].head().unwrap();
    assert_eq!((head.api_version, head.correlation_id, head.client_id.as_deref()), (5, 9, Some("foo")));
    assert_eq!(exchanges[0].response.as_ref().unwrap().bytes, hex("00000009 55667788"));
    assert!(facts(&exchanges[0]).errors.is_empty());

    let exchanges = converse(&["> 0001 0400 00000009 ffff 00"]);
    assert_eq!(exchanges[0].remarks[0], Remark::UnknownVersion(ApiKey::FETCH, 0x400));
}

#[test]
fn responses_that_nobody_waits_for_are_kept() {
    let heartbeat = "> 000c 0000 00000007 ffff 0001 67 00000003 0001 6d";
    let exchanges = converse(&["< 00000005 0000", "< 00", heartbeat, "> 0012 0000 00000008 ffff", "< 00000008 0000"]);
    assert_eq!(exchanges[0].remarks, [Remark::RequestNotSeen { correlation_id: 5 }]);
    assert_eq!(exchanges[0].response_json(), Err(Unreadable::RequestNotSeen));
    assert!(matches!(exchanges[1].remarks[..], [Remark::BadHeader(_)]));
    assert_eq!(exchanges[2].remarks, [Remark::OutOfOrder]);
    assert_eq!(exchanges[3].remarks, [Remark::NoResponse]);
    assert_eq!(exchanges[3].head().unwrap().correlation_id, 7);
}

#[test]
fn ids_may_repeat_and_the_oldest_request_gets_the_first_response() {
    let exchanges = converse(&[
        "> 0012 0000 00000000 0001 61",
        "> 0012 0000 00000000 0001 62",
        "< 00000000 0000 00000000",
        "< 00000000 0000 00000000",
    ]);
    let clients: Vec<_> =
        exchanges.iter().map(|exchange| exchange.head().unwrap().client_id.clone().unwrap()).collect();
    assert_eq!(clients, ["a", "b"]);
}

#[test]
fn what_waits_is_bounded_in_number_and_bytes() {
    let request = hex("0012 0000 00000000 ffff");
    for bounds in [
        Bounds { requests: 2, bytes: 1000, ..Bounds::default() },
        Bounds { requests: 1000, bytes: 2 * request.len(), ..Bounds::default() },
    ] {
        let mut conversation = Conversation::with_bounds(bounds);
        let mut given_up = 0;
        for _ in 0..10 {
            if let Some(exchange) = conversation.feed(Direction::Request, Duration::ZERO, request.clone()) {
                assert_eq!(exchange.remarks, [Remark::GivenUp]);
                given_up += 1;
            }
        }
        assert_eq!((given_up, conversation.waiting().count()), (8, 2));
    }
}

#[test]
fn a_broken_header_says_so_and_keeps_what_there_is() {
    let exchanges = converse(&["> 0003 0001 00000009 0050 61", "> 0003"]);
    assert!(
        matches!(&exchanges[0].remarks[0], Remark::BadHeader(what) if what.contains("clientId") || what.contains("client_id"))
    );
    assert_eq!(exchanges[0].head().unwrap().correlation_id, 9);
    assert!(matches!(exchanges[0].request_json(), Err(Unreadable::Malformed(_))));
    assert!(matches!(exchanges[1].remarks[0], Remark::BadHeader(_)));
}

#[test]
fn the_json_has_both_frames_what_is_left_over_and_what_cannot_be_read() {
    let exchanges = converse(&[
        "> 000c 0000 00000007 ffff 0001 67 00000003 0001 6d",
        "> 000c 0000 00000008 0001 22 0001 67 00000003 0001 6d",
        "< 00000007 001b ff",
        "< 00000008 00",
        "< 00000009 001b",
    ]);
    let asked = r#""body":{"groupId":"g","generationId":3,"memberId":"m"}}"#;
    let expected = [
        r#"{"type":"exchange","time":"1970-01-01T00:00:00.000000Z","api":"Heartbeat","version":0,"correlationId":7,"clientId":null,"#
            .to_owned()
            + r#""latencyMicros":2000,"request":{"size":20,"header":{"requestApiKey":12,"requestApiVersion":0,"#
            + r#""correlationId":7,"clientId":null},"#
            + asked
            + r#","response":{"size":7,"header":{"correlationId":7},"body":{"errorCode":27},"leftover":"/w=="},"#
            + r#""topics":[],"errors":["REBALANCE_IN_PROGRESS"],"throttleTimeMs":0,"fault":null,"notes":[]}"#,
        r#"{"type":"exchange","time":"1970-01-01T00:00:00.001000Z","api":"Heartbeat","version":0,"correlationId":8,"clientId":"\"","#
            .to_owned()
            + r#""latencyMicros":2000,"request":{"size":21,"header":{"requestApiKey":12,"requestApiVersion":0,"#
            + r#""correlationId":8,"clientId":"\""},"#
            + asked
            + r#","response":{"size":5,"error":"HeartbeatResponse.errorCode: 2 bytes expected, 1 left (at byte 4)","#
            + r#""frame":"AAAACAA="},"topics":[],"errors":[],"throttleTimeMs":0,"fault":null,"notes":[]}"#,
        r#"{"type":"exchange","time":"1970-01-01T00:00:00.004000Z","api":null,"version":null,"correlationId":null,"clientId":null,"#
            .to_owned()
            + r#""latencyMicros":null,"request":null,"response":{"size":6,"error":"a response to a request that was not seen","#
            + r#""frame":"AAAACQAb"},"topics":[],"errors":[],"throttleTimeMs":0,"fault":null,"#
            + r#""notes":["a response to correlation id 9, whose request was not seen"]}"#,
    ];
    for (exchange, expected) in exchanges.iter().zip(expected) {
        let mut out = Vec::new();
        exchange.write_json(&facts(exchange), &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
