//! `milena decode` as somebody sees it who only has bytes, and `encode` as its inverse.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::path::PathBuf;

use common::milena;
use serde_json::{Value, json};

/// ApiVersions version 0 of the client "rune", and a response without APIs.
const BOTH: &str = "0000000e 0012 0000 00000001 0004 72756e65  0000000a 00000001 0000 00000000";

/// A file of its own for a test.
fn file(name: &str, bytes: &[u8]) -> String {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

fn documents(text: &str) -> Vec<Value> {
    serde_json::Deserializer::from_str(text).into_iter().map(Result::unwrap).collect()
}

#[test]
fn bytes_say_what_they_are() {
    let outcome = milena(&["decode", BOTH], b"");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let titles: Vec<&str> = outcome.stdout.lines().filter(|line| line.starts_with(['→', '←'])).collect();
    assert_eq!(titles, ["→ ApiVersions v0  #1  \"rune\"  bytes 0..18", "← ApiVersions v0  #1  \"rune\"  bytes 18..32"]);
    assert!(outcome.stdout.contains("28..32  00 00 00 00    apiKeys"), "{}", outcome.stdout);

    let assignment = "0001 00000001 0001 74 00000002 00000000 00000002 ffffffff";
    let outcome = milena(&["decode", assignment], b"");
    assert!(outcome.stdout.starts_with("ConsumerProtocolAssignment version 1"), "{}", outcome.stdout);

    for text in ["b'\\x00\\x00\\x00\\n\\x00\\x12\\x00\\x00\\x00\\x00\\x00\\x01\\xff\\xff'", "AAAACgASAAAAAAAB//8="] {
        assert!(milena(&["decode", text], b"").stdout.starts_with("→ ApiVersions v0  #1  bytes 0..14"), "{text}");
    }
}

#[test]
fn encode_is_the_inverse_whatever_was_understood() {
    let plain = |hex: &str| hex.split_whitespace().collect::<String>();
    let frames = [
        BOTH.to_owned(),
        // Bytes after the message, unknown tags, an unknown key, a version of the future, a client id of Latin-1.
        "00000010 0012 0000 00000001 0004 72756e65 beef".to_owned(),
        "00000018 0012 0003 00000001 0004 72756e65 01 9401 01 ff 02 61 02 62 00".to_owned(),
        "00000011 2710 0005 00000009 0003 666f6f 11223344".to_owned(),
        "00000011 0001 0400 00000009 ffff 00 00 00000000 00".to_owned(),
        "0000000e 0012 0000 00000001 0004 72fc6e65".to_owned(),
    ];
    for frame in frames {
        for format in ["--json", "--compact"] {
            let decoded = milena(&["decode", "--as", "frames", format, &frame], b"");
            let encoded = milena(&["encode"], decoded.stdout.as_bytes());
            assert_eq!(plain(&encoded.stdout), plain(&frame), "{} {}", decoded.stdout, encoded.stderr);
        }
    }
    let blob = "0001 00000001 0001 74 00000000 ffffffff 99";
    let decoded = milena(&["decode", "--blob", "assignment", "--json", blob], b"");
    assert_eq!(plain(&milena(&["encode"], decoded.stdout.as_bytes()).stdout), plain(blob));
    let batch = "0000000000000000 0000004c 00000000 02 e9336efb 0000 00000002 000001a22bc9b40b 000001a22bc9b40b \
        ffffffffffffffff ffff ffffffff 00000003 100000000104763000 100000020104763100 100000040104763200";
    let decoded = milena(&["decode", "--json", batch], b"");
    let encoded = milena(&["encode", "--records"], decoded.stdout.as_bytes());
    assert_eq!(plain(&encoded.stdout), plain(batch), "{}", encoded.stderr);
    assert_eq!(milena(&["encode", "{}"], b"").code, 2);
}

#[test]
fn what_is_not_understood_shows_with_its_place_and_ends_with_1() {
    let unknown = "00000011 2710 0005 00000009 0003 666f6f 11223344";
    let outcome = milena(&["decode", "--as", "frames", unknown, BOTH], b"");
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.contains("00000004: 2710 0005 0000 0009"), "{}", outcome.stdout);
    assert!(outcome.stdout.contains("→ ApiVersions v0"), "reading goes on");
    assert!(outcome.stderr.contains("1 of 3 frames are not understood"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("API key 10000, which no release has"), "{}", outcome.stderr);

    let outcome = milena(&["decode", "00"], b"");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""));
    assert!(
        outcome.stderr.contains("cannot tell what these bytes are")
            && outcome.stderr.contains("hint: name their kind with --as")
    );
}

