//! Brokers and taps of this binary, for tests that talk to them.
#![allow(clippy::unwrap_used, reason = "helper of tests")]
#![allow(dead_code, reason = "no test file uses all of it")]

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use crate::common::{Outcome, milena};

/// A process of this binary, until the end of a test.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(args: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_milena"));
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// `milena broker` at a free port, or something in front of one.
pub(crate) struct Broker {
    _processes: Vec<Running>,
    pub(crate) bootstrap: String,
}

impl Broker {
    pub(crate) fn start() -> Self {
        Self::start_with(&["--port", "0"])
    }

    /// With options of `milena broker`.
    pub(crate) fn start_with(args: &[&str]) -> Self {
        let mut process = Running::start(&[&["broker"], args].concat());
        let mut line = String::new();
        BufReader::new(process.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { _processes: vec![process], bootstrap: line.trim().to_owned() }
    }

    /// A tap in front of this broker, at an address of this test's choice.
    pub(crate) fn tapped(&self, listen: &str, args: &[&str]) -> Self {
        let args = [&["tap", "-b", &self.bootstrap, "--listen", listen, "--for", "60s"], args].concat();
        let mut tap = Running::start(&args);
        let mut stderr = BufReader::new(tap.0.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let address = line.strip_prefix("listening at ").and_then(|line| line.split(',').next());
        let bootstrap = address.unwrap_or_else(|| panic!("no tap: {line}")).to_owned();
        // Nobody reads these, and a full pipe must not hold up the tap.
        let stdout = BufReader::new(tap.0.stdout.take().unwrap());
        std::thread::spawn(move || stdout.lines().for_each(drop));
        std::thread::spawn(move || stderr.lines().for_each(drop));
        Self { _processes: vec![tap], bootstrap }
    }

    /// A call that must succeed; its stdout.
    pub(crate) fn call(&self, args: &[&str], stdin: &str) -> String {
        let outcome = self.outcome(args, stdin);
        assert_eq!(outcome.code, 0, "{args:?}: {}", outcome.stderr);
        outcome.stdout
    }

    pub(crate) fn outcome(&self, args: &[&str], stdin: &str) -> Outcome {
        let mut args = args.to_vec();
        args.extend(["--bootstrap", &self.bootstrap]);
        milena(&args, stdin.as_bytes())
    }
}

/// An address at which nothing listens now.
pub(crate) fn free_address() -> String {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string()
}
