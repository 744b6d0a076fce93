//! `milena produce` with the broker of this binary, and with faults on the way to it.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "common/broker.rs"]
mod broker;
mod common;

use broker::Broker;

#[test]
fn records_come_back_as_they_went() {
    let broker = Broker::start();
    broker.call(&["topics", "create", "letters", "copies", "--partitions", "2"], "");
    let lines = [
        r#"{"partition":0,"timestamp":7,"key":"k","value":null,"headers":[{"key":"h","value":"1"},{"key":"h","value":null}]}"#,
        r#"{"partition":1,"timestamp":8,"key":"","valueBase64":"//79","headers":[]}"#,
    ];
    broker.call(&["produce", "letters", "--input", "json", "--codec", "lz4"], &lines.join("\n"));
    let read = broker.call(&["consume", "letters", "--json"], "");
    broker.call(&["produce", "copies", "--input", "json"], &read);
    let copied = broker.call(&["consume", "copies", "--json"], "");
    assert_eq!(copied, read.replace("letters", "copies"));
    for (line, read) in lines.iter().zip(read.lines()) {
        let (line, read): (serde_json::Value, serde_json::Value) =
            (serde_json::from_str(line).unwrap(), serde_json::from_str(read).unwrap());
        for (name, value) in line.as_object().unwrap() {
            assert_eq!(read[name], *value, "{name}");
        }
    }
}

#[test]
fn lines_have_keys_headers_and_nulls() {
    let broker = Broker::start();
    broker.call(&["topics", "create", "letters", "tabs"], "");
    let args = ["produce", "-t", "letters", "-k", ":", "--null", "", "-H", "lang=cs", "--batch", "2"];
    broker.call(&args, "a:1\nb:\nc\n");
    let format = ["--format", "{offset} {key}={value} {headers}", "--null", "NULL"];
    let read = |topic: &str| broker.call(&[&["consume", topic][..], &format].concat(), "");
    assert_eq!(read("letters"), "0 a=1 lang=cs\n1 b=NULL lang=cs\n2 NULL=c lang=cs\n");
    broker.call(&["produce", "tabs", "-k", r"\t"], "a\t1\nb\\t2\n");
    assert_eq!(read("tabs"), "0 a=1 \n1 NULL=b\\t2 \n");
}

#[test]
fn a_carriage_return_stays_unless_it_is_to_be_removed() {
    let broker = Broker::start();
    broker.call(&["topics", "create", "letters"], "");
    broker.call(&["produce", "letters"], "a\r\nb\n");
    broker.call(&["produce", "letters", "--crlf"], "c\r\nd\n");
    assert_eq!(broker.call(&["consume", "letters"], ""), "a\r\nb\nc\nd\n");
}

#[test]
fn a_bad_line_is_named_and_the_others_are_written() {
    let broker = Broker::start();
    broker.call(&["topics", "create", "letters"], "");
    let lines = "{\"value\":\"a\"}\nnonsense\n\n{\"value\":5}\n{\"value\":\"b\",\"timestamp\":-2}\n{\"value\":\"c\"}\n";
    let outcome = broker.outcome(&["produce", "letters", "--input", "json"], lines);
    assert_eq!(outcome.code, 1);
    let stderr: Vec<&str> = outcome.stderr.lines().collect();
    assert!(stderr[0].starts_with("error: line 2: this is not a JSON object"), "{stderr:?}");
    assert_eq!(stderr[1], "error: line 4: `value` is a number, not a string: put its text in quotes");
    assert_eq!(stderr[2], "error: line 5: `timestamp` is not a number of milliseconds since 1970");
    assert_eq!(stderr[3..], ["wrote 2 records to letters", "error: of 6 lines: 3 not written"]);
    assert_eq!(broker.call(&["consume", "letters"], ""), "a\nc\n");
}

#[test]
fn many_bad_lines_are_all_named_but_not_each_with_its_error() {
    let broker = Broker::start();
    broker.call(&["topics", "create", "letters"], "");
    let lines = "nonsense\n".repeat(30) + "{\"value\":\"a\"}\n" + "nonsense\n";
    let outcome = broker.outcome(&["produce", "letters", "--input", "json"], &lines);
    let stderr: Vec<&str> = outcome.stderr.lines().collect();
    assert_eq!(stderr.iter().filter(|line| line.starts_with("error: line ")).count(), 20, "{stderr:?}");
    let end =
        ["wrote 1 record to letters", "note: also refused: lines 21-30, 32", "error: of 32 lines: 31 not written"];
    assert_eq!(stderr[20..], end);
}

#[test]
fn records_of_many_partitions_go_to_a_topic_of_fewer() {
    let broker = Broker::start();
    broker.call(&["topics", "create", "wide", "--partitions", "4"], "");
    broker.call(&["topics", "create", "narrow", "--partitions", "2"], "");
    let lines: String = (0..4).map(|n| format!("{{\"partition\":{n},\"key\":\"{n}\",\"value\":\"{n}\"}}\n")).collect();
    broker.call(&["produce", "wide", "--input", "json"], &lines);
    let read = broker.call(&["consume", "wide", "--json"], "");
    let sorted = |text: String| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };

    let outcome = broker.outcome(&["produce", "narrow", "--input", "json"], &read);
    assert_eq!(outcome.code, 1);
    let expected =
        "error: line 3: narrow has no partition 2, it has 2; --repartition chooses partitions by key instead";
    assert!(outcome.stderr.starts_with(expected), "{}", outcome.stderr);
    assert!(outcome.stderr.ends_with("error: of 4 lines: 2 not written\n"), "{}", outcome.stderr);
    assert_eq!(sorted(broker.call(&["consume", "narrow"], "")), ["0", "1"]);

    broker.call(&["produce", "narrow", "--input", "json", "--repartition"], &read);
    assert_eq!(sorted(broker.call(&["consume", "narrow"], "")), ["0", "0", "1", "1", "2", "3"]);
}

