//! `milena codec` about batches of records.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::milena;
use serde_json::{Value, json};

/// A batch of gzip as librdkafka produced it and Kafka 4.4 stored it, and the marker that Kafka wrote after a transaction.
const GZIP: &str = "00000000000000050000008f0000000002cbf3c52b000100000004000001a22bc96fb1000001a22bc96fb1ffffffffffffffffff\
    ffffffffff000000051f8b0800000000000003bbc1c8c0c0c0788a31bd2ab34081c6840183000303134bb62123c30fa0b52c2cd946f4b1d8888d2983\
    c9902983912d29338fe53fc31da0ed6c2cd9c6f4b1dd186c1f074bb6097dec336100001de18ebcd5010000";
const COMMIT: &str = "000000000000001a00000042000000000213085f52003000000000000001a22bc97f51000001a22bc97f51000000000000000400\
    00ffffffff000000012000000008000000010c00000000000000";

/// A message of magic 0 with key k0 and value v0, as kafka-python writes it.
const MESSAGE: &str = "0000000000000000000000128697724c0000000000026b30000000027630";

fn ask(question: &Value) -> Value {
    let outcome = milena(&["codec"], question.to_string().as_bytes());
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    serde_json::from_str(&outcome.stdout).unwrap()
}

fn read(hex: &str, tolerant: bool) -> Value {
    ask(&json!({ "id": 7, "op": "records", "hex": hex, "tolerant": tolerant }))
}

fn build(mut question: Value) -> String {
    question["op"] = json!("build");
    let answer = ask(&question);
    assert_eq!(answer["ok"], true, "{answer}");
    answer["hex"].as_str().unwrap().to_owned()
}

/// The hex with one byte turned over.
fn flipped(hex: &str, at: usize) -> String {
    let byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).unwrap();
    format!("{}{:02x}{}", &hex[..2 * at], !byte, &hex[2 * at + 2..])
}

#[test]
fn a_marker_of_kafka_is_printed_exactly() {
    let question = json!({ "id": 7, "op": "records", "hex": COMMIT });
    let outcome = milena(&["codec"], question.to_string().as_bytes());
    let expected = r#"{"id":7,"ok":true,"partialTail":0,"batches":[{"magic":2,"baseOffset":26,"lastOffset":26,"#
        .to_owned()
        + r#""partitionLeaderEpoch":0,"crc":319315794,"crcValid":true,"codec":"none","timestampType":"create","#
        + r#""baseTimestamp":1796030955345,"maxTimestamp":1796030955345,"producerId":4,"producerEpoch":0,"#
        + r#""baseSequence":-1,"isTransactional":true,"isControl":true,"deleteHorizon":null,"count":1,"sizeInBytes":78,"#
        + r#""records":[{"offset":26,"timestamp":1796030955345,"key":"AAAAAQ==","value":"AAAAAAAA","headers":[],"#
        + r#""sequence":-1,"control":{"type":"COMMIT","coordinatorEpoch":0}}]}]}"#
        + "\n";
    assert_eq!(outcome.stdout, expected);
}

#[test]
fn a_compressed_batch_of_kafka_reads_with_headers_in_order() {
    let answer = read(GZIP, false);
    assert_eq!(answer["ok"], true, "{answer}");
    let batch = &answer["batches"][0];
    assert_eq!(
        (&batch["codec"], &batch["sizeInBytes"], &batch["crc"]),
        (&json!("gzip"), &json!(155), &json!(3421750571_u32))
    );
    let records = batch["records"].as_array().unwrap();
    let offsets: Vec<i64> = records.iter().map(|record| record["offset"].as_i64().unwrap()).collect();
    assert_eq!(offsets, [5, 6, 7, 8, 9]);
    assert_eq!((&records[0]["key"], &records[1]["value"]), (&Value::Null, &Value::Null));
    assert_eq!(records[2]["headers"], json!([["aA==", "MQ=="], ["aA==", null], ["Ymlu", "/wA="]]));
}

