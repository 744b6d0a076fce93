use std::collections::{HashMap, HashSet};

use milena_messages::ByteString;
use milena_wire::{Error, Result};

/// A payload of a request: it is about one partition.
pub(crate) trait Partitioned {
    fn topic(&self) -> &ByteString;
    fn partition(&self) -> i32;
}

/// Topics in the order of their first payload, and in each the payloads in their order.
///
/// # Errors
/// Two payloads for one partition.
pub(crate) fn by_topic<P: Partitioned>(payloads: &[P]) -> Result<Vec<(ByteString, Vec<&P>)>> {
    let mut topics: Vec<(ByteString, Vec<&P>)> = Vec::new();
    let mut index: HashMap<&ByteString, usize> = HashMap::new();
    let mut seen = HashSet::new();
    for payload in payloads {
        let (topic, partition) = (payload.topic(), payload.partition());
        if !seen.insert((topic, partition)) {
            return Err(Error::invalid(format!("two payloads for partition {partition} of {topic}")).within("payloads"));
        }
        let at = *index.entry(topic).or_insert_with(|| {
            topics.push((topic.clone(), Vec::new()));
            topics.len() - 1
        });
        topics[at].1.push(payload);
    }
    Ok(topics)
}
