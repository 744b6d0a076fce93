use std::io::Write;
use std::process::{Command, Output, Stdio};

use crate::error::{Context, Error, Result};

/// A program that has to be installed, and what to say when it is not.
pub(crate) struct Program {
    name: &'static str,
    variable: &'static str,
    advice: &'static str,
}

pub(crate) const JAVA: Program =
    Program { name: "java", variable: "JAVA", advice: "install Java 17 or later, or set JAVA to its path" };
pub(crate) const MAVEN: Program =
    Program { name: "mvn", variable: "MVN", advice: "install Apache Maven, or set MVN to its path" };
pub(crate) const GO: Program =
    Program { name: "go", variable: "GO", advice: "install Go 1.24 or later, or set GO to its path" };
pub(crate) const PYTHON: Program =
    Program { name: "python3", variable: "PYTHON", advice: "install Python 3.9 or later, or set PYTHON to its path" };

impl Program {
    /// A command of this program that reads nothing from our input.
    pub(crate) fn command(&self) -> Command {
        let path = std::env::var_os(self.variable).filter(|path| !path.is_empty());
        let mut command = Command::new(path.unwrap_or_else(|| self.name.into()));
        command.stdin(Stdio::null());
        command
    }

    /// What to say when the command could not even be started.
    pub(crate) fn missing(&self, error: &std::io::Error) -> Error {
        Error::Missing { program: self.name, reason: error.to_string(), advice: self.advice }
    }

    /// Runs a command of this program to its end and gives its output; only its exit status says whether it went well.
    pub(crate) fn run(&self, command: &mut Command, what: &'static str) -> Result<Output> {
        let output = command.output().map_err(|error| self.missing(&error))?;
        succeeded(output, what)
    }
}

/// The output of a command that ended well; else what it said last.
pub(crate) fn succeeded(output: Output, what: &'static str) -> Result<Output> {
    if output.status.success() {
        return Ok(output);
    }
    let text = [String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)].concat();
    Err(Error::Failed { what, status: output.status.to_string(), output: tail(&text, 40) })
}

/// Runs a command to its end with a text as its input, and gives its output.
pub(crate) fn feed(command: &mut Command, input: &str, what: &'static str) -> Result<Output> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().doing(what)?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that ends before it has read all says by its status how it went.
        let _ = stdin.write_all(input.as_bytes());
    }
    succeeded(child.wait_with_output().doing(what)?, what)
}

/// The last lines of a text.
pub(crate) fn tail(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_is_not_installed_is_named_with_advice() {
        let program = Program { name: "no-such-program-here", variable: "NO_SUCH_VARIABLE_HERE", advice: "install it" };
        let error = program.run(&mut program.command(), "nothing").unwrap_err().to_string();
        assert!(error.starts_with("`no-such-program-here` does not run: "), "{error}");
        assert!(error.ends_with("; install it"), "{error}");
    }

    #[test]
    fn what_is_fed_comes_out_of_a_program_that_repeats_it() {
        let output = feed(&mut Command::new("sort"), "b\na\n", "sorting").unwrap();
        assert_eq!(output.stdout, b"a\nb\n");
    }

    #[test]
    fn the_tail_is_the_last_lines() {
        assert_eq!(tail("a\nb\nc\n", 2), "b\nc");
        assert_eq!(tail("a", 2), "a");
        assert_eq!(tail("", 2), "");
    }
}