#[test]
fn other_protocols_in_place_of_kafka_are_named() {
    let cases: [(&[u8], &str, &str); 5] = [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "TLS handshake", "turn TLS on"),
        (b"\x15\x03\x03\x00\x02\x02\x50", "TLS alert", "turn TLS on"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP", "1213486160"),
        (b"GET / HTTP/1.1\r\nHost: kafka:9092\r\n\r\n", "HTTP", "1195725856"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "SSH", "SSH server"),
    ];
    for (bytes, name, hint) in cases {
        let outcome = milena(&["decode"], bytes);
        assert_eq!(outcome.code, 1);
        assert!(outcome.stderr.contains(name) && outcome.stderr.contains(hint), "{}", outcome.stderr);
        let outcome = milena(&["decode", "--as", "frames", "--json"], bytes);
        assert!(documents(&outcome.stdout)[0]["foreign"].as_str().unwrap().contains(name));
    }
}

#[test]
fn a_response_alone_is_a_guess_and_says_so() {
    let metadata = "00000024 00000005 00000001 00000001 0005 6b61666b61 00002384 00000001 0000 0001 74 00000000";
    let outcome = milena(&["decode", "--json", metadata], b"");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let document = &documents(&outcome.stdout)[0];
    assert_eq!((&document["api"], &document["version"]), (&json!("Metadata"), &json!(0)));
    assert_eq!(document["guess"][0]["api"], "Metadata");
    assert!(
        outcome.stderr.starts_with("note: the request to this response is not here, so this is a guess: Metadata 0")
    );

    let told = milena(&["decode", "--response", "--api", "Metadata", "--version", "0", "--json", metadata], b"");
    assert_eq!(documents(&told.stdout)[0]["body"], document["body"]);
    assert_eq!(told.stderr, "");
}

#[test]
fn a_trace_is_read_with_who_asked_what() {
    let lines = [
        r#"{"time":"2024-05-01T12:30:59.250000Z","connection":1,"client":"10.0.0.7:52144","broker":"kafka:9092","direction":"request","api":"Heartbeat","frame":"AAwAAAAAAAf//wABZwAAAAMAAW0="}"#,
        r#"{"direction":"request","connection":2,"frame":"AAwAAAAAAAf//wABZwAAAAMAAW0="}"#,
        r#"{"time":"2024-05-01T12:30:59.253500Z","connection":1,"direction":"response","frame":"AAAABwAb"}"#,
    ];
    let trace = file("trace.jsonl", lines.join("\n").as_bytes());
    let outcome = milena(&["decode", "--compact", &trace], b"");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let frames = documents(&outcome.stdout);
    assert_eq!(frames.len(), 3);
    assert_eq!((&frames[1]["body"]["errorCode"], &frames[1]["latencyMicros"]), (&json!(27), &json!(3500)));
    assert_eq!(frames[2]["notes"], json!(["no response came"]));

    let outcome = milena(&["decode", &trace], b"");
    assert!(
        outcome.stdout.contains("← Heartbeat v0  #7  connection 1  10.0.0.7:52144 to kafka:9092"),
        "{}",
        outcome.stdout
    );
    let broken = file("broken.jsonl", [lines[0], "{\"direction\":\"request\",\"frame\":\"?\"}"].join("\n").as_bytes());
    let outcome = milena(&["decode", &broken], b"");
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("line 2: `frame` is not base64"), "{}", outcome.stderr);
}

#[test]
fn records_of_kafkas_own_topics() {
    let key = "0001 0001 67 0001 74 00000003";
    let value = "0003 000000000000002a 00000007 0002 6869 000001a22bc9b40b";
    let call = ["decode", "--as", "topic", "--topic", "__consumer_offsets", "--key", key, "--value", value];
    let outcome = milena(&call, b"");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert!(outcome.stdout.starts_with("OffsetCommit  key\n") && outcome.stdout.contains("\nOffsetCommit  value\n"));
    let outcome = milena(&[&call[..], &["--json"]].concat(), b"");
    assert_eq!(documents(&outcome.stdout)[0]["value"]["data"]["offset"], 42);

    let outcome = milena(&["decode", "--topic", "__consumer_offsets", "--key", key], b"");
    assert!(outcome.code == 0 && outcome.stdout.contains("deletion"), "{}", outcome.stdout);
    let outcome = milena(&["decode", "--topic", "__consumer_offsets", "--key", "0001 0001"], b"");
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.contains("00000000: 0001 0001") && outcome.stderr.contains("OffsetCommitKey.group"));
    for call in [
        &["decode", "--topic", "letters", "--key", "00"][..],
        &["decode", "--topic", "__consumer_offsets"],
        &["decode", "--as", "topic", "--key", "00"],
        &["decode", "--value", "00"],
    ] {
        assert_eq!(milena(call, b"").code, 2, "{call:?}");
    }
}

