//! `milena decode --records` as a user sees it.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::path::PathBuf;

use common::milena;
use serde_json::Value;

/// Three records and a marker, as Kafka 4.4 stored them.
const BATCH: &str = "0000000000000000 0000004c 00000000 02 e9336efb 0000 00000002 000001a22bc9b40b 000001a22bc9b40b \
    ffffffffffffffff ffff ffffffff 00000003 100000000104763000 100000020104763100 100000040104763200";
const COMMIT: &str = "000000000000001a 00000042 00000000 02 13085f52 0030 00000000 000001a22bc97f51 000001a22bc97f51 \
    0000000000000004 0000 ffffffff 00000001 20 00 00 00 08 00000001 0c 000000000000 00";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// A file of its own for a test.
fn file(name: &str, bytes: &[u8]) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn batches_are_listed() {
    let outcome = milena(&["decode", "--records", BATCH, COMMIT], b"");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let expected = "\
batch 0  bytes 0..88  offsets 0 to 2  magic 2  not compressed  3 records
  crc e9336efb valid  created 2026-11-30T09:29:28.843Z to 2026-11-30T09:29:28.843Z  leader epoch 0
  OFFSET  TIMESTAMP                 KEY   VALUE  HEADERS
       0  2026-11-30T09:29:28.843Z  null  \"v0\"
       1  2026-11-30T09:29:28.843Z  null  \"v1\"
       2  2026-11-30T09:29:28.843Z  null  \"v2\"

batch 1  bytes 88..166  offset 26  magic 2  not compressed  1 record  transactional  control
  crc 13085f52 valid  created 2026-11-30T09:29:15.345Z to 2026-11-30T09:29:15.345Z  leader epoch 0  \
producer 4 epoch 0 sequence -1
  OFFSET  TIMESTAMP                 KEY     VALUE                HEADERS
      26  2026-11-30T09:29:15.345Z  COMMIT  coordinatorEpoch: 0
";
    assert_eq!(outcome.stdout, expected);
}

