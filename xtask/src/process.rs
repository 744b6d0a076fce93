//! Other programs, run so that their output is seen.

use std::path::Path;
use std::process::Command;

use crate::Result;

/// The cargo that runs us.
pub(crate) fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    // The outer cargo says these for our own package; to an inner one they would be wrong.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    command
}

/// Runs a command to its end; anything but success is an error that shows the command.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command.status().map_err(|error| format!("{}: {error}", shown(command)))?;
    if status.success() { Ok(()) } else { Err(format!("{}: {status}", shown(command)).into()) }
}

/// Runs a command to its end and gives what it wrote to its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().map_err(|error| format!("{}: {error}", shown(command)))?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {}\n{errors}", shown(command), output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Runs the binary of a package of the workspace, in the folder that we were called in: paths in `args` count from there.
pub(crate) fn package(root: &Path, package: &str, first: &[&str], args: &[&str]) -> Result<()> {
    let mut command = cargo(&std::env::current_dir()?);
    command.args(["run", "--quiet", "--package", package, "--manifest-path"]).arg(root.join("Cargo.toml"));
    run(command.arg("--").args(first).args(args))
}

fn shown(command: &Command) -> String {
    let words = command.get_args().map(|word| word.to_string_lossy().into_owned());
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    std::iter::once(program).chain(words).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_shows_the_command() {
        let error = run(&mut Command::new("/no/such/program")).unwrap_err().to_string();
        assert!(error.starts_with("program: "), "{error}");
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let error = output(cargo(root).arg("--no-such-option")).unwrap_err().to_string();
        assert!(error.contains("--no-such-option: exit status"), "{error}");
    }
}
