//! The binary `milena`, as users have it.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use crate::command::succeeded;
use crate::error::{Context, Error, Result};
use crate::place;

/// Runs it to its end, which has to be a good one.
pub(crate) fn run(args: &[&str]) -> Result<Output> {
    let output = Command::new(binary()?).args(args).stdin(Stdio::null()).output().doing("milena")?;
    succeeded(output, "milena")
}

/// Its path. It is built at the first call, as cargo would for `cargo run`.
pub(crate) fn binary() -> Result<PathBuf> {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    if let Some(path) = BINARY.get() {
        return Ok(path.clone());
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(place::root()).args(["build", "--quiet", "--package", "milena-cli", "--bin", "milena"]);
    if !cfg!(debug_assertions) {
        cargo.arg("--release");
    }
    succeeded(cargo.stdin(Stdio::null()).output().doing("cargo")?, "building milena")?;
    // Cargo puts it where it put us.
    let us = std::env::current_exe().doing("where this program is")?;
    let path = us.with_file_name(format!("milena{}", std::env::consts::EXE_SUFFIX));
    if !path.is_file() {
        return Err(Error::Other(format!("milena was built, but it is not at {}", path.display())));
    }
    Ok(BINARY.get_or_init(|| path).clone())
}