#[test]
fn null_records_of_a_fetch_are_not_empty_ones() {
    // Fetch version 4, one topic with two partitions: records null, and records of no bytes.
    let head = |index: &str| format!("{index} 0000 0000000000000007 0000000000000007 ffffffff");
    let frame =
        format!("00000000 00000001 0001 74 00000002 {} ffffffff {} 00000000", head("00000000"), head("00000001"));
    let outcome = milena(&["decode", "-m", "FetchResponse", "--version", "4", "--compact", &frame], b"");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let partitions = &documents(&outcome.stdout)[0]["responses"][0]["partitions"];
    assert_eq!((&partitions[0]["records"], &partitions[1]["records"]), (&Value::Null, &json!("")));
    let outcome = milena(&["decode", "-m", "FetchResponse", "--version", "4", "--annotate", &frame], b"");
    let records: Vec<&str> = outcome.stdout.lines().filter(|line| line.contains(" records? ")).collect();
    assert!(records[0].ends_with(" null") && records[1].ends_with(" 0 bytes"), "{records:?}");
}

#[test]
fn wrong_calls_end_with_2() {
    for call in [
        &["decode", "--as", "records", "--blob", "sticky", "00"][..],
        &["decode", "--as", "frames", "-m", "FetchRequest", "--version", "0", "00"],
        &["decode", "--api", "Fetch", "00"],
        &["decode", "--blob", "nothing", "00"],
        &["decode", "--as", "trace", "--request", "00"],
    ] {
        let outcome = milena(call, b"");
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{call:?}");
    }
    let outcome = milena(&["decode", "missing/file.bin"], b"");
    assert!(outcome.code == 1 && outcome.stderr.contains("there is no file "), "{}", outcome.stderr);
}

#[test]
fn secrets_are_hidden_from_eyes_and_kept_in_json() {
    // SaslHandshake version 0 and a bare token; SaslAuthenticate version 0; the same cut off inside of its token,
    // and with a length that is too large.
    let token = "006d696c656e6100687566665f68756666";
    let bare = format!("00000011 0011 0000 00000001 ffff 0005 504c41494e 00000011 {token}");
    let wrapped = format!("0000001f 0024 0000 00000002 ffff 00000011 {token}");
    let cut = format!("00000040 0024 0000 00000002 ffff 00000032 {token}");
    let broken = format!("0000001f 0024 0000 00000002 ffff 00000fff {token}");
    for (frames, code) in [(&bare, 1), (&wrapped, 0), (&cut, 1), (&broken, 1)] {
        let shown = milena(&["decode", frames], b"");
        assert_eq!(shown.code, code, "{}", shown.stderr);
        for leak in ["huff", "68 75 66", "6875 66", "7566 665f", "75 66 66"] {
            assert!(!shown.stdout.contains(leak), "{leak}: {}", shown.stdout);
            assert!(!shown.stderr.contains(leak), "{leak}: {}", shown.stderr);
        }
        assert!(shown.stderr.contains("--show-secrets"), "{}", shown.stderr);
        let told = milena(&["decode", frames, "--show-secrets"], b"");
        assert!(!told.stdout.contains("2a 2a") && !told.stderr.contains("asterisks"), "{}", told.stdout);
        let json = milena(&["decode", frames, "--json"], b"");
        let encoded = milena(&["encode"], json.stdout.as_bytes()).stdout;
        let plain = |hex: &str| hex.split_whitespace().collect::<String>();
        // The size of a frame that is cut off becomes that of what is there.
        assert_eq!(plain(&encoded)[8..], plain(frames)[8..], "{}", json.stdout);
    }
    // The value of a setting goes by its name.
    let setting = |name: &str| {
        let json = json!({ "resources": [{ "resourceType": 4, "resourceName": "1", "configs": [
            { "name": name, "configOperation": 0, "value": "hunter2" }]}]});
        let message = ["-m", "IncrementalAlterConfigsRequest", "--version", "1"];
        let hex = milena(&[&["encode"], &message[..]].concat(), json.to_string().as_bytes()).stdout;
        milena(&[&["decode", "--annotate"], &message[..]].concat(), hex.as_bytes()).stdout
    };
    assert!(setting("ssl.key.password").contains("\"*******\""));
    assert!(setting("log.cleanup.policy").contains("\"hunter2\""));
}

