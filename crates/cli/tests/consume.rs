//! `milena consume` and `milena offsets` with the broker of this binary.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "common/broker.rs"]
mod broker;
mod common;

use std::io::{BufRead as _, BufReader};

use broker::{Broker, Running, free_address};
use serde_json::Value;

/// A broker with a topic of some partitions, which has no records.
fn broker(partitions: &str) -> Broker {
    let broker = Broker::start();
    broker.call(&["topics", "create", "letters", "copies", "--partitions", partitions], "");
    broker
}

fn consume(broker: &Broker, args: &[&str]) -> String {
    broker.call(&[&["consume", "letters"], args].concat(), "")
}

#[test]
fn a_range_starts_and_ends_where_it_should() {
    let broker = broker("1");
    let lines: String = (0..100).map(|number| format!("{number}\n")).collect();
    let batches = broker.call(&["produce", "letters", "--batch", "30", "--linger", "10s", "--json"], &lines);
    assert_eq!(batches.lines().count(), 4);
    let consume = |args: &[&str]| consume(&broker, args);
    assert_eq!(consume(&[]), lines);
    assert_eq!(consume(&["--from", "10", "--to", "12"]), "10\n11\n");
    assert_eq!(consume(&["--from", "-2"]), "98\n99\n");
    assert_eq!(consume(&["--from", "-2", "--to", "50"]), "48\n49\n");
    assert_eq!(consume(&["--from", "-1000"]), lines);
    assert_eq!(consume(&["--from", "-0"]), "");
    assert_eq!(consume(&["--from", "latest"]), "");
    assert_eq!(consume(&["--from", "100"]), "");
    assert_eq!(consume(&["--from", "2000-01-01", "--count", "1"]), "0\n");
    assert_eq!(consume(&["--to", "never", "--count", "3"]), "0\n1\n2\n");
    assert_eq!(consume(&["--from", "-2", "--to", "never", "--count", "2"]), "98\n99\n");
    let offsets = broker.call(&["offsets", "-t", "letters"], "");
    assert_eq!(offsets.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>(), ["0", "0", "100", "100"]);
}

#[test]
fn a_start_after_the_end_is_an_error_that_names_the_range() {
    let broker = broker("2");
    broker.call(&["produce", "letters", "-p", "0"], "a\nb\n");
    for to in ["end", "never", "9"] {
        let outcome = broker.outcome(&["consume", "letters", "-p", "0", "--from", "3", "--to", to], "");
        assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""), "{to}");
        let expected = "error: offset 3 of letters-0 is out of range: ";
        assert!(outcome.stderr.starts_with(expected), "{to}: {}", outcome.stderr);
    }
    // The other partition does not suffer: it has no offset 1, this one has.
    let outcome = broker.outcome(&["consume", "letters", "--from", "1"], "");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, "b\n"));
    assert!(outcome.stderr.starts_with("error: offset 1 of letters-1 is out of range: "), "{}", outcome.stderr);
}

#[test]
fn the_last_records_are_counted_in_each_partition() {
    let broker = broker("2");
    let line = |partition: i32, value: i32| format!("{{\"partition\":{partition},\"value\":\"{value}\"}}\n");
    let lines: String = (0..5).map(|value| line(0, value) + &line(1, value)).collect();
    broker.call(&["produce", "letters", "--input", "json"], &lines);
    let last = consume(&broker, &["--from", "-2", "--format", "{partition}:{value}"]);
    assert_eq!(last, "0:3\n0:4\n1:3\n1:4\n");
}

#[test]
fn a_stop_before_its_offset_is_reached_is_reported() {
    let broker = broker("1");
    broker.call(&["produce", "letters"], "a\nb\n");
    let outcome = broker.outcome(&["consume", "letters", "--to", "5"], "");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (0, "a\nb\n"));
    assert_eq!(outcome.stderr, "note: letters-0 ends at offset 2, before 5\n");
}

#[test]
fn times_select_records_from_and_to() {
    let broker = broker("1");
    // 2024-05-01T12:00:00Z, and an hour and two after it.
    let lines: String = [1_714_564_800_000_i64, 1_714_568_400_000, 1_714_572_000_000]
        .iter()
        .map(|time| format!("{{\"value\":\"{time}\",\"timestamp\":{time}}}\n"))
        .collect();
    broker.call(&["produce", "letters", "--input", "json"], &lines);
    broker.call(&["produce", "letters"], "now\n");
    let consume = |args: &[&str]| consume(&broker, args);
    let second = "1714568400000\n";
    assert_eq!(consume(&["--from", "2024-05-01T12:00:01Z", "--to", "2024-05-01T13:00:01Z"]), second);
    assert_eq!(consume(&["--from", "2024-05-01T15:00+02:00", "--to", "2024-05-01T09:30-04:00"]), second);
    assert_eq!(consume(&["--from", "@1714568400000", "--to", "@1714572000000"]), second);
    assert_eq!(consume(&["--from", "-1h"]), "now\n");
    assert_eq!(consume(&["--from", "1", "--to", "-1h"]), "1714568400000\n1714572000000\n");
    assert_eq!(consume(&["--from", "-1h", "--to", "-30m"]), "");
    let at = broker.call(&["offsets", "letters", "--at", "-1h", "--json"], "");
    let at: Value = serde_json::from_str(&at).unwrap();
    assert_eq!(at[0]["at"], 3);
    let at = broker.call(&["offsets", "letters", "--at", "2024-05-01T16:00+02:00"], "");
    assert!(at.ends_with("   2  2024-05-01T14:00:00.000Z\n"), "{at}");
}

