//! A real Apache Kafka, for as long as a value lives.

mod maven;
mod settings;

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::command::{JAVA, tail};
use crate::error::{Context, Error, Result};
use crate::{place, probe};

/// How long a broker may take until it answers. Usually it takes 3 to 6 seconds.
const PATIENCE: Duration = Duration::from_secs(90);
/// Another process can take a free port between our look and the broker's; then other ports are tried.
const ATTEMPTS: u32 = 3;

/// One Apache Kafka on loopback, broker and controller in a process of its own.
///
/// Dropping it ends the process and removes its data.
#[derive(Debug)]
pub struct KafkaServer {
    address: SocketAddr,
    apis: usize,
    // In this order: the process ends before its folder goes.
    process: Process,
    folder: Folder,
}

#[derive(Debug)]
struct Process(Child);

#[derive(Debug)]
struct Folder(PathBuf);

impl KafkaServer {
    /// Starts the Kafka that `interop/kafka/pom.xml` names and waits until it answers.
    ///
    /// The first start fetches it with Maven.
    ///
    /// # Errors
    /// `java` or `mvn` is not installed, Maven cannot fetch Kafka, or the broker does not answer; then the error ends
    /// with the last lines of its log.
    pub fn start() -> Result<Self> {
        let class_path = maven::class_path()?;
        let mut attempt = 1;
        loop {
            match Self::attempt(&class_path) {
                Err(error) if attempt < ATTEMPTS && error.to_string().contains("Address already in use") => {
                    attempt += 1
                }
                result => return result,
            }
        }
    }

    fn attempt(class_path: &str) -> Result<Self> {
        let folder = Folder::new()?;
        let [client_port, controller_port] = free_ports()?;
        let properties = folder.0.join("server.properties");
        let text = settings::server_properties(client_port, controller_port, &folder.0.join("data"));
        fs::write(&properties, text).on(&properties)?;

        let mut format = java(class_path, "kafka.tools.StorageTool", &folder.0);
        format.args(["format", "--cluster-id", settings::CLUSTER_ID, "--config"]).arg(&properties);
        JAVA.run(&mut format, "formatting the storage of Apache Kafka")?;

        let log = folder.0.join("server.log");
        let output = File::create(&log).on(&log)?;
        let errors = output.try_clone().on(&log)?;
        let mut serve = java(class_path, "kafka.Kafka", &folder.0);
        serve.arg(&properties).stdout(output).stderr(errors);
        let mut process = Process(serve.spawn().map_err(|error| JAVA.missing(&error))?);

        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, client_port));
        let apis = wait(address, &mut process, &log)?;
        Ok(Self { address, apis, process, folder })
    }

    /// Where it listens, as clients take it: `127.0.0.1:PORT`.
    pub fn bootstrap(&self) -> String {
        self.address.to_string()
    }

    /// How many APIs it says to serve.
    pub fn apis(&self) -> usize {
        self.apis
    }

    /// The process.
    pub fn pid(&self) -> u32 {
        self.process.0.id()
    }

    /// The last lines of its log.
    pub fn log(&self) -> String {
        last_lines(&self.folder.0.join("server.log"))
    }
}

fn wait(address: SocketAddr, process: &mut Process, log: &Path) -> Result<usize> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = process.0.try_wait().doing("waiting for Apache Kafka")? {
            let (what, status) = ("starting Apache Kafka", status.to_string());
            return Err(Error::Failed { what, status, output: last_lines(log) });
        }
        match probe::api_versions(address, Duration::from_secs(2)) {
            Ok(response) => return Ok(response.api_keys.len()),
            Err(error) if Instant::now() >= deadline => {
                return Err(Error::Silent {
                    bootstrap: address.to_string(),
                    seconds: PATIENCE.as_secs(),
                    last: error.to_string(),
                    log: last_lines(log),
                });
            }
            Err(_) => sleep(Duration::from_millis(50)),
        }
    }
}

fn java(class_path: &str, main: &str, folder: &Path) -> Command {
    let log4j = place::root().join("interop/kafka/log4j2.properties");
    let mut command = JAVA.command();
    // A short life on few cores: a small heap, one collector thread, the quick compiler alone.
    command.args(["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]);
    command.args(["-Djava.awt.headless=true", "-Djava.net.preferIPv4Stack=true"]);
    command.arg(format!("-Dlog4j2.configurationFile={}", log4j.display()));
    command.arg("-cp").arg(class_path).arg(main).current_dir(folder);
    command
}

fn free_ports() -> Result<[u16; 2]> {
    let listen = || TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    // Both at once, or the second could be the first again.
    let (first, second) = (listen().doing("a free port")?, listen().doing("a free port")?);
    let port = |listener: &TcpListener| listener.local_addr().doing("a free port").map(|address| address.port());
    Ok([port(&first)?, port(&second)?])
}

fn last_lines(log: &Path) -> String {
    match fs::read(log) {
        Ok(bytes) => tail(&String::from_utf8_lossy(&bytes), 30),
        Err(error) => format!("(no log: {error})"),
    }
}

impl Folder {
    fn new() -> Result<Self> {
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

impl Drop for Process {
    fn drop(&mut self) {
        // Its data goes too, so there is nothing to end gently. A failure means that it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
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
        let [first, second] = free_ports().unwrap();
        assert_ne!(first, second);
    }
}
