//! Commands that need no network, as a user sees them.

mod common;

use std::io::Read as _;
use std::process::{Command, Stdio};

use common::milena;

#[test]
fn a_frame_survives_decode_and_encode() {
    let json = r#"{"header": {"clientId": "rune"}, "body": {"topics": [{"name": "letters"}]}}"#;
    let args = ["encode", "--request", "--api", "Metadata", "--version", "12", "--correlation-id", "7"];
    let encoded = milena(&args, json.as_bytes());
    assert_eq!(encoded.code, 0, "{}", encoded.stderr);

    let decoded = milena(&["decode", "--request"], encoded.stdout.as_bytes());
    assert_eq!((decoded.code, decoded.stderr.as_str()), (0, ""));
    assert!(decoded.stdout.contains("\"letters\""));
    for format in ["hex", "base64", "raw", "dump"] {
        let again = milena(&["encode", "--request", "--as", format], decoded.stdout.as_bytes());
        // Raw bytes are not text; what they lose as such shows in the next line only if they are not recognized.
        if format != "raw" {
            let back = milena(&["decode", "--request"], again.stdout.as_bytes());
            assert_eq!(back.stdout, decoded.stdout, "{format}: {}", back.stderr);
        }
    }
}

#[test]
fn annotations_cover_every_byte() {
    let hex = "0000001a 0012 0003 00000001 0004 72756e65 00 05 72757374 02 31 00";
    let outcome = milena(&["decode", "--request", "--annotate", hex], b"");
    assert_eq!(outcome.code, 0);
    assert_eq!(outcome.stderr, "note: the size field of the frame says 26 bytes, but 23 follow\n");

    let hex = "00000017 0012 0003 00000001 0004 72756e65 00 05 72757374 02 31 00";
    let outcome = milena(&["decode", "--request", "--annotate", hex], b"");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert!(outcome.stdout.contains("18 ApiVersions"), "{}", outcome.stdout);
    let mut at = 0;
    for line in outcome.stdout.lines().skip(1).filter(|line| !line.contains(" version ")) {
        let (start, end) = line.split_whitespace().next().unwrap().split_once("..").unwrap();
        assert_eq!(start.parse::<usize>().unwrap(), at, "{}", outcome.stdout);
        at = end.parse().unwrap();
    }
    assert_eq!(at, 27);
}

#[test]
fn what_cannot_be_read_shows_up_to_there() {
    let args = ["decode", "-m", "MetadataRequest", "--version", "0", "--annotate", "00000002 0002 6161 0005"];
    let outcome = milena(&args, b"");
    assert_eq!(outcome.code, 1);
    assert!(outcome.stdout.contains("\"aa\"") && outcome.stdout.contains("<-- cannot be read"), "{}", outcome.stdout);
    assert!(outcome.stderr.starts_with("error: "), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("MetadataRequest.topics[1].name"), "{}", outcome.stderr);
    assert!(outcome.stderr.contains("at byte"), "{}", outcome.stderr);
}

#[test]
fn bytes_after_a_message_are_named_and_do_no_harm() {
    let outcome = milena(&["decode", "-m", "HeartbeatResponse", "--version", "0", "001b beef"], b"");
    assert_eq!((outcome.code, outcome.stderr.lines().count()), (0, 1));
    assert!(outcome.stderr.starts_with("note: 2 bytes left over") && outcome.stderr.contains("beef"));
}

#[test]
fn wrong_calls_end_with_2_and_name_what_there_is() {
    let cases: [(&[&str], &str); 6] = [
        (&["describe", "FetchReqest"], "FetchRequest"),
        (&["describe", "Fech"], "Fetch"),
        (&["describe", "FetchRequest", "--version", "19"], "0-18"),
        (&["decode", "-m", "FetchRequest", "--version", "19", "00"], "0-18"),
        (&["decode", "--response", "00"], "--api"),
        (&["apis", "Metadat"], "Metadata"),
    ];
    for (args, expected) in cases {
        let outcome = milena(args, b"");
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{args:?}");
        assert!(outcome.stderr.starts_with("error: ") && outcome.stderr.contains(expected), "{}", outcome.stderr);
    }
}

