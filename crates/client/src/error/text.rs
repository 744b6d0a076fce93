//! Parts of error texts, and what they depend on.

use std::borrow::Cow;
use std::sync::Arc;

use milena_messages::ApiKey;
use milena_wire::Report;

pub(super) fn list<E: std::error::Error>(errors: &[E]) -> String {
    let texts: Vec<String> = errors.iter().map(|error| Report(error).to_string()).collect();
    texts.join("; ")
}

pub(super) fn detail(message: &Option<String>) -> String {
    message.as_ref().map(|message| format!(": {message}")).unwrap_or_default()
}

pub(super) fn subject(topic: &Option<Arc<str>>, partition: &Option<i32>) -> String {
    match (topic, partition) {
        (Some(topic), Some(partition)) => format!(" for {}-{partition}", name(topic)),
        (Some(topic), None) => format!(" for {}", name(topic)),
        _ => String::new(),
    }
}

/// A topic as it is, or in quotes where a reader could not see where the name begins and ends.
fn name(topic: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if !topic.is_empty() && topic.chars().all(plain) { topic.into() } else { format!("{topic:?}").into() }
}

pub(super) fn attempts(count: u32) -> String {
    if count == 1 { "1 attempt".to_owned() } else { format!("{count} attempts") }
}

pub(super) fn partitions(count: usize) -> String {
    match count {
        0 => "it has none".to_owned(),
        1 => "it has 1 partition: 0".to_owned(),
        count => format!("it has {count} partitions: 0 to {}", count - 1),
    }
}

pub(super) fn range(earliest: Option<i64>, latest: Option<i64>) -> String {
    match (earliest, latest) {
        (Some(earliest), Some(latest)) if earliest < latest => {
            format!("the partition has offsets {earliest} to {}", latest - 1)
        }
        (_, Some(latest)) => format!("the partition is empty, its next record gets offset {latest}"),
        (Some(earliest), None) => format!("the partition begins at offset {earliest}"),
        (None, None) => "its offsets could not be looked up".to_owned(),
    }
}

pub(super) fn limit(limit: Option<usize>, setting: &str) -> String {
    match limit {
        Some(limit) => format!(", {setting} allows {limit}"),
        None => format!(", more than {setting} allows"),
    }
}

/// Whether requests of an API change nothing.
pub(super) fn only_reads(api: ApiKey) -> bool {
    const READS: [ApiKey; 15] = [
        ApiKey::API_VERSIONS,
        ApiKey::DESCRIBE_ACLS,
        ApiKey::DESCRIBE_CLUSTER,
        ApiKey::DESCRIBE_CONFIGS,
        ApiKey::DESCRIBE_GROUPS,
        ApiKey::DESCRIBE_LOG_DIRS,
        ApiKey::DESCRIBE_PRODUCERS,
        ApiKey::FETCH,
        ApiKey::FIND_COORDINATOR,
        ApiKey::LIST_GROUPS,
        ApiKey::LIST_OFFSETS,
        ApiKey::LIST_TRANSACTIONS,
        ApiKey::METADATA,
        ApiKey::OFFSET_FETCH,
        ApiKey::OFFSET_FOR_LEADER_EPOCH,
    ];
    READS.contains(&api)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_would_be_misread_is_in_quotes() {
        assert_eq!(subject(&Some("letters".into()), &Some(3)), " for letters-3");
        assert_eq!(subject(&Some("a b".into()), &None), " for \"a b\"");
        assert_eq!(subject(&Some("".into()), &None), " for \"\"");
    }

    #[test]
    fn one_attempt_is_singular() {
        assert_eq!([attempts(1), attempts(2)], ["1 attempt", "2 attempts"]);
    }
}
