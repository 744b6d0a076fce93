//! Commands that talk to a broker: the one of this binary, and peers that are none.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Outcome, milena};

/// `milena broker` at a free port, until the end of a test.
struct Broker {
    child: Child,
    bootstrap: String,
}

impl Broker {
    fn start() -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_milena"))
            .args(["broker", "--port", "0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, bootstrap: line.trim().to_owned() }
    }

    /// A call that has to go well.
    fn call(&self, args: &[&str], stdin: &str) -> String {
        let outcome = self.outcome(args, stdin);
        assert_eq!(outcome.code, 0, "{args:?}: {}", outcome.stderr);
        outcome.stdout
    }

    fn outcome(&self, args: &[&str], stdin: &str) -> Outcome {
        let mut args = args.to_vec();
        args.extend(["--bootstrap", &self.bootstrap]);
        milena(&args, stdin.as_bytes())
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn records_come_back_as_they_went() {
    let broker = Broker::start();
    broker.call(&["topics", "create", "letters", "copies", "--partitions", "2"], "");
    let lines = [
        r#"{"partition":0,"timestamp":7,"key":"k","value":null,"headers":[{"key":"h","value":"1"},{"key":"h","value":null}]}"#,
        r#"{"partition":1,"timestamp":8,"key":"","valueBase64":"//79","headers":[]}"#,
    ];
    broker.call(&["produce", "--topic", "letters", "--input", "json", "--codec", "lz4"], &lines.join("\n"));
    let read = broker.call(&["consume", "--topic", "letters", "--json"], "");
    broker.call(&["produce", "--topic", "copies", "--input", "json"], &read);
    let copied = broker.call(&["consume", "--topic", "copies", "--json"], "");
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
    broker.call(&["topics", "create", "letters"], "");
    let args = ["produce", "-t", "letters", "-k", ":", "--null", "", "-H", "lang=cs", "--batch", "2"];
    broker.call(&args, "a:1\nb:\nc\n");
    let format = ["consume", "-t", "letters", "--format", "{offset} {key}={value} {headers}", "--null", "NULL"];
    assert_eq!(broker.call(&format, ""), "0 a=1 lang=cs\n1 b=NULL lang=cs\n2 NULL=c lang=cs\n");
}

#[test]
fn a_range_begins_and_ends_where_it_is_told() {
    let broker = Broker::start();
    broker.call(&["topics", "create", "letters"], "");
    let lines: String = (0..100).map(|number| format!("{number}\n")).collect();
    let batches = broker.call(&["produce", "-t", "letters", "--batch", "30", "--linger", "10s", "--json"], &lines);
    assert_eq!(batches.lines().count(), 4);
    let consume = |args: &[&str]| broker.call(&[&["consume", "-t", "letters"][..], args].concat(), "");
    assert_eq!(consume(&[]), lines);
    assert_eq!(consume(&["--from", "10", "--to", "12"]), "10\n11\n");
    assert_eq!(consume(&["--from", "-2"]), "98\n99\n");
    assert_eq!(consume(&["--from", "latest"]), "");
    assert_eq!(consume(&["--from", "2000-01-01", "--count", "1"]), "0\n");
    assert_eq!(consume(&["--to", "never", "--count", "3"]), "0\n1\n2\n");
    let offsets = broker.call(&["offsets", "-t", "letters"], "");
    assert_eq!(offsets.lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>(), ["0", "0", "100", "100"]);
}

#[test]
fn a_cluster_shows_what_it_has() {
    let broker = Broker::start();
    broker.call(&["topics", "create", "letters", "--partitions", "3"], "");
    assert!(broker.call(&["topics", "list"], "").contains("letters"));
    let metadata: serde_json::Value = serde_json::from_str(&broker.call(&["metadata", "--json"], "")).unwrap();
    assert_eq!(metadata["topics"][0]["partitions"].as_array().unwrap().len(), 3);
    assert!(broker.call(&["apis"], "").lines().any(|line| line.contains("Fetch") && line.ends_with("18")));

    let again = broker.outcome(&["topics", "create", "letters"], "");
    assert!(again.code == 1 && again.stderr.contains("TOPIC_ALREADY_EXISTS"), "{}", again.stderr);
    broker.call(&["topics", "delete", "letters"], "");
    let gone = broker.outcome(&["consume", "-t", "letters"], "");
    assert!(gone.code == 1 && gone.stderr.contains("UNKNOWN_TOPIC_OR_PARTITION"), "{}", gone.stderr);
    assert!(gone.stderr.contains("hint: "), "{}", gone.stderr);
}

#[test]
fn the_demo_has_no_tls_of_its_own_and_says_so() {
    for tls in [&["--tls"][..], &["--tls-no-verify"], &["--tls-name", "kafka"], &["--tls-ca", "ca.pem"]] {
        let outcome = milena(&[&["demo"], tls].concat(), b"");
        assert_eq!((outcome.code, outcome.stdout.as_str()), (2, ""), "{tls:?}");
        assert!(outcome.stderr.contains("--bootstrap"), "{}", outcome.stderr);
    }
}

#[test]
fn the_demo_ends_well_in_100_columns() {
    let outcome = milena(&["demo"], b"");
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    assert!(outcome.stdout.lines().last().unwrap().starts_with("Done. 5 records"), "{}", outcome.stdout);
    for expected in ["→ ApiVersions", "← Metadata", "→ CreateTopics", "→ Produce", "→ ListOffsets", "← Fetch", "gzip"]
    {
        assert!(outcome.stdout.contains(expected), "{expected}: {}", outcome.stdout);
    }
    for line in outcome.stdout.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    assert!(!outcome.stdout.contains('\x1b'), "colour without a terminal");

    let broker = Broker::start();
    let frames = broker.call(&["demo", "--json", "--codec", "zstd"], "");
    assert!(frames.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    assert_eq!(broker.call(&["topics", "list"], "").lines().count(), 1, "the topic is gone");
}

/// What a peer says to whoever connects, and then closes.
fn peer(says: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 256]);
            let _ = stream.write_all(says);
        }
    });
    address
}