#[test]
fn an_example_is_a_frame_that_decode_reads() {
    let outcome = milena(&["describe", "MetadataRequest", "--version", "12", "--example", "--json"], b"");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let example: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let decoded = milena(&["decode", "--request", example["hex"].as_str().unwrap()], b"");
    assert_eq!((decoded.code, decoded.stderr.as_str()), (0, ""));
    assert!(decoded.stdout.contains("\"letters\""), "{}", decoded.stdout);
}

#[test]
fn an_error_code_is_found_by_number_and_by_any_of_its_names() {
    for name in ["6", "not_leader_or_follower", "NOT_LEADER_FOR_PARTITION"] {
        let outcome = milena(&["errors", name], b"");
        assert_eq!((outcome.code, outcome.stdout.lines().count()), (0, 2), "{name}");
        assert!(outcome.stdout.contains(" 6  NOT_LEADER_OR_FOLLOWER"), "{}", outcome.stdout);
    }
    let outcome = milena(&["errors", "OFSET_OUT_OF_RANGE"], b"");
    assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""));
    assert!(outcome.stderr.contains("OFFSET_OUT_OF_RANGE"), "{}", outcome.stderr);
}

#[test]
fn lists_are_whole() {
    let count = |args: &[&str]| milena(args, b"").stdout.lines().count();
    assert_eq!(count(&["apis"]), 1 + 95);
    assert_eq!(count(&["errors"]), 1 + 138);
    for args in [&["apis", "--json"][..], &["errors", "--json"], &["describe", "Fetch", "--json"]] {
        let outcome = milena(args, b"");
        let json: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert!(json.as_array().unwrap().len() >= 2);
    }
}

#[test]
fn pages_and_completions_are_there() {
    let page = milena(&["man", "decode"], b"");
    assert!(page.stdout.contains(".TH milena-decode 1"), "{}", page.stdout);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        assert!(milena(&["completions", shell], b"").stdout.contains("describe"));
    }
    assert_eq!(milena(&["man", "nothing"], b"").code, 2);
}

#[test]
fn a_closed_stdout_ends_a_command_silently() {
    for args in [&["describe", "Fetch"][..], &["codec"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_milena"))
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let mut questions = child.stdin.take().unwrap();
        std::io::Write::write_all(&mut questions, b"{}\n{}\n").ok();
        drop(questions);
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!((stderr.as_str(), child.wait().unwrap().code()), ("", Some(0)), "{args:?}");
    }
}

#[test]
fn the_reference_goes_into_a_new_folder_and_spares_the_files_of_others() {
    let root = std::env::temp_dir().join(format!("milena-docs-{}", std::process::id()));
    let out = root.join("reference");
    let path = out.to_str().unwrap();
    let first = milena(&["docs", "--out", path], b"");
    assert_eq!((first.code, first.stdout.as_str()), (0, ""), "{}", first.stderr);
    assert!(first.stderr.contains("index.html"), "{}", first.stderr);
    let page = std::fs::read(out.join("api-fetch.html")).unwrap();
    assert_eq!(milena(&["docs", "--out", path], b"").code, 0);
    assert_eq!(std::fs::read(out.join("api-fetch.html")).unwrap(), page);

    let other = root.join("other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("index.html"), "mine").unwrap();
    let path = other.to_str().unwrap();
    let refused = milena(&["docs", "--out", path], b"");
    assert_eq!((refused.code, refused.stdout.as_str()), (2, ""));
    assert!(refused.stderr.contains("--force"), "{}", refused.stderr);
    assert_eq!(std::fs::read(other.join("index.html")).unwrap(), b"mine");
    assert_eq!(milena(&["docs", "--out", path, "--force"], b"").code, 0);

    let file = root.join("file");
    std::fs::write(&file, "").unwrap();
    assert_eq!(milena(&["docs", "--out", file.to_str().unwrap()], b"").code, 2);
    std::fs::remove_dir_all(&root).unwrap();
}