#[test]
fn a_time_that_would_be_a_sentinel_on_the_wire_is_refused() {
    // -1 and -2 are latest and earliest, -3 the greatest timestamp (KIP-734); nothing else is negative either.
    for time in ["@-1", "@-2", "@-3", "@-7", "1969-12-31", "1969-12-31T23:59:59.998Z", "-999999h"] {
        for args in [["consume", "--from"], ["consume", "--to"], ["offsets", "--at"]] {
            let [command, option] = args;
            let outcome = common::milena(&[command, "letters", &format!("{option}={time}")], b"");
            assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{option} {time}");
            assert!(outcome.stderr.contains("before 1970"), "{option} {time}: {}", outcome.stderr);
        }
    }
}

#[test]
fn partitions_are_named_once_and_must_exist() {
    let broker = broker("3");
    let lines: String = (0..3).map(|number| format!("{{\"partition\":{number},\"value\":\"{number}\"}}\n")).collect();
    broker.call(&["produce", "letters", "--input", "json"], &lines);
    assert_eq!(consume(&broker, &["-p", "0,0"]), "0\n");
    assert_eq!(consume(&broker, &["-p", "1-2"]), "1\n2\n");
    assert_eq!(consume(&broker, &["-p", "2,0-1,1"]), "0\n1\n2\n");
    assert_eq!(broker.call(&["offsets", "letters", "-p", "0-1"], "").lines().count(), 3);
    for command in ["consume", "offsets", "produce"] {
        let outcome = broker.outcome(&[command, "letters", "-p", "99"], "x\n");
        assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""), "{command}");
        let expected = "error: letters has no partition 99, it has 3 partitions, 0 to 2\n";
        assert_eq!(outcome.stderr, expected, "{command}");
        assert_eq!(broker.outcome(&[command, "letters", "-p", "-1"], "x\n").code, 2, "{command}");
    }
}

#[test]
fn the_topic_is_an_argument_or_an_option() {
    let broker = broker("1");
    broker.call(&["produce", "-t", "letters"], "a\n");
    assert_eq!(broker.call(&["consume", "letters"], ""), "a\n");
    assert_eq!(broker.call(&["consume", "--topic", "letters"], ""), "a\n");
    assert!(broker.call(&["metadata", "letters"], "").contains("letters"));
    assert_eq!(broker.outcome(&["consume"], "").code, 2);
    assert_eq!(broker.outcome(&["consume", "letters", "-t", "letters"], "").code, 2);
}

#[test]
fn no_timestamp_stays_none_from_topic_to_topic() {
    let broker = broker("1");
    broker
        .call(&["produce", "letters", "--input", "json"], "{\"value\":\"v\",\"timestamp\":null}\n{\"value\":\"w\"}\n");
    let read = consume(&broker, &["--json"]);
    let timestamps = |text: &str| -> Vec<Value> {
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["timestamp"].clone()).collect()
    };
    assert_eq!(timestamps(&read)[0], Value::Null);
    assert!(timestamps(&read)[1].is_i64(), "{read}");
    broker.call(&["produce", "copies", "--input", "json"], &read);
    assert_eq!(timestamps(&broker.call(&["consume", "copies", "--json"], "")), timestamps(&read));
    let format = ["--format", "{time}|{timestamp}|{value}", "--count", "1"];
    assert_eq!(consume(&broker, &format), "||v\n");
    assert_eq!(consume(&broker, &[&format[..], &["--null", "none"]].concat()), "none|none|v\n");
}

#[test]
fn reading_without_end_survives_an_outage() {
    let broker = broker("2");
    let address = free_address();
    let tap = broker.tapped(&address, &[]);
    let args = ["consume", "letters", "--to", "never", "-n", "2", "--timeout", "300ms", "--bootstrap", &address];
    let mut consumer = Running::start(&args);
    let mut stdout = BufReader::new(consumer.0.stdout.take().unwrap()).lines();
    let mut stderr = BufReader::new(consumer.0.stderr.take().unwrap()).lines();
    broker.call(&["produce", "letters"], "before\n");
    assert_eq!(stdout.next().unwrap().unwrap(), "before");
    drop(tap);
    // Written by the process when its own patience of 300 ms has ended.
    let note = stderr.next().unwrap().unwrap();
    assert!(note.starts_with("note: waiting for letters-"), "{note}");
    broker.call(&["produce", "letters"], "after\n");
    let _tap = broker.tapped(&address, &[]);
    assert_eq!(stdout.next().unwrap().unwrap(), "after");
    assert!(consumer.0.wait().unwrap().success());
}

#[test]
fn a_topic_that_is_deleted_ends_reading_without_end() {
    let broker = broker("1");
    let args = ["consume", "letters", "--to", "never", "--timeout", "300ms", "--bootstrap", &broker.bootstrap];
    let mut consumer = Running::start(&args);
    let mut stdout = BufReader::new(consumer.0.stdout.take().unwrap()).lines();
    broker.call(&["produce", "letters"], "before\n");
    assert_eq!(stdout.next().unwrap().unwrap(), "before");
    broker.call(&["topics", "delete", "letters"], "");
    assert_eq!(consumer.0.wait().unwrap().code(), Some(1));
    let stderr: Vec<String> = BufReader::new(consumer.0.stderr.take().unwrap()).lines().map(Result::unwrap).collect();
    assert!(stderr.iter().any(|line| line.starts_with("error: letters-0 from offset 1 on: ")), "{stderr:?}");
}
