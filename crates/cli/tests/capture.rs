//! `milena decode` of captures of a network.

mod common;

use common::milena;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../inspect/tests/capture/kafka/kafka-0.10.2.pcap");

fn bytes() -> Vec<u8> {
    std::fs::read(FILE).expect("the capture")
}

#[test]
fn a_capture_is_seen_for_what_it_is_and_shown_line_by_line() {
    let shown = milena(&["decode", FILE], b"");
    assert_eq!((shown.code, shown.stderr.as_str()), (0, ""));
    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert!(lines[0].starts_with("TIME "));
    // tshark counts 76 requests.
    assert_eq!(lines.iter().skip(1).take_while(|line| !line.is_empty()).count(), 76);
    assert!(lines.contains(&"331 packets in 14 connections: 14 Kafka, 0 other"));
    assert!(lines.contains(&"python-writer  (kafka-python 3.0.12)  at 127.0.0.1"));
    assert!(lines.contains(&"  removed     Produce v2 in Kafka 4.0"));
    // The same from a pipe.
    assert_eq!(milena(&["decode"], &bytes()).stdout, shown.stdout);
    assert_eq!(milena(&["decode", "-"], &bytes()).stdout, shown.stdout);
    let summary = milena(&["decode", FILE, "--summary"], b"");
    assert_eq!(summary.stdout.lines().next(), Some("331 packets in 14 connections: 14 Kafka, 0 other"));
}

#[test]
fn json_lines_hold_all_that_was_said() {
    let shown = milena(&["decode", FILE, "--json"], b"");
    assert_eq!(shown.code, 0);
    let lines = shown.stdout.lines().map(|line| serde_json::from_str(line).expect(line));
    let lines: Vec<serde_json::Value> = lines.collect();
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).count();
    assert_eq!((of("exchange"), of("connection"), of("gap")), (76, 14, 0));
    let produce = lines.iter().find(|line| line["api"] == "Produce" && line["clientId"] == "python-writer");
    let body = &produce.expect("a Produce")["request"]["body"];
    assert_eq!(body["topicData"][0]["name"], "postcards");
    assert!(body["topicData"][0]["partitionData"][0]["records"].is_string());
}

#[test]
fn records_are_shown_on_request() {
    let shown = milena(&["decode", FILE, "--records"], b"");
    // 60 letters and 40 postcards, each written and read.
    assert_eq!(shown.stdout.lines().filter(|line| line.contains(" = \"Dear Milena, letter ")).count(), 120);
    assert_eq!(shown.stdout.lines().filter(|line| line.contains(" = \"Greetings from Prague ")).count(), 80);
    let told = milena(&["decode", FILE, "--as", "capture", "--records"], b"");
    assert_eq!((told.code, told.stdout), (0, shown.stdout));
    let other = milena(&["decode", FILE, "--as", "trace", "--records"], b"");
    assert_eq!(other.code, 2, "{}", other.stderr);
}

#[test]
fn what_is_missing_makes_a_failure_and_what_is_cut_off_a_note() {
    let whole = bytes();
    let cut = milena(&["decode"], &whole[..whole.len() - 5]);
    assert_eq!(cut.code, 0);
    assert!(cut.stderr.contains("note: stdin ends inside of a packet"));
    let damaged = [&whole[..], &[0xff; 40]].concat();
    let damaged = milena(&["decode"], &damaged);
    assert_eq!(damaged.code, 1);
    assert!(damaged.stderr.contains(&format!("damaged at byte {}", whole.len())), "{}", damaged.stderr);
    assert!(damaged.stdout.contains("python-writer"), "what was before the damage shows");
}

#[test]
fn wrong_calls_are_told() {
    for args in
        [&["decode", FILE, "--annotate"][..], &["decode", "--port", "9092", "0012"], &["decode", FILE, "--port", "x"]]
    {
        assert_eq!(milena(args, b"").code, 2, "{args:?}");
    }
    assert_eq!(milena(&["decode", "--as", "capture"], b"no capture").code, 1);
}
