//! Questions to `milena codec` that were damaged on the way: each gets a response, and the next one goes on.

mod common;
#[path = "../../milena/tests/mutate/mod.rs"]
mod mutate;

use common::milena;
use mutate::{Random, mutate};

const QUESTIONS: [&str; 10] = [
    r#"{"id":1,"op":"decode","message":"MetadataRequest","version":9,"hex":"0101000001050161"}"#,
    r#"{"id":2,"op":"encode","message":"MetadataRequest","version":12,"json":{"topics":[{"name":"a"}]}}"#,
    r#"{"id":3,"op":"reencode","message":"MetadataRequest","version":1,"hex":"000000010001ff"}"#,
    r#"{"id":4,"op":"default","message":"FetchRequest","version":12}"#,
    r#"{"id":5,"op":"transcode","message":"MetadataRequest","version":1,"toVersion":9,"hex":"ffffffff"}"#,
    r#"{"id":6,"op":"header","api":18,"version":3}"#,
    r#"{"id":[7,{"a":null}],"op":"error","code":3}"#,
    r#"{"id":8,"op":"records","tolerant":true,"hex":"0000000000000000000000390000000002deadbeef"}"#,
    r#"{"id":9,"op":"build","magic":2,"codec":"gzip","records":[{"key":null,"value":"aGVsbG8=","timestamp":5}]}"#,
    r#"{"id":10,"op":"build","magic":1,"baseOffset":7,"records":[{"value":"aGk=","headers":[]}]}"#,
];

const KINDS: [&str; 5] = ["malformed", "unsupported_version", "limit_exceeded", "invalid_value", "unknown_message"];

#[test]
fn every_damaged_line_gets_a_reply_and_the_next_line_is_read() {
    let mut random = Random::new(1944);
    let mut lines = Vec::new();
    for round in 0..5_000 {
        let mut line = QUESTIONS[round % QUESTIONS.len()].as_bytes().to_vec();
        // Some stay whole: a response must not depend on the lines before it.
        for _ in 0..random.below(4) {
            mutate(&mut line, &mut random);
        }
        line.retain(|byte| *byte != b'\n');
        // Blank lines have no response.
        if !line.trim_ascii().is_empty() {
            lines.push(line);
        }
    }
    let outcome = milena(&["codec"], &lines.join(&b'\n'));
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let answers: Vec<&str> = outcome.stdout.lines().collect();
    assert_eq!(answers.len(), lines.len());
    let (mut good, mut bad) = (0, 0);
    for (line, text) in lines.iter().zip(answers) {
        let line = line.escape_ascii();
        let answer: serde_json::Value = serde_json::from_str(text).expect(text);
        match answer["ok"].as_bool() {
            Some(true) => good += 1,
            // Records that cannot be read say so in their batch.
            Some(false) if answer["batches"].is_array() => bad += 1,
            Some(false) => {
                let kind = answer["error"]["kind"].as_str();
                assert!(kind.is_some_and(|kind| KINDS.contains(&kind)), "{line}\n{text}");
                bad += 1;
            }
            None => panic!("{line}\n{text}"),
        }
    }
    assert!(good > 500 && bad > 500, "{good} good, {bad} bad: the damage is of no use");
}
