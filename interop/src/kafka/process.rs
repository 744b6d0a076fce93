//! Processes of Java, and a folder for their data.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::command::{JAVA, tail};
use crate::error::{Context, Error, Result};
use crate::place;

/// A process that ends with its value.
#[derive(Debug)]
pub(super) struct Process(Child);

/// A temporary folder that is removed with its value.
#[derive(Debug)]
pub(super) struct Folder(pub(super) PathBuf);

impl Process {
    /// Starts a command, with its output in a file.
    pub(super) fn start(command: &mut Command, log: &Path) -> Result<Self> {
        let output = File::options().create(true).append(true).open(log).on(log)?;
        let errors = output.try_clone().on(log)?;
        Ok(Self(command.stdout(output).stderr(errors).spawn().map_err(|error| JAVA.missing(&error))?))
    }

    pub(super) fn id(&self) -> u32 {
        self.0.id()
    }

    /// How it ended, if it has.
    pub(super) fn ended(&mut self) -> Result<Option<String>> {
        Ok(self.0.try_wait().doing("waiting for Apache Kafka")?.map(|status| status.to_string()))
    }

    /// Sends it a signal by name, such as `STOP`.
    pub(super) fn signal(&self, name: &str) -> Result<()> {
        let status = Command::new("kill").args([&format!("-{name}"), &self.id().to_string()]).status().doing("kill")?;
        if status.success() { Ok(()) } else { Err(Error::Other(format!("kill -{name} failed ({status})"))) }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // A failure means that it has ended already. SIGKILL also ends a process that is stopped.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Folder {
    pub(super) fn new() -> Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("milena-kafka-{}-{number}", std::process::id()));
        // Left over from a process of the same id that was killed.
        if path.exists() {
            fs::remove_dir_all(&path).on(&path)?;
        }
        fs::create_dir_all(&path).on(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing can be done about a failure here, and the folder is a temporary one.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A command that runs a class of Kafka or ZooKeeper.
pub(super) fn java(class_path: &str, main: &str, folder: &Path) -> Command {
    let configuration = place::root().join("interop/kafka");
    let mut command = JAVA.command();
    // A short life on few cores: a small heap, one collector thread, the quick compiler alone.
    command.args(["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]);
    command.args(["-Djava.awt.headless=true", "-Djava.net.preferIPv4Stack=true"]);
    // Old releases read the one, new ones the other.
    command.arg(format!("-Dlog4j2.configurationFile={}", configuration.join("log4j2.properties").display()));
    command.arg(format!("-Dlog4j.configuration=file:{}", configuration.join("old/log4j.properties").display()));
    // ZooKeeper's own switch: it looks for something in log4j that bridges lack.
    command.arg("-Dzookeeper.jmx.log4j.disable=true");
    command.arg("-cp").arg(class_path).arg(main).current_dir(folder);
    command
}

/// Ports at which nothing listens now.
pub(super) fn free_ports(count: usize) -> Result<Vec<u16>> {
    // All at once, or the second could be the first again.
    let listeners: std::io::Result<Vec<TcpListener>> =
        (0..count).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect();
    let ports: std::io::Result<Vec<u16>> =
        listeners.doing("a free port")?.iter().map(|listener| Ok(listener.local_addr()?.port())).collect();
    ports.doing("a free port")
}

/// The last lines of a log file.
pub(super) fn last_lines(log: &Path) -> String {
    match fs::read(log) {
        Ok(bytes) => tail(&String::from_utf8_lossy(&bytes), 30),
        Err(error) => format!("(no log: {error})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_goes_with_its_value() {
        let folder = Folder::new().unwrap();
        let path = folder.0.clone();
        fs::write(path.join("file"), "text").unwrap();
        drop(folder);
        assert!(!path.exists());
    }

    #[test]
    fn free_ports_differ() {
        let mut ports = free_ports(3).unwrap();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 3);
    }

    #[test]
    fn a_process_gets_signals_and_ends_with_its_value() {
        let folder = Folder::new().unwrap();
        let process = Process::start(Command::new("sleep").arg("60"), &folder.0.join("log")).unwrap();
        process.signal("STOP").unwrap();
        let id = process.id().to_string();
        drop(process);
        let alive = Command::new("kill").args(["-0", &id]).stderr(std::process::Stdio::null()).status().unwrap();
        assert!(!alive.success());
    }
}
