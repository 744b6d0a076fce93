//! Records that a broker begins with.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use milena_broker::{BrokerCluster, BrokerError};
use milena_client::Record;
use milena_messages::ErrorCode;

use crate::failure::{Failure, Result};
use crate::record::placed_from_json;

/// Records in one batch: as many bytes of keys and values as a producer sends in one, and no more than this many records.
const BATCH_BYTES: usize = 500_000;
const BATCH_RECORDS: usize = 5_000;

/// The records of a file by topic and partition, in their order.
#[derive(Debug, Default)]
pub(super) struct Seed {
    topics: BTreeMap<String, BTreeMap<i32, Vec<Record>>>,
}

impl Seed {
    /// Reads a file of JSON lines. Empty lines count for nothing.
    ///
    /// # Errors
    /// The file cannot be read; a line is no record, or names no topic.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let failed = |error: std::io::Error| Failure::failed(format!("{}: {error}", path.display()));
        let mut seed = Self::default();
        for (number, line) in BufReader::new(File::open(path).map_err(failed)?).split(b'\n').enumerate() {
            let line = line.map_err(failed)?;
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let wrong = |why: &str| Failure::failed(format!("{}, line {}: {why}", path.display(), number + 1));
            let (topic, partition, record) = placed_from_json(&line).map_err(|why| wrong(&why))?;
            let topic = topic.ok_or_else(|| wrong("the record has no `topic`"))?;
            seed.topics.entry(topic).or_default().entry(partition.unwrap_or(0)).or_default().push(record);
        }
        Ok(seed)
    }

    /// Puts the records into a cluster. Topics that are missing are created, with all partitions that the records name.
    ///
    /// # Errors
    /// What the cluster says against a topic or its records.
    pub(super) fn fill(self, cluster: &BrokerCluster, partitions: i32, replicas: i16) -> Result {
        for (topic, by_partition) in self.topics {
            let failed = |error| Failure::failed(error).preface(format!("--seed, topic {topic}: "));
            let needed = by_partition.keys().max().map_or(1, |last| last.saturating_add(1));
            match cluster.create_topic(&topic, partitions.max(needed), replicas) {
                Err(BrokerError::Refused { code: ErrorCode::TOPIC_ALREADY_EXISTS, .. }) => {}
                created => created.map_err(failed)?,
            }
            for (partition, records) in by_partition {
                for batch in batches(&records) {
                    cluster.append(&topic, partition, batch).map_err(failed)?;
                }
            }
        }
        Ok(())
    }
}

/// Cuts records into batches. A record that is larger than a batch has one of its own.
fn batches(mut records: &[Record]) -> impl Iterator<Item = &[Record]> {
    std::iter::from_fn(move || {
        let mut bytes = 0;
        let fits = records.iter().take(BATCH_RECORDS).take_while(|record| {
            bytes += size(record);
            bytes <= BATCH_BYTES
        });
        let count = fits.count().max(1).min(records.len());
        let (batch, rest) = records.split_at(count);
        records = rest;
        (!batch.is_empty()).then_some(batch)
    })
}

fn size(record: &Record) -> usize {
    let headers =
        record.headers.iter().map(|header| header.key.len() + header.value.as_ref().map_or(0, |value| value.len()));
    let parts = [&record.key, &record.value].into_iter().flatten().map(|part| part.len());
    parts.chain(headers).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_are_bounded_and_nothing_is_lost() {
        let record = |bytes: usize| Record::from_value(vec![b'x'; bytes]);
        let sizes = |records: &[Record]| batches(records).map(<[Record]>::len).collect::<Vec<_>>();
        assert_eq!(sizes(&[]), [0; 0]);
        assert_eq!(sizes(&[record(200_000), record(300_000), record(1), record(2_000_000), record(1)]), [2, 1, 1, 1]);
        assert_eq!(sizes(&vec![record(1); 12_000]), [5_000, 5_000, 2_000]);
    }
}