#[test]
fn a_line_of_json_is_a_batch() {
    let hex = format!("{BATCH}{COMMIT}");
    let outcome = milena(&["decode", "--records", "--json"], hex.as_bytes());
    let batches: Vec<Value> = outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(batches.len(), 2);
    let question = format!(r#"{{"op":"records","hex":"{}"}}"#, hex.split_whitespace().collect::<String>());
    let answer: Value = serde_json::from_str(&milena(&["codec"], question.as_bytes()).stdout).unwrap();
    assert_eq!(answer["batches"].as_array(), Some(&batches), "the same form as that of `codec`");
}

#[test]
fn annotations_cover_every_byte() {
    let outcome = milena(&["decode", "--records", "--annotate", BATCH, COMMIT], b"");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let mut at = 0;
    let is_field = |line: &&str| !line.ends_with(" batch") && !line.ends_with(" record");
    for line in outcome.stdout.lines().skip(1).filter(is_field) {
        let (start, end) = line.split_whitespace().next().unwrap().split_once("..").unwrap();
        assert_eq!(start.parse::<usize>().unwrap(), at, "{}", outcome.stdout);
        at = end.parse().unwrap();
    }
    assert_eq!(at, 88 + 78);
    assert!(outcome.stdout.contains("(valid)") && outcome.stdout.contains("(none, transactional, control)"));

    let outcome = milena(&["decode", "--records", "--annotate", "--json", BATCH], b"");
    let fields: Vec<Value> = serde_json::from_str(&outcome.stdout).unwrap();
    let value = fields.iter().find(|field| field["path"] == "batches[0].records[1].value").unwrap();
    assert_eq!((&value["value"], &value["end"]), (&"djE=".into(), &Value::from(78)));
}

#[test]
fn annotations_go_into_what_is_compressed() {
    let build = |rest: &str| {
        let question = format!(r#"{{"op":"build","records":[{{"key":"aw==","value":"dg=="}}],{rest}}}"#);
        let answer: Value = serde_json::from_str(&milena(&["codec"], question.as_bytes()).stdout).unwrap();
        answer["hex"].as_str().unwrap().to_owned()
    };
    for rest in [r#""codec":"zstd""#, r#""codec":"gzip","magic":0"#, r#""codec":"lz4","magic":1"#] {
        let outcome = milena(&["decode", "--records", "--annotate", &build(rest)], b"");
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{rest}");
        assert!(outcome.stdout.contains("(in parentheses)") && outcome.stdout.contains("1 byte, \"v\""));
        assert!(!outcome.stdout.contains("<--"), "{}", outcome.stdout);
    }
}

#[test]
fn tolerant_annotations_go_into_payloads_that_break_off() {
    let records = r#"[{"value":"Zmlyc3Q="},{"value":"c2Vjb25k"}]"#;
    let question = format!(r#"{{"op":"build","codec":"gzip","records":{records}}}"#);
    let answer: Value = serde_json::from_str(&milena(&["codec"], question.as_bytes()).stdout).unwrap();
    // The last 8 bytes of gzip are checksum and length.
    let mut batch = bytes(answer["hex"].as_str().unwrap());
    let at = batch.len() - 8;
    batch[at] ^= 0xff;
    let broken = file("records-broken-gzip.bin", &batch);
    let outcome = milena(&["decode", "--records", "--annotate", &broken], b"");
    assert!(outcome.code == 1 && outcome.stdout.contains("cannot be decompressed"), "{}", outcome.stdout);
    let outcome = milena(&["decode", "--records", "--annotate", "--tolerant", &broken], b"");
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.contains("(in parentheses), up to where "), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("\"second\"") && outcome.stderr.contains("crc"), "{}", outcome.stderr);
}

#[test]
fn damage_shows_and_is_a_failure() {
    let damaged = BATCH.replace("02 e9336efb", "02 e9336efc");
    let outcome = milena(&["decode", "--records", "--strict", &damaged, COMMIT], b"");
    assert_eq!((outcome.code, outcome.stdout.matches("batch ").count()), (1, 1));
    assert!(outcome.stdout.contains("INVALID") && outcome.stdout.contains("damaged: bad_crc: batches[0].crc"));
    assert!(outcome.stderr.starts_with("error: batches[0].crc: "));

    let outcome = milena(&["decode", "--records", &damaged, COMMIT], b"");
    assert_eq!((outcome.code, outcome.stdout.matches("batch ").count()), (1, 2));
    assert!(outcome.stdout.contains("batch 0  bytes 0..88  offsets 0 to 2") && !outcome.stdout.contains("\"v2\""));
    assert!(outcome.stdout.contains("damaged: bad_crc") && outcome.stdout.contains("COMMIT"));
    assert!(outcome.stderr.contains("1 of 2 batches are damaged") && outcome.stderr.contains("--tolerant"));

    let outcome = milena(&["decode", "--records", "--tolerant", &damaged, COMMIT], b"");
    assert_eq!((outcome.code, outcome.stdout.matches("batch ").count()), (1, 2));
    assert!(outcome.stdout.contains("\"v2\"") && outcome.stdout.contains("COMMIT"));
    assert!(outcome.stderr.contains("1 of 2 batches are damaged"), "{}", outcome.stderr);

    let cut = BATCH.replace("100000040104763200", "120000040104763200");
    let outcome = milena(&["decode", "--records", "--tolerant", "--annotate", &cut], b"");
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.contains("\"v1\"") && outcome.stdout.contains("<-- cannot be read"), "{}", outcome.stdout);

    let outcome = milena(&["decode", "--records", "00000000 00000000 00000035 ffffffff 03"], b"");
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("magic 3") && !outcome.stderr.contains("--tolerant"), "{}", outcome.stderr);
}

