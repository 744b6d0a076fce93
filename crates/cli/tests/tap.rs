//! `milena tap` between the commands of this binary and its broker.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

use common::milena;
use serde_json::Value;

/// A process of this binary, until the end of a test.
struct Running(Child);

impl Running {
    fn start(args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_milena"));
        Self(command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn broker() -> (Running, String) {
    let mut broker = Running::start(&["broker", "--port", "0"]);
    let mut line = String::new();
    BufReader::new(broker.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (broker, line.trim().to_owned())
}

/// A tap, its address, and the rest of its stderr, which has to stay open.
fn tap(broker: &str, args: &[&str]) -> (Running, String, BufReader<ChildStderr>) {
    let mut tap = Running::start(&[&["tap", "-b", broker, "--listen", "127.0.0.1:0", "--for", "60s"], args].concat());
    let mut stderr = BufReader::new(tap.0.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let address = line.strip_prefix("listening at ").and_then(|line| line.split(',').next()).unwrap().to_owned();
    (tap, address, stderr)
}

fn finish(mut tap: Running) -> Output {
    let stdout = tap.0.stdout.take().unwrap();
    let lines: Vec<String> = BufReader::new(stdout).lines().map(Result::unwrap).collect();
    Output { status: tap.0.wait().unwrap(), stdout: lines.join("\n").into_bytes(), stderr: Vec::new() }
}

fn file(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("milena-tap-{}-{name}", std::process::id()))
}

#[test]
fn exchanges_are_shown_saved_and_summed_up_and_the_number_asked_for_ends_it() {
    let (_broker, bootstrap) = broker();
    let (trace, capture) = (file("a.jsonl"), file("a.pcapng"));
    let saves = ["--save", trace.to_str().unwrap(), "--save", capture.to_str().unwrap()];
    let (tap, address, _stderr) =
        tap(&bootstrap, &[&["--json", "--filter", "api=produce", "--count", "1", "--records"], &saves[..]].concat());
    assert_eq!(milena(&["topics", "create", "letters", "-b", &address], b"").code, 0);
    assert_eq!(milena(&["produce", "--topic", "letters", "-b", &address], b"Dear Milena\n").code, 0);
    let output = finish(tap);
    assert!(output.status.success());
    let lines: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2);
    assert_eq!((&lines[0]["api"], &lines[0]["topics"][0]), (&Value::from("Produce"), &Value::from("letters")));
    assert_eq!(lines[0]["records"][0]["value"], "Dear Milena");
    assert_eq!(lines[0]["response"]["body"]["responses"][0]["partitionResponses"][0]["errorCode"], 0);
    assert_eq!(lines[1]["clients"][0]["software"], concat!("milena ", env!("CARGO_PKG_VERSION")));

    // What was saved is all of it, and the other commands read it.
    let read = milena(&["decode", trace.to_str().unwrap()], b"");
    assert_eq!(read.code, 0, "{}", read.stderr);
    for api in ["ApiVersions", "CreateTopics", "Produce"] {
        assert!(read.stdout.contains(api), "{api} in {}", read.stdout);
    }
    let read = milena(&["decode", capture.to_str().unwrap(), "--records"], b"");
    assert_eq!(read.code, 0, "{}", read.stderr);
    for text in ["ApiVersions", "CreateTopics", "Produce", "Dear Milena"] {
        assert!(read.stdout.contains(text), "{text} in {}", read.stdout);
    }
    std::fs::remove_file(trace).unwrap();
    std::fs::remove_file(capture).unwrap();
}

#[test]
fn a_session_reads_the_same_from_the_tap_and_from_what_it_saved() {
    let (_broker, bootstrap) = broker();
    let capture = file("same.pcapng");
    let shared = ["--json", "--records"];
    let own = ["--save", capture.to_str().unwrap(), "--fault", "createtopics: delay 1ms", "--count", "16"];
    let (tap, address, _stderr) = tap(&bootstrap, &[&shared[..], &own].concat());
    assert_eq!(milena(&["topics", "create", "letters", "-b", &address], b"").code, 0);
    assert_eq!(milena(&["produce", "--topic", "letters", "-b", &address], b"Dear Milena\n").code, 0);
    while milena(&["topics", "list", "-b", &address], b"").code == 0 {}
    let told = String::from_utf8(finish(tap).stdout).unwrap();
    let read = milena(&[&["decode", capture.to_str().unwrap()], &shared[..]].concat(), b"");
    assert_eq!(read.code, 0, "{}", read.stderr);
    std::fs::remove_file(capture).unwrap();
    let exchanges = |lines: &str| -> Vec<Value> {
        let lines = lines.lines().map(|line| serde_json::from_str(line).unwrap());
        lines.filter(|line: &Value| line["type"] == "exchange").collect()
    };
    let (told, read) = (exchanges(&told), exchanges(&read.stdout));
    assert_eq!((told.len(), read.len()), (16, 16));
    for (mut told, mut read) in told.into_iter().zip(read) {
        // Packets do not say what was done on purpose. They have times to the microsecond.
        let fault = if told["api"] == "CreateTopics" { Value::from("delay 1ms") } else { Value::Null };
        assert_eq!((told["fault"].take(), read["fault"].take()), (fault, Value::Null));
        let micros = |json: &mut Value| json["latencyMicros"].take().as_u64().unwrap();
        assert!(micros(&mut told).abs_diff(micros(&mut read)) <= 1);
        assert_eq!(told, read);
    }
}

#[test]
fn what_is_saved_can_be_read_while_the_tap_runs() {
    let (_broker, bootstrap) = broker();
    let (trace, capture) = (file("live.jsonl"), file("live.pcapng"));
    let (mut tap, address, _stderr) =
        tap(&bootstrap, &["--save", trace.to_str().unwrap(), "--save", capture.to_str().unwrap()]);
    assert_eq!(milena(&["topics", "create", "letters", "-b", &address], b"").code, 0);
    let mut decoded = String::new();
    for path in [&trace, &capture] {
        loop {
            let read = milena(&["decode", path.to_str().unwrap()], b"").stdout;
            assert!(tap.0.try_wait().unwrap().is_none(), "nothing in the file before the end: {read}");
            if read.contains("CreateTopics") {
                decoded += &read;
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        std::fs::remove_file(path).unwrap();
    }
    assert!(decoded.contains("letters"), "{decoded}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_reported_and_the_traffic_goes_on() {
    let (_broker, bootstrap) = broker();
    let full = file("full.jsonl");
    std::os::unix::fs::symlink("/dev/full", &full).unwrap();
    let (tap, address, stderr) = tap(&bootstrap, &["--save", full.to_str().unwrap(), "--count", "4"]);
    let told = stderr.lines().map(Result::unwrap).filter(|line| line.contains("No space left"));
    let told = std::thread::scope(|scope| {
        let told = scope.spawn(|| told.collect::<Vec<_>>());
        while milena(&["topics", "list", "-b", &address], b"").code == 0 {}
        told.join().unwrap()
    });
    let output = finish(tap);
    std::fs::remove_file(full).unwrap();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().filter(|line| line.contains(" B ")).count(), 4, "{text}");
}

#[test]
fn a_fault_is_named_in_the_line_of_its_victim() {
    let (_broker, bootstrap) = broker();
    let (tap, address, _stderr) = tap(&bootstrap, &["--fault", "createtopics: error POLICY_VIOLATION", "--count", "3"]);
    let refused = milena(&["topics", "create", "letters", "-b", &address], b"");
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("POLICY_VIOLATION"), "{}", refused.stderr);
    let text = String::from_utf8(finish(tap).stdout).unwrap();
    let line = text.lines().find(|line| line.contains("CreateTopics v7")).expect(&text);
    assert!(line.ends_with("letters  POLICY_VIOLATION  (fault: error POLICY_VIOLATION)"), "{line}");
    assert!(text.starts_with("TIME "), "{text}");
    assert!(text.contains("CreateTopics v7      1"), "{text}");
}

#[test]
fn a_wrong_call_is_said_to_be_one() {
    for (args, why) in [
        (&["tap", "--fault", "fetch: explode"][..], "is not an action"),
        (&["tap", "--fault", "fetch: error NONE"], "means success"),
        (&["tap", "--fault", "fetch v99: drop"], "Fetch has versions 0-18"),
        (&["tap", "--filter", "error=NONE"], "matches nothing"),
        (&["tap", "--cap", "produce"], "API=VERSION"),
        (&["tap", "--filter", "size=3"], "is not a filter"),
        (&["tap", "--save", "a.txt"], ".jsonl or .pcapng"),
        (&["tap", "--listen", "nowhere"], "the port is missing"),
        (&["tap", "--tls-cert", "a.pem"], "--tls-key"),
    ] {
        let outcome = milena(args, b"");
        assert_eq!(outcome.code, 2, "{args:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains(why), "{args:?}: {}", outcome.stderr);
    }
    let outcome = milena(&["tap", "--tls-ca", "/nowhere/ca.pem"], b"");
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("/nowhere/ca.pem"), "{}", outcome.stderr);
}

/// What the process wrote to stderr up to its end, and its exit code.
fn ending(mut tap: Running, mut stderr: BufReader<ChildStderr>) -> (String, Option<i32>) {
    let mut text = String::new();
    std::io::Read::read_to_string(&mut stderr, &mut text).unwrap();
    (text, tap.0.wait().unwrap().code())
}

#[test]
fn a_dead_bootstrap_and_a_tap_that_reaches_itself_are_noticed_at_once() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let outcome = milena(&["tap", "-b", &free.to_string(), "--listen", "127.0.0.1:0", "--for", "1ms"], b"");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    assert!(outcome.stderr.contains(&format!("warning: cannot connect to {free}: ")), "{}", outcome.stderr);
    let outcome = milena(&["tap", "-b", &free.to_string(), "--listen", &free.to_string(), "--for", "60s"], b"");
    assert_eq!(outcome.code, 1);
    assert!(outcome.stderr.contains("is where this tap listens"), "{}", outcome.stderr);
}

#[test]
fn rules_that_never_fired_are_named_at_the_end() {
    let (_broker, bootstrap) = broker();
    let (tap, address, stderr) = tap(
        &bootstrap,
        &[
            "--fault",
            "fetch client=app*: cut",
            "--fault",
            "apiversions@9: drop",
            "--fault",
            "*: delay 1ms",
            "--count",
            "2",
        ],
    );
    assert_eq!(milena(&["metadata", "-b", &address], b"").code, 0);
    let (text, code) = ending(tap, stderr);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("note: fault `fetch client=app*: cut` never fired: no request matched it"), "{text}");
    assert!(text.contains("note: fault `apiversions@9: drop` never fired: 1 request matched it"), "{text}");
    assert_eq!(text.matches("never fired").count(), 2, "{text}");
}

/// The requests and responses in a file of frames.
fn frames(path: &std::path::Path) -> usize {
    std::fs::read_to_string(path).unwrap().lines().count()
}

#[test]
fn a_stdout_that_nobody_reads_stops_neither_clients_nor_files() {
    let (_broker, bootstrap) = broker();
    let trace = file("blocked.jsonl");
    // Each description of these partitions is more than a pipe holds.
    assert_eq!(milena(&["topics", "create", "letters", "--partitions", "1000", "-b", &bootstrap], b"").code, 0);
    let (tap, address, stderr) = tap(&bootstrap, &["--json", "--save", trace.to_str().unwrap(), "--count", "8"]);
    for _ in 0..4 {
        assert_eq!(milena(&["metadata", "-b", &address], b"").code, 0);
    }
    let (text, code) = ending(tap, stderr);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("nobody reads stdout: "), "{text}");
    assert_eq!(frames(&trace), 16);
    std::fs::remove_file(trace).unwrap();
}

#[test]
#[cfg(target_os = "linux")]
fn a_stdout_that_is_full_stops_neither_clients_nor_files() {
    let (_broker, bootstrap) = broker();
    let trace = file("full.jsonl");
    let mut command = Command::new(env!("CARGO_BIN_EXE_milena"));
    command.args(["tap", "-b", &bootstrap, "--listen", "127.0.0.1:0", "--for", "60s", "--count", "4", "--save"]);
    command.arg(&trace).stderr(Stdio::piped());
    command.stdout(std::fs::File::options().write(true).open("/dev/full").unwrap());
    let mut tap = Running(command.spawn().unwrap());
    let mut stderr = BufReader::new(tap.0.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    let address = line.strip_prefix("listening at ").and_then(|line| line.split(',').next()).unwrap().to_owned();
    for _ in 0..2 {
        assert_eq!(milena(&["metadata", "-b", &address], b"").code, 0);
    }
    let (text, code) = ending(tap, stderr);
    assert_eq!(code, Some(1), "{text}");
    assert!(text.contains("cannot write to stdout: No space left on device"), "{text}");
    assert_eq!(frames(&trace), 8);
    std::fs::remove_file(trace).unwrap();
}