#[test]
fn old_messages_are_batches_of_one_and_a_wrapper_is_one() {
    let answer = read(&format!("{MESSAGE}{MESSAGE}"), false);
    let batches = answer["batches"].as_array().unwrap();
    assert_eq!((batches.len(), &answer["ok"]), (2, &json!(true)));
    assert_eq!((&batches[0]["count"], &batches[0]["sizeInBytes"]), (&Value::Null, &json!(30)));
    assert_eq!((&batches[0]["crc"], &batches[0]["timestampType"]), (&json!(2258072140_u32), &json!("none")));
    for name in ["producerId", "producerEpoch", "baseSequence"] {
        assert!(batches[0].get(name).is_none(), "{name}");
    }

    let records = json!([{ "value": "YQ==", "timestamp": 5 }, { "key": "", "timestamp": 7, "offset": 12 }]);
    for magic in [0, 1] {
        for codec in ["gzip", "snappy", "lz4"] {
            let hex = build(json!({ "magic": magic, "codec": codec, "baseOffset": 10, "records": records }));
            let answer = read(&hex, false);
            let batch = &answer["batches"][0];
            assert_eq!((&batch["baseOffset"], &batch["lastOffset"]), (&json!(10), &json!(12)), "{answer}");
            assert_eq!((&batch["codec"], &batch["magic"]), (&json!(codec), &json!(magic)));
            assert_eq!(batch["records"][1]["offset"], 12);
            assert_eq!((&batch["records"][1]["key"], &batch["records"][1]["value"]), (&json!(""), &Value::Null));
            assert_eq!(batch["records"][0]["timestamp"], if magic == 0 { -1 } else { 5 });
        }
    }
}

#[test]
fn bytes_are_built_as_kafka_writes_them() {
    let record = json!([{ "key": "azA=", "value": "djA=" }]);
    assert_eq!(build(json!({ "magic": 0, "records": record })), MESSAGE);
    let marker = read(COMMIT, false)["batches"][0].clone();
    assert_eq!(build(marker), COMMIT, "`build` takes what `records` prints");
}

#[test]
fn whatever_is_built_reads_the_same() {
    let records = json!([
        { "offset": 40, "timestamp": 9, "key": null, "value": "", "headers": [["aA==", null], ["aA==", "MQ=="]] },
        { "offset": 43, "timestamp": 7, "key": "aw==", "value": null, "headers": [] },
    ]);
    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        let question = json!({
            "magic": 2, "codec": codec, "baseOffset": 40, "producerId": 4000, "producerEpoch": 3, "lastOffset": 50,
            "baseSequence": 2147483647, "isTransactional": true, "timestampType": "create", "records": records,
        });
        let answer = read(&build(question.clone()), false);
        let batch = &answer["batches"][0];
        for name in ["magic", "codec", "baseOffset", "lastOffset", "producerId", "producerEpoch", "baseSequence"] {
            assert_eq!(batch[name], question[name], "{name}: {answer}");
        }
        for (read, built) in batch["records"].as_array().unwrap().iter().zip(records.as_array().unwrap()) {
            for name in ["offset", "timestamp", "key", "value", "headers"] {
                assert_eq!(read[name], built[name], "{name}: {answer}");
            }
        }
        assert_eq!(batch["records"][1]["sequence"], 2);
    }
    let question = json!({ "timestampType": "logAppend", "maxTimestamp": 77, "records": records });
    let answer = read(&build(question), false);
    assert_eq!(
        (&answer["batches"][0]["timestampType"], &answer["batches"][0]["maxTimestamp"]),
        (&json!("logAppend"), &json!(77))
    );
    assert_eq!(answer["batches"][0]["records"][1]["timestamp"], 77);
}

#[test]
fn strict_reading_stops_at_a_bad_batch_and_tolerant_reading_does_not() {
    let hex = format!("{MESSAGE}{}{COMMIT}", flipped(GZIP, 18));
    let strict = read(&hex, false);
    assert_eq!((&strict["ok"], strict["batches"].as_array().unwrap().len()), (&json!(false), 2));
    assert!(strict["batches"][0]["records"].is_array());
    let bad = &strict["batches"][1];
    assert_eq!((&bad["crcValid"], bad.get("records")), (&json!(false), None));
    assert_eq!((&bad["error"]["kind"], &bad["error"]["offset"]), (&json!("malformed"), &json!(30 + 17)));
    assert_eq!((&bad["error"]["path"], &strict["error"]), (&json!("batches[1].crc"), &bad["error"]));

    let tolerant = read(&hex, true);
    assert_eq!((&tolerant["ok"], tolerant["batches"].as_array().unwrap().len()), (&json!(false), 3));
    let bad = &tolerant["batches"][1];
    assert_eq!((bad["records"].as_array().unwrap().len(), &bad["refused"]["path"]), (5, &json!("batches[1].crc")));
    assert!(tolerant["batches"][2]["records"].is_array());
}

#[test]
fn records_in_front_of_damage_are_there_for_the_tolerant() {
    // The second record's length is one too many for the batch.
    let hex = build(json!({ "records": [{ "value": "YQ==" }, { "value": "Yg==" }] }));
    let hex = hex.replace("0e00000201026200", "1000000201026200");
    assert!(hex.ends_with("1000000201026200"));
    let strict = read(&hex, false);
    assert_eq!(strict["error"]["path"], "batches[0].crc");
    let tolerant = read(&hex, true);
    let bad = &tolerant["batches"][0];
    assert_eq!((&bad["error"]["path"], bad.get("records")), (&json!("batches[0].records[1].length"), None));
    assert_eq!(bad["readable"][0]["value"], "YQ==");
}