#[test]
fn reading_goes_on_after_a_size_that_makes_no_sense() {
    // The size of the first batch is -1, 5, or more than there is.
    for size in ["ffffffff", "00000005", "7fffff00", "00001000"] {
        let damaged = BATCH.replacen("0000004c", size, 1);
        let outcome = milena(&["decode", "--records", &damaged, COMMIT, BATCH], b"");
        let batches = outcome.stdout.lines().filter(|line| line.starts_with("batch ")).count();
        assert_eq!((outcome.code, batches), (1, 3), "{size}: {}", outcome.stdout);
        assert!(outcome.stdout.starts_with("batch 0  bytes 0..88\n  damaged: "), "{size}: {}", outcome.stdout);
        assert!(outcome.stdout.contains("batch 2  bytes 166..254  offsets 0 to 2"), "{size}: {}", outcome.stdout);
        assert!(outcome.stderr.contains("1 of 3 batches are damaged"), "{size}: {}", outcome.stderr);
        let outcome = milena(&["decode", "--records", "--strict", &damaged, COMMIT], b"");
        assert!(outcome.stdout.lines().filter(|line| line.starts_with("batch ")).count() <= 1, "{size}");
    }
}

#[test]
fn keys_of_headers_are_quoted_where_they_could_mislead() {
    let headers = r#"[["YSw=", "MQ=="], ["Yjo=", null], ["YwpkPQ==", ""], ["", "Mg=="], ["dHJhY2UtaWQ=", "Mw=="]]"#;
    let question = format!(r#"{{"op":"build","records":[{{"value":"dg==","headers":{headers}}}]}}"#);
    let answer: Value = serde_json::from_str(&milena(&["codec"], question.as_bytes()).stdout).unwrap();
    let outcome = milena(&["decode", "--records", answer["hex"].as_str().unwrap()], b"");
    let expected = r#""a,"="1", "b:"=null, "c\nd="="", ""="2", trace-id="3""#;
    assert!(outcome.stdout.contains(expected), "{}", outcome.stdout);
    let outcome = milena(&["decode", "--records", "--json", answer["hex"].as_str().unwrap()], b"");
    let batch: Value = serde_json::from_str(&outcome.stdout).unwrap();
    assert_eq!(batch["records"][0]["headers"], serde_json::from_str::<Value>(headers).unwrap());
}

#[test]
fn a_segment_may_end_in_zeros_or_in_half_a_batch() {
    let mut segment = bytes(BATCH);
    let listed = milena(&["decode", "--records", BATCH], b"").stdout;
    segment.extend(bytes(&COMMIT[..80]));
    let cut = file("records-cut.log", &segment);
    let outcome = milena(&["decode", "--records", &cut], b"");
    assert_eq!((outcome.code, &outcome.stdout), (0, &listed), "{}", outcome.stderr);
    assert!(
        outcome.stderr.starts_with("note: a batch that is cut off at the end, from byte 88: "),
        "{}",
        outcome.stderr
    );

    segment.truncate(88);
    for zeros in [1, 5, 12, 4096] {
        segment.resize(88 + zeros, 0);
        let padded = file("records-zeros.log", &segment);
        for args in [["decode", "--records", "--file", &padded], ["decode", "--records", "--tolerant", &padded]] {
            let outcome = milena(&args, b"");
            assert_eq!((outcome.code, &outcome.stdout), (0, &listed), "{}", outcome.stderr);
            assert!(outcome.stderr.starts_with("note: zeros at the end, from byte 88: "), "{}", outcome.stderr);
        }
    }

    let outcome = milena(&["decode", "--records", "--file", &file("records-empty.log", b"")], b"");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, "note: there are no bytes, and no batches\n"));
}

#[test]
fn wrong_calls_end_with_2() {
    let calls: [&[&str]; 5] = [
        &["decode", "--records", "--request", "00"],
        &["decode", "--records", "--version", "3", "00"],
        &["decode", "--tolerant", "--request", "00"],
        &["decode", "--tolerant", "--strict", "--records", "00"],
        &["decode", "--as", "message", "00"],
    ];
    for call in calls {
        assert_eq!(milena(call, b"").code, 2, "{call:?}");
    }
}
