//! A real Apache Kafka, for as long as a value lives.

mod node;
mod process;
mod release;
mod settings;

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::command::JAVA;
use crate::error::{Context, Error, Result};
use node::Node;
use process::{Folder, Process, free_ports, java, last_lines};
pub use release::KafkaRelease;

/// Another process can take a free port between our look and the broker's; then other ports are tried.
const ATTEMPTS: u32 = 3;

/// An Apache Kafka of one or more nodes on loopback, for as long as the value lives.
///
/// Dropping it ends its processes and removes its data. The ids of its nodes begin with 1; the first is also the controller.
#[derive(Debug)]
pub struct KafkaServer {
    apis: usize,
    listeners: Vec<(String, u16)>,
    // In this order: the brokers end before ZooKeeper, which they need, and all before their folder goes.
    nodes: Vec<Node>,
    _zookeeper: Option<Process>,
    _folder: Folder,
}

impl KafkaServer {
    /// Starts one node of the newest release and waits until it responds.
    ///
    /// The first start fetches it with Maven.
    ///
    /// # Errors
    /// `java` or `mvn` is not installed, Maven cannot fetch Kafka, or the broker does not respond; then the error ends
    /// with the last lines of its log.
    pub fn start() -> Result<Self> {
        Self::start_release(KafkaRelease::Newest, &[])
    }

    /// Starts one node of a release, with more lines for its `server.properties`, and waits until it responds.
    ///
    /// # Errors
    /// As [`KafkaServer::start`].
    pub fn start_release(release: KafkaRelease, more: &[&str]) -> Result<Self> {
        Self::started(release, 1, more)
    }

    /// Starts several nodes of the newest release, with more lines for the `server.properties` of each, and waits until
    /// every one responds and knows the others.
    ///
    /// # Errors
    /// As [`KafkaServer::start`].
    pub fn start_nodes(count: usize, more: &[&str]) -> Result<Self> {
        Self::started(KafkaRelease::Newest, count, more)
    }

    /// Starts one node of the newest release with a listener `LOGIN`, where users log in by SASL/PLAIN with their passwords.
    ///
    /// # Errors
    /// As [`KafkaServer::start`].
    pub fn start_with_logins(users: &[(String, String)], more: &[&str]) -> Result<Self> {
        let lines = settings::login_listener(users);
        let more: Vec<&str> = lines.lines().chain(more.iter().copied()).collect();
        Self::start_with_listeners(&[("LOGIN", "SASL_PLAINTEXT")], &more)
    }

    /// Where users log in.
    ///
    /// # Errors
    /// It was started without such a listener.
    pub fn login_bootstrap(&self) -> Result<String> {
        self.listener("LOGIN")
    }

    /// Starts one node of the newest release with further listeners, each a name and a security protocol, and with more
    /// lines for its `server.properties`; waits until it responds.
    ///
    /// # Errors
    /// As [`KafkaServer::start`].
    pub fn start_with_listeners(listeners: &[(&str, &str)], more: &[&str]) -> Result<Self> {
        Self::started_with(KafkaRelease::Newest, 1, listeners, more)
    }

    fn started(release: KafkaRelease, count: usize, more: &[&str]) -> Result<Self> {
        Self::started_with(release, count, &[], more)
    }

    fn started_with(release: KafkaRelease, count: usize, listeners: &[(&str, &str)], more: &[&str]) -> Result<Self> {
        let class_path = release.class_path()?;
        let mut attempt = 1;
        loop {
            match Self::attempt(release, &class_path, count, listeners, more) {
                Err(error) if attempt < ATTEMPTS && error.to_string().contains("Address already in use") => {
                    attempt += 1
                }
                result => return result,
            }
        }
    }

