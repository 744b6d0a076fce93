//! Kafka's command line tools, against Apache Kafka and milena's broker: both have to print the same.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::{Results, SuitesConfig, Verdict};
use crate::command::{JAVA, succeeded};
use crate::error::{Context, Error, Result};
use crate::milena::Running;
use crate::{KafkaRelease, KafkaServer, maven, place};

pub(super) const EXPECTED: &[(&str, &str)] = &[("no key in a compacted topic", "the message is in other words")];

/// Settings of Kafka for what the commands need: ACLs are stored, and everybody may do everything.
const SETTINGS: &[&str] = &[
    "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found=true",
    "super.users=User:ANONYMOUS",
];

pub(super) fn run(_: &SuitesConfig) -> Result<Results> {
    let jars = maven::class_path("interop/tools/pom.xml", "kafka-tools", &[])?;
    let kafka = KafkaServer::start_release(KafkaRelease::Newest, SETTINGS)?;
    let broker = Running::start(&["broker", "--port", "0", "--super-user", "User:ANONYMOUS"])?;
    let cache = place::cache().join("kafka-tools");
    // At the same time: most of it is waiting.
    let one = start(&jars, &kafka.bootstrap())?;
    let other = start(&jars, &broker.stdout()?)?;
    let (one, other) = (finish(one, &cache.join("kafka.txt"))?, finish(other, &cache.join("milena.txt"))?);
    compare(&blocks(&one), &blocks(&other))
}

fn start(jars: &str, bootstrap: &str) -> Result<std::process::Child> {
    let folder = place::root().join("interop/tools");
    let mut java = JAVA.command();
    java.args([
        "-Xmx256m",
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        "-Djava.net.preferIPv4Stack=true",
        "-cp",
        jars,
    ]);
    java.arg(folder.join("RunTools.java")).arg(bootstrap).arg(folder.join("commands.txt"));
    java.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| JAVA.missing(&error))
}

fn finish(child: std::process::Child, keep: &Path) -> Result<String> {
    let output = succeeded(child.wait_with_output().doing("Kafka's tools")?, "Kafka's tools")?;
    fs::write(keep, &output.stdout).on(keep)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The commands with what each printed.
fn blocks(output: &str) -> Vec<(&str, Vec<&str>)> {
    let mut blocks: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in output.lines() {
        match (line.strip_prefix("$ "), blocks.last_mut()) {
            (Some(command), _) => blocks.push((command, Vec::new())),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => {}
        }
    }
    blocks
}

fn compare(kafka: &[(&str, Vec<&str>)], milena: &[(&str, Vec<&str>)]) -> Result<Results> {
    if kafka.len() != milena.len() || kafka.is_empty() {
        return Err(Error::Other(format!("{} commands with Kafka, {} with milena", kafka.len(), milena.len())));
    }
    let mut results = Vec::new();
    for ((command, wanted), (_, got)) in kafka.iter().zip(milena) {
        let (mut wanted, mut got) = (wanted.clone(), got.clone());
        // It prints what it got, and no broker gives ACLs in an order.
        if command.starts_with("kafka-acls") {
            wanted.sort_unstable();
            got.sort_unstable();
        }
        if wanted == got {
            results.push(((*command).to_owned(), Verdict::Passed));
            continue;
        }
        println!("  {command}");
        wanted.iter().filter(|line| !got.contains(line)).for_each(|line| println!("    Kafka:  {line}"));
        got.iter().filter(|line| !wanted.contains(line)).for_each(|line| println!("    milena: {line}"));
        results.push(((*command).to_owned(), Verdict::Failed));
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_passes_when_both_print_the_same() {
        let kafka = blocks("$ a 1\nx\nexit 0\n$ b\ny\nexit 1\n");
        let milena = blocks("$ a 1\nx\nexit 0\n$ b\nz\nexit 1\n");
        let wanted = [("a 1".to_owned(), Verdict::Passed), ("b".to_owned(), Verdict::Failed)];
        assert_eq!(compare(&kafka, &milena).unwrap(), wanted);
        assert!(compare(&kafka, &milena[..1]).is_err());
    }
}