#[test]
fn a_frame_whose_size_disagrees_is_cut_off_and_no_guess() {
    // ApiVersions 0 of client "rune", without its last two bytes; and with sizes that name other APIs as requests.
    for size in ["0000000d", "0000000e", "00000012", "00000030"] {
        let read = milena(&["decode", &format!("{size} 0012 0000 00000001 0004 7275")], b"");
        assert_eq!(read.code, 1, "{size}: {}", read.stdout);
        assert!(read.stdout.contains("ApiVersions v0") && !read.stdout.contains("guess"), "{size}: {}", read.stdout);
        assert!(read.stderr.contains("12 follow"), "{}", read.stderr);
    }
    // Every cut of a frame with its size is an error, however the rest may be read.
    let whole = "0000001b 000c 0000 00000007 ffff 0007 72656164657273 00000003 0002 6d31".replace(' ', "");
    for cut in (10..whole.len()).step_by(2) {
        let read = milena(&["decode", &whole[..cut]], b"");
        assert_eq!(read.code, 1, "{}: {}", &whole[..cut], read.stdout);
    }
    let response = "0000000c 00000007 0011223344556677".replace(' ', "");
    for cut in (10..response.len() - 2).step_by(2) {
        assert_eq!(milena(&["decode", &response[..cut]], b"").code, 1, "{}", &response[..cut]);
    }
}

#[test]
fn bytes_without_meaning_have_none() {
    for bytes in ["deadbeef", "0000002a", "ffffffff"] {
        let read = milena(&["decode", bytes], b"");
        assert_eq!(read.code, 1, "{bytes}: {}", read.stdout);
        assert!(!read.stdout.contains("CooperativeSticky"), "{bytes}: {}", read.stdout);
    }
    // Who knows better can say so.
    let read = milena(&["decode", "--blob", "cooperative-sticky", "0000002a"], b"");
    assert!(read.code == 0 && read.stdout.contains("42"), "{}", read.stdout);
}

#[test]
fn a_blob_that_ends_early_shows_its_fields_and_names_the_missing_one() {
    let blob = "0001 00000001 0006 6f7264657273 00000000";
    for args in [&["decode", blob][..], &["decode", "--blob", "subscription", blob]] {
        let read = milena(args, b"");
        assert_eq!(read.code, 1, "{}", read.stdout);
        assert!(read.stdout.contains("\"orders\"") && read.stdout.contains("<-- cannot be read"), "{}", read.stdout);
        let missing = "ConsumerProtocolSubscription.ownedPartitions: 4 bytes expected, 0 left (at byte 18)";
        assert!(read.stderr.contains(missing), "{}", read.stderr);
    }
    let read = milena(&["decode", "--json", blob], b"");
    let json: serde_json::Value = serde_json::from_str(&read.stdout).expect("JSON");
    assert_eq!((read.code, &json["kind"], &json["version"]), (1, &"subscription".into(), &1.into()));
    assert!(json["error"].as_str().is_some_and(|error| error.contains("ownedPartitions")));
}

#[test]
fn an_unknown_api_is_shown_with_its_key_and_client() {
    let trace = r#"{"direction":"request","frame":"JxAAAgAAAAcAA2Zvbw=="}"#;
    for input in [trace.as_bytes(), b"\0\0\0\x0d\x27\x10\0\x02\0\0\0\x07\0\x03foo"] {
        let read = milena(&["decode", "--request"], input);
        let read = if input == trace.as_bytes() { milena(&["decode"], input) } else { read };
        assert_eq!(read.code, 1);
        for part in ["10000", "\"foo\"", "7"] {
            assert!(read.stdout.contains(part), "{part} in {}", read.stdout);
        }
        assert!(!read.stdout.contains("SASL"), "{}", read.stdout);
    }
}

#[test]
fn nothing_is_cut_where_no_terminal_is() {
    // CreateTopics 0 of a topic with a long name.
    let name = "milena".repeat(41);
    let hex: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
    let size = format!("{:04x}", name.len());
    let request = format!("0013 0000 00000001 ffff 00000001 {size} {hex} 00000001 0001 00000000 00000000 000003e8");
    let read = milena(&["decode", &request], b"");
    assert_eq!(read.code, 0, "{}", read.stderr);
    assert!(read.stdout.contains(&format!("\"{name}\"")), "{}", read.stdout);
    // SyncGroup 0 with an assignment that is no text: all of it is there.
    let bytes = "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0".repeat(3);
    let request = format!("000e 0000 00000001 ffff 0001 67 00000001 0001 6d 00000001 0001 6d 00000030 {bytes}");
    let read = milena(&["decode", &request], b"");
    assert_eq!(read.code, 0, "{}", read.stderr);
    assert!(read.stdout.contains(&format!("48 bytes, 0x{bytes}")), "{}", read.stdout);
}