#[test]
fn a_cut_at_any_byte_is_a_tail() {
    let whole = format!("{MESSAGE}{COMMIT}");
    for cut in 0..whole.len() / 2 {
        let answer = read(&whole[..2 * cut], cut % 2 == 0);
        let batches = usize::from(cut >= 30);
        assert_eq!((&answer["ok"], &answer["partialTail"]), (&json!(true), &json!(cut - 30 * batches)), "{answer}");
        assert_eq!(answer["batches"].as_array().unwrap().len(), batches);
    }
}

#[test]
fn a_bomb_is_an_error_of_its_kind() {
    // 1025 blocks of zstd that repeat one byte 131072 times.
    let mut payload = "28b52ffd0058".to_owned();
    payload.push_str(&"02001000".repeat(1024));
    payload.push_str("03001000");
    let empty = build(json!({ "codec": "zstd", "records": [] }));
    let size = 49 + payload.len() / 2;
    let hex = format!("{}{size:08x}{}00000001{payload}", &empty[..16], &empty[24..114]);
    let answer = read(&hex, true);
    assert_eq!(answer["batches"][0]["error"]["kind"], "limit_exceeded", "{answer}");
}

/// Each gets an error of the kind beside it.
const HOSTILE: [(&str, &str); 27] = [
    (r#""op":"records""#, "invalid_value"),
    (r#""op":"records","hex":7"#, "invalid_value"),
    (r#""op":"records","hex":"0""#, "invalid_value"),
    (r#""op":"records","hex":"","tolerant":"yes""#, "invalid_value"),
    (r#""op":"records","hex":"000000000000000000000000""#, "malformed"),
    (r#""op":"records","hex":"0000000000000000ffffffff""#, "malformed"),
    (r#""op":"records","hex":"000000000000000000000035ffffffff03""#, "malformed"),
    (r#""op":"records","hex":"00000000000000007fffffff0000000002""#, "malformed"),
    (r#""op":"records","hex":"0000000000000000000000128697724d0000000000026b30000000027630""#, "malformed"),
    (r#""op":"records","hex":"0000000000000000000000128697724c0005000000026b30000000027630""#, "malformed"),
    (r#""op":"build","magic":3"#, "invalid_value"),
    (r#""op":"build","magic":-1"#, "invalid_value"),
    (r#""op":"build","magic":"2""#, "invalid_value"),
    (r#""op":"build","codec":"brotli""#, "invalid_value"),
    (r#""op":"build","codec":4"#, "invalid_value"),
    (r#""op":"build","magic":1,"codec":"zstd","records":[{}]"#, "invalid_value"),
    (r#""op":"build","magic":1,"producerId":5"#, "invalid_value"),
    (r#""op":"build","magic":0,"timestampType":"logAppend""#, "invalid_value"),
    (r#""op":"build","magic":2,"timestampType":"none""#, "invalid_value"),
    (r#""op":"build","magic":1,"records":[{"headers":[["",""]]}]"#, "invalid_value"),
    (r#""op":"build","baseSequence":2147483648"#, "invalid_value"),
    (r#""op":"build","records":{}"#, "invalid_value"),
    (r#""op":"build","records":[{"value":"?"}]"#, "invalid_value"),
    (r#""op":"build","records":[{"valu":""}]"#, "invalid_value"),
    (r#""op":"build","records":[{"headers":[[null,""]]}]"#, "invalid_value"),
    (r#""op":"build","records":[{"offset":7},{"offset":7}]"#, "invalid_value"),
    (r#""op":"build","baseOffset":0,"records":[{"offset":9223372036854775807}]"#, "invalid_value"),
];

#[test]
fn every_hostile_line_gets_an_error() {
    let questions: Vec<String> = HOSTILE.iter().map(|(line, _)| format!("{{{line}}}")).collect();
    let outcome = milena(&["codec"], questions.join("\n").as_bytes());
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert_eq!(outcome.stdout.lines().count(), HOSTILE.len());
    for ((line, kind), answer) in HOSTILE.iter().zip(outcome.stdout.lines()) {
        let answer: Value = serde_json::from_str(answer).unwrap();
        assert_eq!((&answer["ok"], &answer["error"]["kind"]), (&json!(false), &json!(kind)), "{line}: {answer}");
        assert!(answer["error"]["message"].is_string(), "{line}");
    }
}
