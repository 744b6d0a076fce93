use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::process::{Process, java, last_lines};
use super::release::KafkaRelease;
use crate::error::{Error, Result};
use crate::probe;

/// How long a broker may take until it responds. Usually it takes 3 to 6 seconds.
const PATIENCE: Duration = Duration::from_secs(90);

/// One broker, which can be stopped and started again with the same data.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) release: KafkaRelease,
    pub(super) class_path: String,
    pub(super) address: SocketAddr,
    /// Its `server.properties`.
    pub(super) properties: PathBuf,
    pub(super) data: PathBuf,
    pub(super) log: PathBuf,
    pub(super) process: Option<Process>,
}

impl Node {
    /// Starts the process.
    pub(super) fn start(&mut self) -> Result<()> {
        let folder = self.properties.with_file_name("");
        let mut command = java(&self.class_path, "kafka.Kafka", &folder);
        self.process = Some(Process::start(command.arg(&self.properties), &self.log)?);
        Ok(())
    }

    /// Waits until it responds and knows of so many brokers; how many APIs it serves.
    pub(super) fn wait(&mut self, brokers: usize) -> Result<usize> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.process()?.ended()? {
                let what = "starting Apache Kafka";
                return Err(Error::Failed { what, status, output: last_lines(&self.log) });
            }
            let patience = Duration::from_secs(2);
            let ready =
                probe::api_versions(self.address, self.release.probe_version(), patience).and_then(|response| {
                    match probe::brokers(self.address, patience)? {
                        known if known < brokers => Err(format!("it knows of {known} brokers of {brokers}").into()),
                        _ => Ok(response.api_keys.len()),
                    }
                });
            match ready {
                Ok(apis) => return Ok(apis),
                Err(error) if Instant::now() >= deadline => {
                    return Err(Error::Silent {
                        bootstrap: self.address.to_string(),
                        seconds: PATIENCE.as_secs(),
                        last: error.to_string(),
                        log: last_lines(&self.log),
                    });
                }
                Err(_) => sleep(Duration::from_millis(50)),
            }
        }
    }

    pub(super) fn process(&mut self) -> Result<&mut Process> {
        self.process.as_mut().ok_or_else(|| Error::Other(format!("the broker at {} does not run", self.address)))
    }
}
