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
fn wrong_arguments_are_reported() {
    for args in
        [&["decode", FILE, "--annotate"][..], &["decode", "--port", "9092", "0012"], &["decode", FILE, "--port", "x"]]
    {
        assert_eq!(milena(args, b"").code, 2, "{args:?}");
    }
    assert_eq!(milena(&["decode", "--as", "capture"], b"no capture").code, 1);
}

/// Compressed as `gzip` does it.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory takes it")
}

#[test]
fn a_capture_in_gzip_is_read_and_other_compressions_are_named() {
    let plain = milena(&["decode", FILE, "--json"], b"");
    let path = std::env::temp_dir().join(format!("milena-capture-{}.pcap.gz", std::process::id()));
    // Two members, as when two files were appended.
    let whole = bytes();
    std::fs::write(&path, [gzip(&whole[..5000]), gzip(&whole[5000..])].concat()).expect("a file");
    let name = path.to_str().expect("a name");
    let read = milena(&["decode", name, "--json"], b"");
    assert_eq!((read.code, &read.stdout), (0, &plain.stdout), "{}", read.stderr);
    let piped = milena(&["decode", "--json"], &gzip(&whole));
    assert_eq!((piped.code, &piped.stdout), (0, &plain.stdout), "{}", piped.stderr);
    // What is there of a file that is cut off is shown, and that there is more.
    let packed = gzip(&whole);
    let cut = milena(&["decode", "--json"], &packed[..packed.len() / 2]);
    assert_eq!(cut.code, 1);
    assert!(cut.stdout.contains("\"type\":\"exchange\"") && cut.stderr.contains("stdin"), "{}", cut.stderr);
    std::fs::remove_file(&path).expect("the file");
    for (magic, name) in [(&b"\xfd7zXZ\0"[..], "xz"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"BZh9", "bzip2")] {
        let refused = milena(&["decode"], &[magic, &[0x99; 40]].concat());
        assert_eq!(refused.code, 1);
        let text = refused.stderr;
        assert!(text.contains(&format!("compressed with {name}")) && text.contains("decompress it first"), "{text}");
    }
    let refused = milena(&["decode"], &gzip(b"something else"));
    assert!(refused.stderr.contains("compressed with gzip"), "{}", refused.stderr);
}

#[test]
fn a_capture_without_a_connection_says_why() {
    // Ethernet with a question to a name server.
    let mut file = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
    file.extend([2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0, 0]);
    let packet = [
        &[2; 12][..],
        &[8, 0, 0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2],
        &[0x80, 0, 0, 53, 0, 8, 0, 0],
    ]
    .concat();
    file.extend([0; 8]);
    file.extend((packet.len() as u32).to_le_bytes());
    file.extend((packet.len() as u32).to_le_bytes());
    file.extend(packet);
    let read = milena(&["decode"], &file);
    assert_eq!(read.code, 0);
    assert!(read.stdout.contains("1 packet in 0 connections"), "{}", read.stdout);
    assert!(read.stderr.contains("1 of 1 packets are without TCP: UDP"), "{}", read.stderr);
}

#[test]
fn a_port_selects() {
    let none = milena(&["decode", FILE, "--port", "1"], b"");
    assert_eq!(none.code, 0);
    assert!(none.stdout.contains("331 packets in 0 connections"), "{}", none.stdout);
    assert!(none.stderr.contains("331 of 331 packets belong to other ports"), "{}", none.stderr);
}
