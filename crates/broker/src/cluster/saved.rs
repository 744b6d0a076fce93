//! What of a cluster is in the data folder, and how it comes back.

use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use crate::cluster::stored_config::Values;
use crate::cluster::{PRODUCER_ID_BLOCK, State, Topic};
use crate::disk::{Change, Disk, DiskLog, Job, LoadedLog, Saved, SavedTopic};
use crate::storage::leadership::Leadership;
use crate::storage::partition::Partition;

fn invalid(message: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

impl State {
    /// Takes over what a data folder holds, before any node is up, and writes to it from now on.
    ///
    /// # Errors
    /// The folder cannot be written; it holds what cannot be in this cluster.
    pub(crate) fn open_folder(&self, folder: &Path, saved: &Saved) -> io::Result<()> {
        let disk = Disk::open(folder, &self.cluster_id, self.config.node_id, saved)?;
        // Nobody else sets it.
        let _ = self.disk.set(disk);
        // Ids of a block that was begun may be in use.
        let next = saved.next_producer_id.max(0);
        self.next_producer_id
            .store((next + PRODUCER_ID_BLOCK - 1) / PRODUCER_ID_BLOCK * PRODUCER_ID_BLOCK, Ordering::Relaxed);
        self.restore(saved, false)
    }

    /// Takes over topics with their records. With `seed` they come from a folder that is not this cluster's: their replicas
    /// are on the first node, and they go to the data folder as new ones.
    ///
    /// # Errors
    /// There is such a topic; there is too little memory; the settings are not those of this broker.
    pub(crate) fn restore(&self, saved: &Saved, seed: bool) -> io::Result<()> {
        let mut topics = self.topics.write().unwrap_or_else(PoisonError::into_inner);
        for loaded in &saved.topics {
            let name = &loaded.topic.name;
            topics
                .check(name, loaded.logs.len(), self.config.max_partitions)
                .map_err(|refusal| invalid(refusal.message.into_owned()))?;
            let settings = loaded.topic.settings.iter().map(|(name, value)| (&**name, Some(&**value)));
            let config =
                self.topic_config(settings).map_err(|refusal| invalid(format!("{name}: {}", refusal.message)))?;
            let config = Arc::new(config);
            let partition = |(index, log): (usize, &Option<LoadedLog>)| {
                let replicas = loaded.topic.replicas.get(index).filter(|replicas| !seed && !replicas.is_empty());
                let replicas = replicas.cloned().unwrap_or_else(|| vec![self.config.node_id]);
                let leadership = Leadership::new(replicas, |_| false);
                let empty = LoadedLog::default();
                let log = log.as_ref().unwrap_or(&empty);
                Arc::new(Partition::restored(leadership, config.clone(), self.memory.clone(), log))
            };
            let partitions: Vec<_> = loaded.logs.iter().enumerate().map(partition).collect();
            let topic = Arc::new(Topic::new(name.clone().into(), loaded.id, config.clone(), partitions));
            topics.insert(topic.clone());
            if seed {
                let replicas = vec![vec![self.config.node_id]; loaded.logs.len()];
                self.keep_topic(&topic, replicas);
                topic.partitions().iter().for_each(|partition| partition.write_all());
            } else if let Some(disk) = self.disk.get() {
                for (index, partition) in topic.partitions().iter().enumerate() {
                    partition.attach(DiskLog::new(disk.clone(), name, index), topic.id);
                }
            }
        }
        if !self.memory.has_room(0) {
            return Err(invalid(format!(
                "the records take {} bytes of memory, more than the limit",
                self.memory.used()
            )));
        }
        Ok(())
    }

    /// Notes a new topic in the data folder, with its partitions from the first one on that is not there yet.
    pub(crate) fn keep_topic(&self, topic: &Topic, replicas: Vec<Vec<i32>>) {
        let Some(disk) = self.disk.get() else { return };
        let settings = topic.config().all_own().clone();
        let saved = SavedTopic { name: topic.name.to_string(), replicas, settings };
        disk.send(Job::Metadata(Change::topic(topic.id, &saved)));
        for (index, partition) in topic.partitions().iter().enumerate() {
            partition.attach(DiskLog::new(disk.clone(), &topic.name, index), topic.id);
        }
    }

    /// Notes new partitions of a topic in the data folder.
    pub(crate) fn keep_partitions(&self, topic: &Topic, first: usize, replicas: &[Vec<i32>]) {
        let Some(disk) = self.disk.get() else { return };
        let change =
            |(index, replicas): (usize, &Vec<i32>)| Change::partition(topic.id, (first + index) as i32, replicas);
        disk.send(Job::Metadata(replicas.iter().enumerate().map(change).collect()));
        for (index, partition) in topic.partitions().iter().enumerate().skip(first) {
            partition.attach(DiskLog::new(disk.clone(), &topic.name, index), topic.id);
        }
    }

    /// Notes in the data folder which settings of a topic changed.
    pub(crate) fn keep_settings(&self, topic: &Topic, before: &Values) {
        let Some(disk) = self.disk.get() else { return };
        let config = topic.config();
        let after = config.all_own();
        let gone = before.keys().filter(|name| !after.contains_key(*name)).map(|name| (name, None));
        let set = after.iter().filter(|(name, value)| before.get(*name) != Some(value));
        let set = set.map(|(name, value)| (name, Some(value.as_str())));
        let changes: Vec<_> = gone.chain(set).map(|(name, value)| Change::setting(&topic.name, name, value)).collect();
        if !changes.is_empty() {
            disk.send(Job::Metadata(changes));
        }
    }

    /// Writes all that is left to the data folder, and closes it. Waits for the disk.
    pub(crate) fn close_folder(&self) {
        let Some(disk) = self.disk.get() else { return };
        let partitions = self.topics().into_iter().flat_map(|topic| topic.partitions());
        disk.close(partitions.filter_map(|partition| partition.close()).collect());
    }
}
