//! The binary `milena`.

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::command::succeeded;
use crate::error::{Context, Error, Result};
use crate::place;

/// What a call printed, and its exit code.
#[derive(Debug)]
pub(crate) struct Called {
    /// Exit code; -1 if a signal ended it.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs a call that must succeed.
pub(crate) fn run(args: &[&str]) -> Result<Output> {
    let output = Command::new(binary()?).args(args).stdin(Stdio::null()).output().doing("milena")?;
    succeeded(output, "milena")
}

/// Calls it with this on stdin.
pub(crate) fn call(args: &[&str], stdin: &str) -> Result<Called> {
    let mut command = Command::new(binary()?);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().doing("milena")?;
    let pipe = child.stdin.take();
    let stdin = stdin.to_owned();
    let writer = std::thread::spawn(move || {
        if let Some(mut pipe) = pipe {
            // One that ends before it has read everything says by its exit code how it went.
            let _ = pipe.write_all(stdin.as_bytes());
        }
    });
    let output = child.wait_with_output().doing("milena")?;
    writer.join().map_err(|_| Error::Other("writing to milena panicked".to_owned()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let code = output.status.code().unwrap_or(-1);
    Ok(Called { code, stdout: text(&output.stdout), stderr: text(&output.stderr) })
}

/// A call that runs until the value is dropped, and its lines.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

/// How long a line of a running call may take.
const PATIENCE: Duration = Duration::from_secs(45);

impl Running {
    /// Starts it.
    pub(crate) fn start(args: &[&str]) -> Result<Self> {
        let mut command = Command::new(binary()?);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().doing("milena")?;
        let stdout = lines(child.stdout.take());
        let stderr = lines(child.stderr.take());
        Ok(Self { child, stdout, stderr })
    }

    /// Waits for the next line on stdout.
    pub(crate) fn stdout(&self) -> Result<String> {
        let next = self.stdout.recv_timeout(PATIENCE);
        next.map_err(|_| Error::Other(format!("milena printed no line; on stderr: {:?}", self.rest_of_stderr())))
    }

    /// Waits for the next line on stderr.
    pub(crate) fn stderr(&self) -> Result<String> {
        self.stderr.recv_timeout(PATIENCE).map_err(|_| Error::Other("milena printed no line on stderr".to_owned()))
    }

    fn rest_of_stderr(&self) -> Vec<String> {
        self.stderr.try_iter().collect()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A failure means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(pipe: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, receiver) = channel();
    if let Some(pipe) = pipe {
        std::thread::spawn(move || {
            for line in BufReader::new(pipe).lines().map_while(std::io::Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    receiver
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
