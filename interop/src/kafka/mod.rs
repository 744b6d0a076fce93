//! A real Apache Kafka, for as long as a value lives.

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
use crate::{maven, place, probe};

/// How long a broker may take until it answers. Usually it takes 3 to 6 seconds.
const PATIENCE: Duration = Duration::from_secs(90);
/// Another process can take a free port between our look and the broker's; then other ports are tried.
const ATTEMPTS: u32 = 3;

/// A release of Apache Kafka that can be launched here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KafkaRelease {
    /// 4.4, broker and controller in one process. Magic 2.
    Newest,
    /// 0.10.2 beside a ZooKeeper. Magic 1, or 0 in topics with `message.format.version` below 0.10.
    V0_10_2,
    /// 0.10.0 beside a ZooKeeper. As 0.10.2, but it creates no topics on request.
    V0_10_0,
}

impl KafkaRelease {
    /// Every one, newest first.
    pub const ALL: [Self; 3] = [Self::Newest, Self::V0_10_2, Self::V0_10_0];

    /// The version of the artifact.
    pub fn version(self) -> &'static str {
        match self {
            Self::Newest => "4.4.0",
            Self::V0_10_2 => "0.10.2.2",
            Self::V0_10_0 => "0.10.0.1",
        }
    }

    fn class_path(self) -> Result<String> {
        let version = format!("-Dkafka.version={}", self.version());
        let name = format!("kafka-{}", self.version());
        match self {
            Self::Newest => maven::class_path("interop/kafka/pom.xml", &name, &[&version]),
            Self::V0_10_2 => maven::class_path("interop/kafka/old/pom.xml", &name, &[&version, "-Dscala.version=2.12"]),
            Self::V0_10_0 => maven::class_path("interop/kafka/old/pom.xml", &name, &[&version, "-Dscala.version=2.11"]),
        }
    }

    /// A version of ApiVersions that it serves.
    fn probe_version(self) -> i16 {
        if self == Self::Newest { 3 } else { 0 }
    }
}

/// One Apache Kafka on loopback, for as long as the value lives.
///
/// Dropping it ends its processes and removes its data.
#[derive(Debug)]
pub struct KafkaServer {
    address: SocketAddr,
    apis: usize,
    // In this order: the processes end before their folder goes, and ZooKeeper after who needs it.
    process: Process,
    _zookeeper: Option<Process>,
    folder: Folder,
}

#[derive(Debug)]
struct Process(Child);

#[derive(Debug)]
struct Folder(PathBuf);

impl KafkaServer {
    /// Starts the newest release and waits until it answers.
    ///
    /// The first start fetches it with Maven.
    ///
    /// # Errors
    /// `java` or `mvn` is not installed, Maven cannot fetch Kafka, or the broker does not answer; then the error ends
    /// with the last lines of its log.
    pub fn start() -> Result<Self> {
        Self::start_release(KafkaRelease::Newest, &[])
    }

    /// Starts a release, with more lines for its `server.properties`, and waits until it answers.
    ///
    /// # Errors
    /// As [`KafkaServer::start`].
    pub fn start_release(release: KafkaRelease, more: &[&str]) -> Result<Self> {
        let class_path = release.class_path()?;
        let mut attempt = 1;
        loop {
            match Self::attempt(release, &class_path, more) {
                Err(error) if attempt < ATTEMPTS && error.to_string().contains("Address already in use") => {
                    attempt += 1
                }
                result => return result,
            }
        }
    }

    fn attempt(release: KafkaRelease, class_path: &str, more: &[&str]) -> Result<Self> {
        let folder = Folder::new()?;
        let [client_port, other_port] = free_ports()?;
        let data = folder.0.join("data");
        let (settings, zookeeper) = if release == KafkaRelease::Newest {
            (settings::server_properties(client_port, other_port, &data), None)
        } else {
            let properties =
                write(&folder.0, "zookeeper.properties", &settings::zookeeper_properties(other_port, &folder.0))?;
            let mut serve = java(class_path, "org.apache.zookeeper.server.quorum.QuorumPeerMain", &folder.0);
            // The broker waits until ZooKeeper answers.
            let process = spawn(serve.arg(properties), &folder.0.join("zookeeper.log"))?;
            (settings::old_server_properties(client_port, other_port, &data), Some(process))
        };
        let properties = write(&folder.0, "server.properties", &[&settings, &more.join("\n"), "\n"].concat())?;
        if release == KafkaRelease::Newest {
            let mut format = java(class_path, "kafka.tools.StorageTool", &folder.0);
            format.args(["format", "--cluster-id", settings::CLUSTER_ID, "--config"]).arg(&properties);
            JAVA.run(&mut format, "formatting the storage of Apache Kafka")?;
        }

        let log = folder.0.join("server.log");
        let mut process = spawn(java(class_path, "kafka.Kafka", &folder.0).arg(&properties), &log)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, client_port));
        let apis = wait(address, release.probe_version(), &mut process, &log)?;
        Ok(Self { address, apis, process, _zookeeper: zookeeper, folder })
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

    /// What is in the segment files of a partition, one after the other.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn segments(&self, topic: &str, partition: u32) -> Result<Vec<u8>> {
        let folder = self.folder.0.join("data").join(format!("{topic}-{partition}"));
        let mut files = Vec::new();
        for entry in fs::read_dir(&folder).on(&folder)? {
            let path = entry.on(&folder)?.path();
            files.extend(path.extension().is_some_and(|extension| extension == "log").then_some(path));
        }
        // Their names are base offsets with leading zeros.
        files.sort();
        let mut bytes = Vec::new();
        for file in files {
            bytes.extend(fs::read(&file).on(&file)?);
        }
        Ok(bytes)
    }
}

fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    fs::write(&path, text).on(&path)?;
    Ok(path)
}

fn spawn(command: &mut Command, log: &Path) -> Result<Process> {
    let output = File::create(log).on(log)?;
    let errors = output.try_clone().on(log)?;
    Ok(Process(command.stdout(output).stderr(errors).spawn().map_err(|error| JAVA.missing(&error))?))
}

fn wait(address: SocketAddr, version: i16, process: &mut Process, log: &Path) -> Result<usize> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(status) = process.0.try_wait().doing("waiting for Apache Kafka")? {
            let (what, status) = ("starting Apache Kafka", status.to_string());
            return Err(Error::Failed { what, status, output: last_lines(log) });
        }
        let patience = Duration::from_secs(2);
        let ready = probe::api_versions(address, version, patience).and_then(|response| {
            match probe::brokers(address, patience)? {
                0 => Err("the controller has not heard of the broker yet".into()),
                _ => Ok(response.api_keys.len()),
            }
        });
        match ready {
            Ok(apis) => return Ok(apis),
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
