//! Runs what the README says: its commands, as written, with the output that it shows.

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Result;
use crate::process::{cargo, output, run};

/// Lines of `sh` blocks that are not run here, and why it is right not to.
const NOT_RUN: [(&str, &str); 5] = [
    ("cargo run --release -- demo", "a step of its own runs it"),
    ("cargo xtask test", "CI runs it first"),
    ("cargo install --path crates/cli", "the binary is built by this command as well"),
    ("cargo add milena", "the README says that it works once a version is released"),
    ("cargo add milena --path ../milena/crates/milena", "it changes another package"),
];
/// The ports in the README; free ones take their place, for others may be using these.
const PORTS: [&str; 2] = ["9092", "19092"];
/// How long a server may take until it listens.
const PATIENCE: Duration = Duration::from_secs(30);

/// A command of the README and the output that it shows.
#[derive(Debug, PartialEq)]
struct Step {
    command: String,
    shown: Vec<String>,
}

/// Runs every command of the README.
pub(crate) fn check(root: &Path) -> Result<()> {
    run(cargo(root).args(["build", "--package", "milena-cli"]))?;
    let text = fs::read_to_string(root.join("README.md"))?;
    let metadata: serde_json::Value =
        serde_json::from_str(&output(cargo(root).args(["metadata", "--format-version=1", "--no-deps"]))?)?;
    let target = metadata["target_directory"].as_str().ok_or("cargo metadata names no target folder")?;
    let path = format!("{target}/debug:{}", std::env::var("PATH").unwrap_or_default());
    let ports = PORTS.map(free_port);

    let mut servers = Servers(Vec::new());
    let steps = steps(&text)?;
    for step in &steps {
        println!("$ {}", step.command);
        let command = with_ports(&step.command, &ports);
        let mut shell = Command::new("bash");
        shell.current_dir(root).env("PATH", &path).stdin(Stdio::null());
        match command.strip_suffix(" &") {
            Some(server) => {
                let child = shell.args(["-c", &format!("exec {server}")]).stdout(Stdio::null()).spawn()?;
                servers.0.push(child);
                let port = ports.iter().find(|port| {
                    server.contains(&format!("--port {port}")) || server.contains(&format!("--listen localhost:{port}"))
                });
                wait_for(port.ok_or_else(|| format!("`{command}` names no port to wait for"))?)?;
            }
            None => {
                let found = output(shell.args(["-c", &format!("{{ {command}; }} 2>&1")]))?;
                if let Some(line) = missing(&step.shown, &found) {
                    return Err(format!("`{}` does not print\n  {line}\nbut\n{found}", step.command).into());
                }
            }
        }
    }
    println!("{} commands of the README run as written", steps.len());
    Ok(())
}

/// Servers that run until the last command is through.
struct Servers(Vec<Child>);

