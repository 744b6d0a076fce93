use bytes::Bytes;
use milena_legacy::*;
use serde_json::{Value, json};

use crate::vector::{assert_flat, bytes, cases};

/// The payloads as kafka-python's tuples; messages are compared in here.
fn decode(function: &str, data: Bytes, expected: &Value) -> Result<Value> {
    Ok(match function {
        "decode_produce_response" => {
            let row = |p: ProduceResponsePayload| json!([&*p.topic, p.partition, p.error.0, p.offset]);
            decode_produce_response(data)?.into_iter().map(row).collect()
        }
        "decode_fetch_response" => {
            let row = |(index, p): (usize, FetchResponsePayload)| {
                let messages = &expected[index][4];
                assert_flat(&p.messages, messages);
                json!([&*p.topic, p.partition, p.error.0, p.highwater_mark, messages])
            };
            decode_fetch_response(data)?.into_iter().enumerate().map(row).collect()
        }
        "decode_offset_response" => {
            let row = |p: OffsetResponsePayload| json!([&*p.topic, p.partition, p.error.0, p.offsets]);
            decode_offset_response(data)?.into_iter().map(row).collect()
        }
        "decode_list_offset_response" => {
            let row = |p: ListOffsetResponsePayload| json!([&*p.topic, p.partition, p.error.0, p.timestamp, p.offset]);
            decode_list_offset_response(data)?.into_iter().map(row).collect()
        }
        "decode_offset_commit_response" => {
            let row = |p: OffsetCommitResponsePayload| json!([&*p.topic, p.partition, p.error.0]);
            decode_offset_commit_response(data)?.into_iter().map(row).collect()
        }
        "decode_offset_fetch_response" => {
            let row = |p: OffsetFetchResponsePayload| {
                json!([&*p.topic, p.partition, p.offset, p.metadata.as_deref(), p.error.0])
            };
            decode_offset_fetch_response(data)?.into_iter().map(row).collect()
        }
        "decode_metadata_response" => {
            let response = decode_metadata_response(data)?;
            let brokers: Vec<Value> = response.brokers.iter().map(|b| json!([b.node_id, &*b.host, b.port])).collect();
            let topics = response.topics.iter().map(|topic| {
                let partitions: Vec<Value> = topic
                    .partitions
                    .iter()
                    .map(|p| {
                        let (replicas, isr) = (p.replica_nodes.as_slice(), p.isr_nodes.as_slice());
                        json!([p.error_code.0, p.partition_index, p.leader_id, replicas, isr])
                    })
                    .collect();
                json!([topic.error_code.0, topic.name.as_deref(), partitions])
            });
            json!({"brokers": brokers, "topics": topics.collect::<Vec<_>>()})
        }
        "decode_consumer_metadata_response" => {
            let found = decode_consumer_metadata_response(data)?;
            json!({"error": found.error.0, "node_id": found.node_id, "host": &*found.host, "port": found.port})
        }
        other => panic!("{other}"),
    })
}

#[test]
fn responses_decode_as_in_kafka_python() {
    for case in cases("responses") {
        let function = case["function"].as_str().unwrap();
        let found = decode(function, bytes(&case["hex"]), &case["decoded"]).unwrap();
        assert_eq!(found, case["decoded"], "{function}");
    }
}

/// As in kafka-python, where `generate.py` has tried it.
#[test]
fn responses_cut_at_any_byte_are_errors() {
    for case in cases("responses") {
        let (function, data) = (case["function"].as_str().unwrap(), bytes(&case["hex"]));
        for size in 0..data.len() {
            let error = decode(function, data.slice(..size), &case["decoded"]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Malformed, "{function} cut to {size}");
        }
    }
}

#[test]
fn bytes_after_a_response_are_ignored() {
    for case in cases("responses") {
        let function = case["function"].as_str().unwrap();
        let mut data = bytes(&case["hex"]).to_vec();
        data.extend_from_slice(b"more");
        assert_eq!(decode(function, data.into(), &case["decoded"]).unwrap(), case["decoded"], "{function}");
    }
}

/// Differs on purpose: kafka-python falls over it.
#[test]
fn a_null_record_set_is_empty() {
    let mut data = vec![0; 4];
    data.extend_from_slice(&1i32.to_be_bytes());
    data.extend_from_slice(b"\0\x01t");
    data.extend_from_slice(&1i32.to_be_bytes());
    data.extend_from_slice(&[0; 4 + 2 + 8]);
    data.extend_from_slice(&[0xff; 4]);
    let payloads = decode_fetch_response(data.into()).unwrap();
    assert_eq!((payloads.len(), payloads[0].messages.len()), (1, 0));
}
