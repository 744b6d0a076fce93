//! Foreign clients that log in, write a record, and read it back; and that are refused with a wrong password.

use std::io::Write;
use std::process::Command;
use std::time::Instant;

use super::stage::Stage;
use crate::command::{GO, succeeded};
use crate::error::{Context, Error, Result};
use crate::java::java_client;
use crate::place;
use crate::python::python_client;
use crate::suite::{Report, line};

/// A client, and how it is started.
pub(super) struct Program {
    name: &'static str,
    command: fn() -> Result<Command>,
    /// Whether it logs in again while it works (KIP-368).
    renews: bool,
}

pub(super) const PROGRAMS: &[Program] = &[
    Program { name: "kafka_python", command: || python("kafka-python"), renews: false },
    Program { name: "librdkafka", command: || python("librdkafka"), renews: true },
    Program { name: "java", command: || java_client("Login", "4.4.0"), renews: true },
    Program { name: "franz_go", command: go, renews: true },
];

fn python(client: &str) -> Result<Command> {
    let mut command = python_client("login.py")?;
    command.arg(client);
    Ok(command)
}

fn go() -> Result<Command> {
    let program = place::cache().join("login-franz");
    let mut build = GO.command();
    build.current_dir(place::root().join("interop/clients/go")).args(["build", "-o"]).arg(&program).arg("./login");
    GO.run(&mut build, "building the Go client")?;
    Ok(Command::new(program))
}

/// The protocols with their mechanisms and listeners.
const WAYS: [(&str, &str, &str); 9] = [
    ("SASL_PLAINTEXT", "PLAIN", "LOGIN"),
    ("SASL_PLAINTEXT", "SCRAM-SHA-256", "LOGIN"),
    ("SASL_PLAINTEXT", "OAUTHBEARER", "LOGIN"),
    ("SASL_SSL", "PLAIN", "LOGINTLS"),
    ("SASL_SSL", "SCRAM-SHA-256", "LOGINTLS"),
    ("SASL_SSL", "SCRAM-SHA-512", "LOGINTLS"),
    ("SASL_SSL", "OAUTHBEARER", "LOGINTLS"),
    ("SSL", "-", "TLS"),
    ("PLAINTEXT", "-", "PLAIN"),
];

impl Program {
    /// Lets the client log in to a broker in every way; a line for all of them.
    pub(super) async fn log_in(&self, stage: &Stage, filter: &str, output: &mut (dyn Write + Send)) -> Report {
        let mut report = Report::default();
        let name = format!("{}_logs_in_to_{}", self.name, stage.name);
        if !name.contains(filter) {
            return report;
        }
        let begun = Instant::now();
        match self.ways(stage).await {
            Err(error @ Error::Missing { .. }) => {
                let _ = writeln!(output, "login::{name} ... skipped: {error}");
            }
            outcome => {
                report.count(outcome.is_ok());
                line(output, &format!("login::{name}"), outcome.map_err(|error| error.to_string()), begun.elapsed());
            }
        }
        report
    }

    async fn ways(&self, stage: &Stage) -> Result<()> {
        let mut lines = Vec::new();
        for (protocol, mechanism, listener) in WAYS {
            let address = stage.address(listener)?;
            lines.push(format!("ok {address} {protocol} {mechanism} alice-secret 0"));
            if mechanism.starts_with("SCRAM") || mechanism == "PLAIN" {
                lines.push(format!("refused {address} {protocol} {mechanism} wrong 0"));
            }
        }
        if self.renews {
            lines.push(format!("ok {} SASL_PLAINTEXT PLAIN alice-secret 5", stage.address("REAUTH")?));
        }
        let mut command = (self.command)()?;
        command.arg(&stage.folder).args(lines);
        // Apart from the runtime, which runs the embedded broker.
        let output = tokio::task::spawn_blocking(move || command.output()).await;
        let output = output.map_err(|panic| Error::Other(panic.to_string()))?.doing("starting a client")?;
        succeeded(output, "a client that logs in").map(drop)
    }
}