impl Drop for Servers {
    fn drop(&mut self) {
        for server in &mut self.0 {
            // One that is gone already needs no more.
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

fn free_port(_: &str) -> String {
    // The tap takes the next free ones above for its brokers.
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).map(|address| address.port());
    port.map_or_else(|_| "0".to_owned(), |port| port.to_string())
}

fn with_ports(command: &str, ports: &[String; 2]) -> String {
    // The longer one first: the shorter one is a part of it.
    command.replace(PORTS[1], "\0").replace(PORTS[0], &ports[0]).replace('\0', &ports[1])
}

fn wait_for(port: &str) -> Result<()> {
    let until = Instant::now() + PATIENCE;
    while TcpStream::connect(format!("127.0.0.1:{port}")).is_err() {
        if Instant::now() > until {
            return Err(format!("nothing listens on port {port}").into());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}

/// The commands of `console` blocks, and those of `sh` blocks but for [`NOT_RUN`].
fn steps(text: &str) -> Result<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    let mut block = "";
    for line in text.lines() {
        if let Some(language) = line.strip_prefix("```") {
            block = if block.is_empty() { language } else { "" };
            continue;
        }
        match (block, line.strip_prefix("$ ")) {
            ("console", Some(command)) => steps.push(Step { command: command.to_owned(), shown: Vec::new() }),
            ("console", None) => {
                let step = steps.last_mut().ok_or_else(|| format!("`{line}` is the output of no command"))?;
                if !line.is_empty() && line != "…" {
                    step.shown.push(line.to_owned());
                }
            }
            ("sh", _) => {
                let command = line.split(" #").next().unwrap_or_default().trim();
                if NOT_RUN.iter().all(|(not_run, _)| *not_run != command) {
                    steps.push(Step { command: command.to_owned(), shown: Vec::new() });
                }
            }
            _ => {}
        }
    }
    Ok(steps)
}

/// The first line that is shown and not found, in the order of the lines. Numbers and spaces may differ.
fn missing<'a>(shown: &'a [String], found: &str) -> Option<&'a str> {
    let mut found = found.lines().map(shape);
    shown.iter().map(String::as_str).find(|line| !found.any(|found| found == shape(line)))
}

fn shape(line: &str) -> String {
    let words: Vec<String> = line
        .split_whitespace()
        .map(|word| {
            let mut shape = String::new();
            for c in word.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }) {
                if c != '#' || !shape.ends_with('#') {
                    shape.push(c);
                }
            }
            shape
        })
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_what_they_show_are_found() {
        let text = "```sh\ncargo add milena   # later\nmilena demo  # now\n```\nwords\n```console\n$ a b\nout 12\n…\n$ c &\n```\n";
        let step = |command: &str, shown: &[&str]| Step {
            command: command.into(),
            shown: shown.iter().map(|line| (*line).to_owned()).collect(),
        };
        assert_eq!(steps(text).unwrap(), [step("milena demo", &[]), step("a b", &["out 12"]), step("c &", &[])]);
        assert!(steps("```console\nno command\n```\n").is_err());
    }

    #[test]
    fn output_may_differ_in_numbers_and_spaces_alone() {
        let shown = ["size  20 ms".to_owned(), "end".to_owned()];
        assert_eq!(missing(&shown, "head\nsize 3 ms\nmiddle\nend\n"), None);
        assert_eq!(missing(&shown, "end\nsize 3 ms\n"), Some("end"));
        assert_eq!(missing(&shown, "size 3 s\nend\n"), Some("size  20 ms"));
    }

    #[test]
    fn both_ports_are_replaced_by_their_own() {
        let ports = ["1111".to_owned(), "2222".to_owned()];
        assert_eq!(with_ports("x --port 9092 --to :19092", &ports), "x --port 1111 --to :2222");
    }

    #[test]
    fn the_program_in_the_readme_is_the_one_that_is_compiled() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let programs = |file: &str| -> Vec<String> {
            let text = fs::read_to_string(root.join(file)).unwrap();
            let blocks = text.split("```rust").skip(1).filter_map(|block| block.split("```").next());
            blocks.map(str::to_owned).collect()
        };
        let compiled = programs("crates/milena/README.md");
        let shown = programs("README.md");
        assert_eq!(shown.len(), 1);
        assert!(compiled.contains(&shown[0]), "crates/milena/README.md is a doctest; the README has another program");
    }

    #[test]
    fn the_program_in_a_crates_readme_is_one_of_its_examples() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        for name in ["wire", "schema", "messages", "records", "connection", "legacy", "storage", "inspect"] {
            let folder = root.join("crates").join(name);
            let readme = fs::read_to_string(folder.join("README.md")).unwrap();
            let program = readme.split("```rust\n").nth(1).and_then(|rest| rest.split("\n```").next()).unwrap();
            let examples = fs::read_dir(folder.join("examples")).unwrap();
            let mut texts = examples.filter_map(|entry| fs::read_to_string(entry.unwrap().path()).ok());
            assert!(texts.any(|text| text.contains(program)), "{name}: no example has the program of its README");
        }
    }
}
