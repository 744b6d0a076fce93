//! Clients in Python against a broker of ours: what others wrote must work with it too.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::command::{PYTHON, tail};
use crate::error::{Context, Error, Result};
use crate::place;

/// The packages, pinned: a new release of theirs is tried on purpose, not by chance.
///
/// kafka-python leaves snappy, lz4 and zstd to the last three.
const PACKAGES: &str = include_str!("../clients/python/requirements.txt");

/// Runs `interop/clients/python/each_other.py` against the broker at `bootstrap`; gives what it printed.
///
/// # Errors
/// Python is not installed, the packages cannot be fetched, or a client did not get what it should.
pub fn python_clients(bootstrap: &str) -> Result<String> {
    let mut command = python_client("each_other.py")?;
    let output = PYTHON.run(command.args(["--bootstrap", bootstrap]), "each_other.py")?;
    Ok([String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)].concat())
}

/// A command that runs a program of `interop/clients/python`.
pub(crate) fn python_client(script: &str) -> Result<Command> {
    let mut command = Command::new(interpreter()?);
    command.arg(place::root().join("interop/clients/python").join(script)).env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(command)
}

/// The interpreter of the virtual environment that has the clients.
pub(crate) fn interpreter() -> Result<PathBuf> {
    environment("python", PACKAGES)
}

/// The interpreter of a virtual environment that has these packages, a line each; made at the first call and kept in the
/// cache under `name`.
pub(crate) fn environment(name: &str, packages: &str) -> Result<PathBuf> {
    let folder = place::cache().join(name);
    let python = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let mark = folder.join("packages.txt");
    if python.exists() && fs::read_to_string(&mark).is_ok_and(|text| text == packages) {
        return Ok(python);
    }
    if folder.exists() {
        fs::remove_dir_all(&folder).on(&folder)?;
    }
    let made = PYTHON.run(PYTHON.command().args(["-m", "venv"]).arg(&folder), "making a Python environment");
    // Some systems leave out of Python what makes environments.
    made.map_err(|error| match error {
        Error::Failed { output, .. } => Error::Missing {
            program: "python3 -m venv",
            reason: output.lines().last().unwrap_or_default().to_owned(),
            advice: "install the package that brings it, such as python3-venv",
        },
        error => error,
    })?;
    let output = Command::new(&python)
        .args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--prefer-binary"])
        .args(packages.lines())
        .output()
        .on(&python)?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        let (what, status) = ("installing the Python clients", output.status.to_string());
        return Err(Error::Failed { what, status, output: tail(&text, 20) });
    }
    fs::write(&mark, packages).on(&mark)?;
    Ok(python)
}
