use bytes::Bytes;
use milena_legacy::*;
use serde_json::Value;

use crate::create::created;
use crate::vector::{assert_bytes, cases, int, raises};

fn text(value: &Value) -> String {
    let text = value.as_str().unwrap();
    text.split_once('*').map_or(text.to_owned(), |(text, times)| text.repeat(times.parse().unwrap()))
}

fn list<T>(value: &Value, one: impl Fn(&Value) -> T) -> Vec<T> {
    value.as_array().unwrap().iter().map(one).collect()
}

fn encode(function: &str, client_id: &str, id: i32, args: &Value) -> Result<Bytes> {
    let payloads = &args["payloads"];
    let group = args["group"].as_str().unwrap_or_default();
    match function {
        "encode_produce_request" => {
            let payloads = list(payloads, |payload| ProduceRequestPayload {
                topic: text(&payload[0]).into(),
                partition: int(&payload[1]),
                messages: list(&payload[2], created),
            });
            encode_produce_request(client_id, id, &payloads, int(&args["acks"]), int(&args["timeout"]))
        }
        "encode_fetch_request" => {
            let payloads = list(payloads, |payload| FetchRequestPayload {
                topic: text(&payload[0]).into(),
                partition: int(&payload[1]),
                offset: int(&payload[2]),
                max_bytes: int(&payload[3]),
            });
            encode_fetch_request(client_id, id, &payloads, int(&args["max_wait_time"]), int(&args["min_bytes"]))
        }
        "encode_offset_request" => {
            let payloads = list(payloads, |payload| OffsetRequestPayload {
                topic: text(&payload[0]).into(),
                partition: int(&payload[1]),
                time: int(&payload[2]),
                max_offsets: int(&payload[3]),
            });
            encode_offset_request(client_id, id, &payloads)
        }
        "encode_list_offset_request" => {
            let payloads = list(payloads, |payload| ListOffsetRequestPayload {
                topic: text(&payload[0]).into(),
                partition: int(&payload[1]),
                time: int(&payload[2]),
            });
            encode_list_offset_request(client_id, id, &payloads)
        }
        "encode_metadata_request" => encode_metadata_request(client_id, id, &list(&args["topics"], text)),
        "encode_consumer_metadata_request" => encode_consumer_metadata_request(client_id, id, group),
        "encode_offset_commit_request" => {
            let payloads = list(payloads, |payload| OffsetCommitRequestPayload {
                topic: text(&payload[0]).into(),
                partition: int(&payload[1]),
                offset: int(&payload[2]),
                metadata: payload[3].as_str().map(Into::into),
            });
            encode_offset_commit_request(client_id, id, group, &payloads)
        }
        "encode_offset_fetch_request" => {
            let payloads = list(payloads, |payload| OffsetFetchRequestPayload {
                topic: text(&payload[0]).into(),
                partition: int(&payload[1]),
            });
            encode_offset_fetch_request(client_id, id, group, &payloads, args["from_kafka"].as_bool().unwrap())
        }
        other => panic!("{other}"),
    }
}

#[test]
fn requests_are_the_frames_of_kafka_python() {
    for case in cases("requests") {
        let client_id = case["client_id"].as_str().unwrap();
        let function = case["function"].as_str().unwrap();
        match encode(function, client_id, int(&case["correlation_id"]), &case["args"]) {
            Ok(frame) => assert_bytes(&frame, &case["frame"], case),
            Err(error) => {
                assert!(raises(&case["frame"]), "{case}: {error}");
                assert_eq!(error.kind(), ErrorKind::InvalidValue);
            }
        }
    }
}

#[test]
fn messages_of_magic_1_are_produced_with_their_own_timestamp() {
    let message = Message::new(Some("later".into()), None).with_timestamp(1_500_000_000_123);
    let set = MessageSet::encode([(0, message.encode().unwrap())], true).unwrap();
    let payload = ProduceRequestPayload { topic: "t".into(), partition: 0, messages: vec![message] };
    let frame = encode_produce_request("", 0, &[payload], 1, 1000).unwrap();
    assert!(frame.ends_with(&set));
}

#[test]
fn large_records_come_in_one_piece() {
    let message = create_message(Some(vec![7; 100_000].into()), None);
    let set = MessageSet::encode([(0, message.encode().unwrap())], true).unwrap();
    let payload = ProduceRequestPayload { topic: "t".into(), partition: 0, messages: vec![message] };
    let frame = encode_produce_request("", 0, &[payload], 1, 1000).unwrap();
    assert_eq!(frame[..4], (frame.len() as i32 - 4).to_be_bytes());
    assert!(frame.ends_with(&set));
}
