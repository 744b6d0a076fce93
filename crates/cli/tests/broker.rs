//! `milena broker` as a script uses it.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "common/broker.rs"]
mod broker;
mod common;

use std::path::PathBuf;

use broker::Broker;
use common::milena;
use serde_json::Value;

/// A file of this test.
fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn metadata(broker: &Broker) -> Value {
    serde_json::from_str(&broker.call(&["metadata", "--json"], "")).unwrap()
}

#[test]
fn the_ready_line_lists_all_nodes_and_topics_have_replicas_on_them() {
    let broker = Broker::start_with(&["--port", "0", "--nodes", "3", "--topic", "orders:6:cleanup.policy=compact"]);
    assert_eq!(broker.bootstrap.split(',').count(), 3, "{}", broker.bootstrap);
    let metadata = metadata(&broker);
    let partitions = metadata["topics"][0]["partitions"].as_array().unwrap();
    assert_eq!((metadata["topics"][0]["name"].as_str(), partitions.len()), (Some("orders"), 6));
    assert!(partitions.iter().all(|partition| partition["replicas"].as_array().unwrap().len() == 3), "{metadata}");
    // A compacted topic takes no record without a key.
    let outcome = broker.outcome(&["produce", "orders"], "no key\n");
    assert!(outcome.code == 1 && outcome.stderr.contains("INVALID_RECORD"), "{}", outcome.stderr);
}

#[test]
fn the_ready_line_as_json_has_ids_and_addresses() {
    let broker = Broker::start_with(&["--port", "0", "--nodes", "2", "--node-id", "7", "--json"]);
    let ready: Value = serde_json::from_str(&broker.bootstrap).unwrap();
    let nodes = ready["nodes"].as_array().unwrap();
    assert_eq!([&nodes[0]["id"], &nodes[1]["id"]], [7, 8]);
    let addresses = [nodes[0]["address"].as_str().unwrap(), nodes[1]["address"].as_str().unwrap()];
    assert_eq!(ready["bootstrap"].as_str().unwrap(), addresses.join(","));
}

#[test]
fn a_seed_is_what_consume_printed_before() {
    let lines = concat!(
        r#"{"topic":"a","partition":2,"offset":7,"timestamp":1000,"key":"k","value":"v","headers":[{"key":"h","value":"1"}]}"#,
        "\n\n",
        r#"{"topic":"a","partition":2,"offset":9,"timestamp":2000,"key":null,"valueBase64":"/w=="}"#,
        "\n",
        r#"{"topic":"b","value":"x"}"#,
        "\n",
    );
    let seed = file("seed.jsonl", lines);
    let consume = |broker: &Broker, topic| broker.call(&["consume", topic, "--json"], "");
    let first = Broker::start_with(&["--port", "0", "--topic", "b:4", "--seed", seed.to_str().unwrap()]);
    let printed = consume(&first, "a");
    let records: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records.len(), 2, "{printed}");
    assert_eq!([&records[0]["partition"], &records[0]["offset"], &records[0]["timestamp"]], [2, 0, 1000]);
    assert_eq!([&records[0]["key"], &records[0]["value"]], ["k", "v"]);
    assert_eq!(records[1]["valueBase64"], "/w==");
    assert_eq!(consume(&first, "b").lines().count(), 1);
    let metadata = metadata(&first);
    let counts: Vec<_> = metadata["topics"]
        .as_array()
        .unwrap()
        .iter()
        .map(|topic| topic["partitions"].as_array().unwrap().len())
        .collect();
    assert_eq!(counts, [3, 4], "as many partitions as records name, or as --topic says");

    let again = file("again.jsonl", &printed);
    let second = Broker::start_with(&["--port", "0", "--seed", again.to_str().unwrap()]);
    assert_eq!(consume(&second, "a"), printed);
}

#[test]
fn faults_reach_clients() {
    let broker =
        Broker::start_with(&["--port", "0", "--topic", "a", "--fault", "produce: error TOPIC_AUTHORIZATION_FAILED"]);
    let outcome = broker.outcome(&["produce", "a"], "x\n");
    assert!(outcome.code == 1 && outcome.stderr.contains("TOPIC_AUTHORIZATION_FAILED"), "{}", outcome.stderr);
}

#[test]
fn what_is_wrong_is_said_before_anything_starts() {
    let no_topic = file("no-topic.jsonl", "{\"topic\":\"a\",\"value\":\"x\"}\n{\"value\":\"x\"}\n");
    let no_json = file("no-json.jsonl", "hello\n");
    for (args, code, why) in [
        (&["--topic", "a:0"][..], 2, "`0` is not a number of partitions"),
        (&["--topic", "a:1:no.such=1"], 1, "--topic a: INVALID_CONFIG"),
        (&["--topic", "a:1000000"], 1, "--topic a: INVALID_PARTITIONS"),
        (&["--topic", "a", "--replicas", "2"], 1, "INVALID_REPLICATION_FACTOR"),
        (&["--fault", "fetch: explode"], 2, "`explode` is not an action"),
        (&["--fault", "metadata v0-12: error REBOOTSTRAP_REQUIRED"], 1, "have no field for REBOOTSTRAP_REQUIRED"),
        (&["--nodes", "0"], 2, "--nodes"),
        (&["--seed", "no/such/file"], 1, "no/such/file: "),
        (&["--seed", no_topic.to_str().unwrap()], 1, "no-topic.jsonl, line 2: the record has no `topic`"),
        (&["--seed", no_json.to_str().unwrap()], 1, "no-json.jsonl, line 1: this is not a JSON object"),
    ] {
        let outcome = milena(&[&["broker", "--port", "0"], args].concat(), b"");
        assert_eq!((outcome.code, &*outcome.stdout), (code, ""), "{args:?}");
        assert!(outcome.stderr.contains(why), "{args:?}: {}", outcome.stderr);
    }
}

#[test]
fn what_was_acknowledged_survives_a_kill() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("data-dir");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    let folder = folder.to_str().unwrap();
    let mut wanted = String::new();
    for round in 0..3 {
        // It is killed when it is dropped.
        let broker = Broker::start_with(&["--port", "0", "--data-dir", folder, "--topic", "letters"]);
        assert_eq!(broker.call(&["consume", "letters"], ""), wanted);
        for record in 0..5 {
            let line = format!("{round}-{record}\n");
            broker.call(&["produce", "letters"], &line);
            wanted.push_str(&line);
        }
    }
    let verified = milena(&["decode", "--verify", folder], b"");
    assert_eq!(verified.code, 0, "{}\n{}", verified.stdout, verified.stderr);
}