#[test]
fn a_batch_above_the_topics_limit_is_split_and_a_record_above_it_is_named() {
    let broker = Broker::start();
    broker.call(&["topics", "create", "small", "--config", "max.message.bytes=1000"], "");
    let (line, large) = ("x".repeat(300), "y".repeat(1500));
    let lines = format!("{line}\n{line}\n{large}\n{line}\n{line}\n{line}\n");
    let outcome = broker.outcome(&["produce", "small"], &lines);
    assert_eq!(outcome.code, 1);
    let stderr: Vec<&str> = outcome.stderr.lines().collect();
    // 61 bytes of the batch header, 1500 of the value, 9 of lengths, attributes and deltas.
    let expected = "error: line 3: too large for small: a batch of this record alone has 1570 bytes, and max.message.bytes of \
                    the topic is 1000 bytes";
    assert_eq!(stderr[0], expected);
    assert!(stderr[1].starts_with("hint: raise max.message.bytes"), "{stderr:?}");
    assert_eq!(stderr[2..], ["wrote 5 records to small", "error: of 6 lines: 1 not written"]);
    assert_eq!(broker.call(&["consume", "small"], ""), format!("{line}\n").repeat(5));
}

#[test]
fn records_that_the_topic_refuses_are_named_and_the_others_are_written() {
    let broker = Broker::start();
    let compacted = ["--config", "cleanup.policy=compact"];
    broker.call(&[&["topics", "create", "state"][..], &compacted].concat(), "");
    let outcome = broker.outcome(&["produce", "state", "-k", "="], "a=1\nno key\nb=2\nnone either\nc=3\n");
    assert_eq!(outcome.code, 1);
    for line in ["line 2", "line 4"] {
        let named = outcome.stderr.contains(&format!("error: {line}: state refuses the record with INVALID_RECORD"));
        assert!(named, "{line}: {}", outcome.stderr);
    }
    assert!(
        outcome.stderr.ends_with("wrote 3 records to state\nerror: of 5 lines: 2 not written\n"),
        "{}",
        outcome.stderr
    );
    assert_eq!(broker.call(&["consume", "state"], ""), "1\n2\n3\n");

    let hour = ["--config", "message.timestamp.after.max.ms=3600000"];
    broker.call(&[&["topics", "create", "times"][..], &hour].concat(), "");
    let line = |time: &str| format!("{{\"value\":\"{time}\",\"timestamp\":{time}}}\n");
    // The second is in the year 2286.
    let lines = [line("1714564800000"), line("9999999999999"), line("1714564800001")].concat();
    let outcome = broker.outcome(&["produce", "times", "--input", "json"], &lines);
    assert!(
        outcome.stderr.starts_with("error: line 2: times refuses the record with INVALID_TIMESTAMP"),
        "{}",
        outcome.stderr
    );
    assert_eq!(broker.call(&["consume", "times"], ""), "1714564800000\n1714564800001\n");
}

#[test]
fn lines_in_doubt_are_named_and_the_next_are_written() {
    let broker = Broker::start();
    broker.call(&["topics", "create", "letters"], "");
    // The connection ends before the second batch reaches the broker; to the client it looks as if it was after.
    let tap = broker.tapped("127.0.0.1:0", &["--fault", "produce@2: cut"]);
    let lines = "1\n2\n3\n4\n5\n6\n";
    let outcome = tap.outcome(&["produce", "letters", "--batch", "2", "--linger", "10s"], lines);
    assert_eq!(outcome.code, 1);
    let stderr: Vec<&str> = outcome.stderr.lines().collect();
    assert!(stderr[0].starts_with("error: lines 3-4 may or may not be in letters-0: "), "{stderr:?}");
    assert!(stderr[1].starts_with("hint: ") && stderr[1].contains("--resend"), "{stderr:?}");
    assert_eq!(stderr[2..], ["wrote 4 records to letters", "error: of 6 lines: 2 in doubt"]);
    assert_eq!(broker.call(&["consume", "letters"], ""), "1\n2\n5\n6\n");

    let tap = broker.tapped("127.0.0.1:0", &["--fault", "produce@1: cut after 5 bytes"]);
    tap.call(&["produce", "letters", "--resend"], "7\n");
    assert_eq!(broker.call(&["consume", "letters", "--from", "4"], ""), "7\n7\n");
}

#[test]
fn a_partition_that_cannot_be_written_ends_writing_and_names_its_lines() {
    let broker = Broker::start();
    broker.call(&["topics", "create", "letters"], "");
    let tap = broker.tapped("127.0.0.1:0", &["--fault", "produce@2+: error NOT_LEADER_OR_FOLLOWER"]);
    let args = ["produce", "letters", "--batch", "2", "--linger", "10s", "--timeout", "500ms"];
    let outcome = tap.outcome(&args, "1\n2\n3\n4\n5\n6\n");
    assert_eq!(outcome.code, 1);
    let stderr: Vec<&str> = outcome.stderr.lines().collect();
    assert!(stderr[0].starts_with("error: lines 3-4 not written to letters-0: "), "{stderr:?}");
    let sum = "error: of the first 4 lines: 2 not written; nothing was sent of the lines after these";
    assert_eq!(stderr[1..], ["wrote 2 records to letters", sum]);
    assert_eq!(broker.call(&["consume", "letters"], ""), "1\n2\n");
}
