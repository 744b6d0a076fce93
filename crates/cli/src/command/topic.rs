//! The topic and the partitions that a command works on, as options name them.

use std::ops::RangeInclusive;
use std::time::Duration;

use clap::Args;
use milena_client::{Client, Topic};
use milena_messages::ErrorCode;
use tokio::time::Instant;

use crate::failure::{Failure, Result};

/// The topic, by its place or by an option.
#[derive(Args, Debug)]
#[group(required = true, multiple = false)]
pub(super) struct TopicName {
    /// The topic
    #[arg(value_name = "TOPIC")]
    name: Option<String>,

    /// The topic, as an option
    #[arg(long = "topic", short = 't', value_name = "TOPIC")]
    option: Option<String>,
}

impl TopicName {
    /// The name.
    pub(super) fn as_str(&self) -> &str {
        self.name.as_deref().or(self.option.as_deref()).unwrap_or_default()
    }
}

/// Numbers of partitions: `3`, or `0-5` with both ends.
pub(super) type Numbers = RangeInclusive<i32>;

/// Reads one number, or two with `-` between them.
///
/// # Errors
/// What is wrong with the text.
pub(super) fn numbers(text: &str) -> Result<Numbers, String> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
        digits.then(|| text.parse::<i32>().ok()).flatten()
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok(first..=last),
        (Some(first), Some(last)) => Err(format!("no partition is between {first} and {last}")),
        _ => Err("expected the number of a partition, or a range such as 0-5".to_owned()),
    }
}

/// How long a topic without leaders is looked at again: it may be new. Brokers before 0.11 create one that is named.
const GRACE_OF_TOPIC: Duration = Duration::from_secs(5);

/// How long a partition without a leader is looked at again: an election takes less.
const GRACE_OF_PARTITION: Duration = Duration::from_secs(1);

const PAUSE: Duration = Duration::from_millis(100);

/// The partitions of a topic, as far as they are wanted.
pub(super) struct Partitions {
    /// Every one that the topic has, in order.
    pub(super) all: Vec<i32>,
    /// Those that are wanted, in order and each once.
    pub(super) wanted: Vec<i32>,
    /// Those of the wanted ones that have no leader.
    pub(super) leaderless: Vec<i32>,
}

impl Partitions {
    /// Looks up a topic. All partitions are wanted when none is named. Waits a moment for those without a leader.
    ///
    /// # Errors
    /// The topic does not exist, or has no such partition.
    pub(super) async fn look_up(client: &Client, topic: &str, named: &[Numbers]) -> Result<Self> {
        let started = Instant::now();
        loop {
            let cluster = client.metadata(Some(&[topic])).await?;
            let found = cluster.topic(topic);
            let error = found.map_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, |topic| topic.error);
            let waited = started.elapsed();
            let partitions = match (found, error) {
                (Some(found), ErrorCode::NONE) => Self::of(found, named)?,
                (_, ErrorCode::LEADER_NOT_AVAILABLE) if waited < GRACE_OF_TOPIC => {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
                _ => {
                    return Err(topic_failure(topic, error));
                }
            };
            if partitions.leaderless.is_empty() || waited >= GRACE_OF_PARTITION.min(client.config().deadline) {
                return Ok(partitions);
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    fn of(topic: &Topic, named: &[Numbers]) -> Result<Self> {
        let all: Vec<i32> = topic.partitions.iter().map(|partition| partition.index).collect();
        if let Some(missing) = named.iter().find_map(|range| range.clone().find(|number| !all.contains(number))) {
            let (name, count) = (&topic.name, all.len());
            let partitions = match count {
                1 => "1 partition, number 0".to_owned(),
                _ => format!("{count} partitions, 0 to {}", count.saturating_sub(1)),
            };
            return Err(Failure::failed(format!("{name} has no partition {missing}, it has {partitions}")));
        }
        let is_wanted = |number: &i32| named.is_empty() || named.iter().any(|range| range.contains(number));
        let leaderless = topic.partitions.iter().filter(|partition| partition.leader.is_none());
        let leaderless = leaderless.map(|partition| partition.index).filter(is_wanted).collect();
        Ok(Self { wanted: all.iter().copied().filter(is_wanted).collect(), all, leaderless })
    }
}

/// What to say about a partition without a leader.
/// Why Metadata has no partitions of a topic.
pub(super) fn topic_failure(topic: &str, error: ErrorCode) -> Failure {
    match error {
        ErrorCode::UNKNOWN_TOPIC_OR_PARTITION => Failure::failed(format!("topic `{topic}` does not exist ({error})"))
            .hint("`milena topics list` shows the topics, `milena topics create` creates one"),
        ErrorCode::INVALID_TOPIC_EXCEPTION => Failure::failed(format!("`{topic}` is not a topic name ({error})"))
            .hint("a topic name has 1 to 249 letters a-z and A-Z, digits, dots, underscores and hyphens"),
        _ => Failure::failed(format!("topic `{topic}`: {error}")),
    }
}

pub(super) fn no_leader(topic: &str, partition: i32) -> Failure {
    Failure::failed(format!("{topic}-{partition} has no leader now"))
        .hint("`milena metadata` shows which brokers are alive and which hold its replicas")
}

#[cfg(test)]
mod tests {
    use milena_client::Partition;

    use super::*;

    fn topic(leaders: &[Option<i32>]) -> Topic {
        let partition = |(index, leader): (i32, &Option<i32>)| Partition {
            index,
            leader: *leader,
            leader_epoch: None,
            replicas: Vec::new(),
            in_sync: Vec::new(),
            offline: Vec::new(),
            error: ErrorCode::NONE,
        };
        Topic {
            name: "letters".to_owned(),
            id: None,
            internal: false,
            error: ErrorCode::NONE,
            partitions: (0..).zip(leaders).map(partition).collect(),
        }
    }

    #[test]
    fn partitions_are_numbers_and_ranges() {
        assert_eq!(numbers("3"), Ok(3..=3));
        assert_eq!(numbers("0-2"), Ok(0..=2));
        for wrong in ["", "-1", "-", "1-", "2-1", "a", "+1", "0-99999999999"] {
            assert!(numbers(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_partition_is_wanted_once_and_has_to_exist() {
        let topic = topic(&[Some(1), None, Some(1)]);
        let found = Partitions::of(&topic, &[2..=2, 1..=2, 2..=2]).unwrap();
        assert_eq!((found.wanted, found.leaderless), (vec![1, 2], vec![1]));
        let all = Partitions::of(&topic, &[]).unwrap();
        assert_eq!((all.all.clone(), all.all), (all.wanted, vec![0, 1, 2]));
        let error = Partitions::of(&topic, &[0..=i32::MAX]).err().unwrap();
        assert_eq!(error.message(), "letters has no partition 3, it has 3 partitions, 0 to 2");
    }
}