#[test]
fn peers_that_are_no_brokers_are_named_in_one_line() {
    let cases: [(&[u8], &str); 4] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP"),
        (b"\x15\x03\x01\x00\x02\x02\x46", "TLS"),
        (b"SSH-2.0-OpenSSH_9.0\r\n", "SSH"),
        (b"", "closed"),
    ];
    for (says, expected) in cases {
        let outcome = milena(&["metadata", "--bootstrap", &peer(says), "--timeout", "5s"], b"");
        assert_eq!((outcome.code, outcome.stdout.as_str()), (1, ""), "{expected}");
        assert!(outcome.stderr.lines().next().unwrap().contains(expected), "{}", outcome.stderr);
        assert!(outcome.stderr.lines().count() <= 2, "{}", outcome.stderr);
    }
}

#[test]
fn nobody_waits_longer_than_told() {
    // Takes connections and says nothing.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent_address = silent.local_addr().unwrap().to_string();
    let closed = {
        let gone = TcpListener::bind("127.0.0.1:0").unwrap();
        gone.local_addr().unwrap().to_string()
    };
    for address in [&silent_address, &closed] {
        for command in [&["metadata"][..], &["topics", "list"], &["consume", "-t", "x"], &["demo"]] {
            let args = [command, &["--bootstrap", address, "--timeout", "300ms"]].concat();
            let started = Instant::now();
            let outcome = milena(&args, b"");
            assert!(started.elapsed() < Duration::from_secs(5), "{args:?}");
            assert_eq!(outcome.code, 1, "{args:?}");
            assert!(outcome.stderr.starts_with("error: ") && outcome.stderr.contains(address.as_str()), "{args:?}");
        }
    }
}
