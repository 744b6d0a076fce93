//! Mistakes on the command line: what is blamed is what is wrong, and the exit code is 2 when no broker was needed to see it.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "common/broker.rs"]
mod broker;
mod common;

use std::net::TcpListener;

use broker::Broker;
use common::milena;

#[test]
fn a_wrong_value_is_an_error_of_the_command_line_that_names_its_option() {
    let cases: [(&[&str], &str); 13] = [
        (&["consume", "letters", "--bootstrap", "http://localhost:9092"], "--bootstrap"),
        (&["consume", "letters", "--bootstrap", "localhost:99999"], "--bootstrap"),
        (&["apis", "--bootstrap", "localhost:x"], "--bootstrap"),
        (&["demo", "--bootstrap", "localhost:x"], "--bootstrap"),
        (&["consume", "letters", "--timeout", "0s"], "--timeout"),
        (&["consume", "letters", "--count", "-1"], "--count"),
        (&["consume", "letters", "--from", "10", "--to", "5"], "--from 10"),
        (&["produce", "letters", "--batch", "-1"], "--batch"),
        (&["produce", "letters", "--codec", "brotli"], "expected none, gzip, snappy, lz4 or zstd"),
        (&["broker", "--partitions", "0"], "--partitions"),
        (&["broker", "--node-id", "-1"], "--node-id"),
        (&["decode", "--response", "--api", "Heartbeat", "00"], "--version is required"),
        (&["decode", "log", "--time", "-x..now"], "--time"),
    ];
    for (call, blamed) in cases {
        let outcome = milena(call, b"");
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{call:?}: {}", outcome.stderr);
        let error = outcome.stderr.lines().next().unwrap();
        assert!(error.contains(blamed) && !error.contains("unexpected argument"), "{call:?}: {error}");
    }
}

#[test]
fn a_broker_that_cannot_listen_says_why() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let outcome = milena(&["broker", "--port", &port], b"");
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("in use") && outcome.stderr.contains("hint: --port"), "{}", outcome.stderr);
    // TEST-NET-1 (RFC 5737) is no address of any machine.
    let outcome = milena(&["broker", "--host", "192.0.2.1", "--port", "0"], b"");
    assert_eq!(outcome.code, 1);
    let (error, hint) = outcome.stderr.split_once('\n').unwrap();
    assert!(error.contains("os error") && hint.contains("--host"), "{}", outcome.stderr);
}

#[test]
fn a_name_that_no_topic_can_have_is_not_looked_for_in_the_list() {
    let broker = Broker::start();
    for call in [["consume", "a b"], ["offsets", "a b"], ["metadata", "a b"]] {
        let outcome = broker.outcome(&call, "");
        assert_eq!(outcome.code, 1);
        assert!(outcome.stderr.contains("`a b` is not a topic name"), "{call:?}: {}", outcome.stderr);
        assert!(!outcome.stderr.contains("topics list"), "{call:?}: {}", outcome.stderr);
    }
    for call in [["consume", "nope"], ["offsets", "nope"], ["metadata", "nope"]] {
        let outcome = broker.outcome(&call, "");
        assert!(outcome.stderr.contains("topic `nope` does not exist"), "{call:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("hint: `milena topics list`"), "{call:?}: {}", outcome.stderr);
    }
    let empty = broker.outcome(&["topics", "create", ""], "");
    assert!(empty.stderr.contains("CreateTopics for \"\" with"), "{}", empty.stderr);
}

#[test]
fn a_log_in_a_pipe_has_no_colours() {
    let broker = Broker::start();
    let outcome = broker.outcome(&["metadata", "--verbose"], "");
    assert_eq!(outcome.code, 0);
    assert!(!outcome.stderr.is_empty() && !outcome.stderr.contains('\x1b'), "{}", outcome.stderr);
}

#[test]
fn an_empty_input_and_a_frame_that_ends_early_are_called_so() {
    let empty = milena(&["decode"], b"");
    assert_eq!(empty.code, 1);
    assert!(empty.stderr.starts_with("error: the input is empty\nhint: name a file"), "{}", empty.stderr);
    // Metadata 1 exists: what is wrong is that its header is not complete.
    let cut = milena(&["decode", "00000014 0003 0001 0000"], b"");
    assert_eq!(cut.code, 1);
    assert!(cut.stderr.contains("its size field says 20 bytes, but 6 follow"), "{}", cut.stderr);
    assert!(!cut.stderr.contains("does not exist"), "{}", cut.stderr);
    let newer = milena(&["decode", "00000014 0003 0063 0000"], b"");
    assert!(newer.stderr.contains("Metadata version 99, which does not exist"), "{}", newer.stderr);
}
