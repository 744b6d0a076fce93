//! Commands that talk to a broker: the one of this binary, and peers that are not Kafka.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "common/broker.rs"]
mod broker;
mod common;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::{Duration, Instant};

use broker::Broker;
use common::milena;

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
fn an_address_that_the_cluster_advertises_is_not_blamed_on_bootstrap() {
    let (listens, closed) = (broker::free_address(), broker::free_address());
    let port = listens.rsplit(':').next().unwrap();
    let _broker = Broker::start_with(&["--port", port, "--advertise", &closed]);
    let outcome = milena(&["metadata", "--bootstrap", &listens], b"");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    let outcome = milena(&["topics", "create", "letters", "--timeout", "500ms", "--bootstrap", &listens], b"");
    assert_eq!(outcome.code, 1);
    let (error, hint) = outcome.stderr.split_once('\n').unwrap();
    assert!(error.contains(&format!("{closed}, the address that the cluster advertises for node 1")), "{error}");
    assert!(hint.starts_with("hint: ") && hint.contains("advertised.listeners"), "{hint}");
    assert!(!outcome.stderr.contains("--bootstrap"), "{}", outcome.stderr);
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

/// A peer that sends this on every connection, and then closes it.
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
fn no_command_waits_longer_than_its_timeout() {
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
            // Silence says nothing of the version.
            assert!(!outcome.stderr.contains("0.10"), "{args:?}: {}", outcome.stderr);
        }
    }
}
