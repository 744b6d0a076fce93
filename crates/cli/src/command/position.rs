//! Partitions and places in them, as options name them.

use std::str::FromStr;
use std::time::Duration;

use milena_client::{Client, OffsetSpec, Start, Stop};
use milena_messages::ErrorCode;

use crate::failure::{Failure, Result};
use crate::time;

/// Where to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// Where the client can look it up.
    Start(Start),
    /// So many offsets before the end.
    Last(i64),
}

impl FromStr for From {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(match text {
            "earliest" => Self::Start(Start::EARLIEST),
            "latest" => Self::Start(Start::LATEST),
            _ => match (text.parse::<i64>(), time::parse(text)) {
                (Ok(offset), _) if offset >= 0 => Self::Start(Start::Offset(offset)),
                (Ok(before), _) => Self::Last(before.checked_neg().ok_or("this is too far")?),
                (Err(_), Some(timestamp)) => Self::Start(Start::At(OffsetSpec::Timestamp(timestamp))),
                (Err(_), None) => {
                    return Err("expected earliest, latest, an offset, -N for the last N, \
                                2024-05-01T12:00:00Z, or @ and milliseconds"
                        .to_owned());
                }
            },
        })
    }
}

impl From {
    /// The place in one partition.
    pub(crate) async fn start(self, client: &Client, topic: &str, partition: i32) -> Result<Start> {
        let before = match self {
            Self::Start(start) => return Ok(start),
            Self::Last(before) => before,
        };
        let offset = async |spec| client.offset(topic, partition, spec).await;
        let earliest = offset(OffsetSpec::Earliest).await?.map_or(0, |found| found.offset);
        let latest = offset(OffsetSpec::Latest).await?.map_or(0, |found| found.offset);
        Ok(Start::Offset(latest.saturating_sub(before).max(earliest)))
    }
}

/// `end`, `never`, or an offset.
pub(crate) fn stop(text: &str) -> Result<Stop, String> {
    match text {
        "end" => Ok(Stop::End),
        "never" => Ok(Stop::Never),
        _ => match text.parse() {
            Ok(offset) if offset >= 0 => Ok(Stop::Offset(offset)),
            _ => Err("expected end, never, or an offset".to_owned()),
        },
    }
}

/// How often, and with which pause between, a topic is looked at again whose leaders are not chosen yet.
const PAUSES_FOR_LEADERS: usize = 50;
const PAUSE: Duration = Duration::from_millis(100);

/// The partitions of a topic that are meant: all when none is named.
pub(crate) async fn partitions_of(client: &Client, topic: &str, named: &[i32]) -> Result<Vec<i32>> {
    let mut cluster = client.metadata(Some(&[topic])).await?;
    // A topic that was made a moment ago has no leaders yet; brokers before 0.11 make one when it is named.
    for _ in 0..PAUSES_FOR_LEADERS {
        if cluster.topic(topic).is_none_or(|topic| topic.error != ErrorCode::LEADER_NOT_AVAILABLE) {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        cluster = client.metadata(Some(&[topic])).await?;
    }
    let found = cluster.topic(topic);
    let error = found.map_or(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, |topic| topic.error);
    if !error.is_none() {
        return Err(Failure::failed(format!("topic {topic}: {error}"))
            .hint("`milena topics list` shows what there is, `milena topics create` makes it"));
    }
    let all: Vec<i32> = found.map_or_else(Vec::new, |topic| topic.partitions.iter().map(|p| p.index).collect());
    if named.is_empty() {
        return Ok(all);
    }
    match named.iter().find(|partition| !all.contains(partition)) {
        Some(wrong) => Err(Failure::failed(format!("{topic} has no partition {wrong}, it has {}", all.len()))),
        None => Ok(named.to_vec()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_many_names() {
        assert_eq!("17".parse(), Ok(From::Start(Start::Offset(17))));
        assert_eq!("-3".parse(), Ok(From::Last(3)));
        assert_eq!("earliest".parse(), Ok(From::Start(Start::EARLIEST)));
        assert_eq!("@5".parse(), Ok(From::Start(Start::At(OffsetSpec::Timestamp(5)))));
        assert_eq!("1970-01-02".parse(), Ok(From::Start(Start::At(OffsetSpec::Timestamp(86_400_000)))));
        assert!("soon".parse::<From>().is_err());
        assert_eq!(stop("end"), Ok(Stop::End));
        assert!(stop("-1").is_err());
    }
}