    fn attempt(
        release: KafkaRelease,
        class_path: &str,
        count: usize,
        listeners: &[(&str, &str)],
        more: &[&str],
    ) -> Result<Self> {
        let folder = Folder::new()?;
        // One more for the controller or ZooKeeper.
        let ports = free_ports(count + 1)?;
        let Some((other_port, client_ports)) = ports.split_last() else {
            return Err(Error::Other("there is no node without a port".to_owned()));
        };
        let zookeeper = match release {
            KafkaRelease::Newest => None,
            _ => Some(start_zookeeper(class_path, *other_port, &folder.0)?),
        };
        let other_ports = free_ports(listeners.len())?;
        let listeners = listeners.iter().zip(other_ports).map(|((name, protocol), port)| (*name, *protocol, port));
        let listeners: Vec<(&str, &str, u16)> = listeners.collect();
        let mut nodes = Vec::new();
        for (port, id) in client_ports.iter().zip(1..) {
            let data = folder.0.join(format!("data-{id}"));
            let settings = match release {
                KafkaRelease::Newest => settings::server_properties(id, *port, *other_port, &listeners, &data),
                _ => settings::old_server_properties(id, *port, *other_port, &data),
            };
            let text = [&settings, &more.join("\n"), "\n"].concat();
            let properties = write(&folder.0, &format!("server-{id}.properties"), &text)?;
            if release == KafkaRelease::Newest {
                let mut format = java(class_path, "kafka.tools.StorageTool", &folder.0);
                format.args(["format", "--cluster-id", settings::CLUSTER_ID, "--config"]).arg(&properties);
                JAVA.run(&mut format, "formatting the storage of Apache Kafka")?;
            }
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, *port));
            let log = folder.0.join(format!("server-{id}.log"));
            let class_path = class_path.to_owned();
            nodes.push(Node { release, class_path, address, properties, data, log, process: None });
        }
        let listeners = listeners.into_iter().map(|(name, _, port)| (name.to_owned(), port)).collect();
        let mut server = Self { apis: 0, listeners, nodes, _zookeeper: zookeeper, _folder: folder };
        // All before waiting for the first: they need each other.
        server.nodes.iter_mut().try_for_each(Node::start)?;
        for node in &mut server.nodes {
            server.apis = node.wait(count)?;
        }
        Ok(server)
    }

    /// Where it listens, as clients take it: `127.0.0.1:PORT`, more of them with commas.
    pub fn bootstrap(&self) -> String {
        let addresses: Vec<String> = self.nodes.iter().map(|node| node.address.to_string()).collect();
        addresses.join(",")
    }

    /// Where a further listener is, as clients take it.
    ///
    /// # Errors
    /// There is no such listener.
    pub fn listener(&self, name: &str) -> Result<String> {
        let found = self.listeners.iter().find(|(other, _)| other == name);
        let missing = || Error::Other(format!("there is no listener {name}"));
        found.map(|(_, port)| format!("127.0.0.1:{port}")).ok_or_else(missing)
    }

    /// How many APIs it says to serve.
    pub fn apis(&self) -> usize {
        self.apis
    }

    /// The log folder of the first node.
    pub fn log_folder(&self) -> &Path {
        self.nodes.first().map_or(Path::new("."), |node| &node.data)
    }

    /// Stops a node without warning and without its data: as if its power failed.
    ///
    /// # Errors
    /// There is no such node.
    pub fn kill(&mut self, id: usize) -> Result<()> {
        self.node(id)?.process = None;
        Ok(())
    }

    /// Starts a node again that was killed, with its data, and waits until it responds.
    ///
    /// # Errors
    /// As [`KafkaServer::start`].
    pub fn start_again(&mut self, id: usize) -> Result<()> {
        let count = self.nodes.len();
        let node = self.node(id)?;
        node.start()?;
        node.wait(count).map(drop)
    }

    /// Suspends a node: its connections stay open, and it neither reads nor writes.
    ///
    /// # Errors
    /// The node does not run, or the system has no `kill`.
    pub fn suspend(&mut self, id: usize) -> Result<()> {
        self.node(id)?.process()?.signal("STOP")
    }

    /// Lets a node go on that was suspended.
    ///
    /// # Errors
    /// As [`KafkaServer::suspend`].
    pub fn resume(&mut self, id: usize) -> Result<()> {
        self.node(id)?.process()?.signal("CONT")
    }

    /// The last lines of the log of each node.
    pub fn log(&self) -> String {
        let logs: Vec<String> = self.nodes.iter().map(|node| last_lines(&node.log)).collect();
        logs.join("\n\n")
    }

    /// What is in the segment files of a partition, one after the other, as the first node has them.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn segments(&self, topic: &str, partition: u32) -> Result<Vec<u8>> {
        let Some(node) = self.nodes.first() else { return Ok(Vec::new()) };
        let folder = node.data.join(format!("{topic}-{partition}"));
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

    fn node(&mut self, id: usize) -> Result<&mut Node> {
        let missing = || Error::Other(format!("there is no node {id}"));
        id.checked_sub(1).and_then(|index| self.nodes.get_mut(index)).ok_or_else(missing)
    }
}

fn start_zookeeper(class_path: &str, port: u16, folder: &Path) -> Result<Process> {
    let properties = write(folder, "zookeeper.properties", &settings::zookeeper_properties(port, folder))?;
    let mut serve = java(class_path, "org.apache.zookeeper.server.quorum.QuorumPeerMain", folder);
    // Brokers wait until it responds.
    Process::start(serve.arg(properties), &folder.join("zookeeper.log"))
}

fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let path = folder.join(name);
    fs::write(&path, text).on(&path)?;
    Ok(path)
}
