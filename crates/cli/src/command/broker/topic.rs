//! Topics that `--topic` creates.

use std::str::FromStr;

use milena_broker::BrokerCluster;

use crate::failure::{Failure, Result};

/// A topic as an option describes it: `orders:6:cleanup.policy=compact`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NewTopic {
    pub(super) name: String,
    partitions: Option<i32>,
    settings: Vec<(String, String)>,
}

impl NewTopic {
    /// Creates it.
    ///
    /// # Errors
    /// What the cluster says against it.
    pub(super) fn create(&self, cluster: &BrokerCluster, partitions: i32, replicas: i16) -> Result {
        let settings: Vec<(&str, &str)> = self.settings.iter().map(|(key, value)| (&**key, &**value)).collect();
        let partitions = self.partitions.unwrap_or(partitions);
        let created = cluster.create_topic_with(&self.name, partitions, replicas, &settings);
        created.map_err(|error| Failure::failed(error).preface(format!("--topic {}: ", self.name)))
    }
}

impl FromStr for NewTopic {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let mut parts = text.split(':');
        let name = parts.next().unwrap_or_default().to_owned();
        if name.is_empty() {
            return Err("the name of the topic is missing; write orders, orders:6 or orders:6:key=value".to_owned());
        }
        let mut partitions = None;
        let mut settings: Vec<(String, String)> = Vec::new();
        for (place, part) in parts.enumerate() {
            match (part.split_once('='), settings.last_mut()) {
                (Some((key, value)), _) => settings.push((key.to_owned(), value.to_owned())),
                (None, None) if place == 0 => {
                    let count = part.parse().ok().filter(|count| *count > 0);
                    partitions = Some(count.ok_or_else(|| format!("`{part}` is not a number of partitions"))?);
                }
                // A value with colons, such as a list of replicas.
                (None, Some((_, value))) => {
                    value.push(':');
                    value.push_str(part);
                }
                (None, None) => return Err(format!("`{part}` is not a setting; write key=value")),
            }
        }
        Ok(Self { name, partitions, settings })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_has_a_name_and_perhaps_partitions_and_settings() {
        let read = |text: &str| text.parse::<NewTopic>();
        let topic = |name: &str, partitions, settings: &[(&str, &str)]| NewTopic {
            name: name.to_owned(),
            partitions,
            settings: settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect(),
        };
        assert_eq!(read("orders"), Ok(topic("orders", None, &[])));
        assert_eq!(read("orders:6"), Ok(topic("orders", Some(6), &[])));
        let expected = topic("orders", Some(6), &[("cleanup.policy", "compact"), ("retention.ms", "-1")]);
        assert_eq!(read("orders:6:cleanup.policy=compact:retention.ms=-1"), Ok(expected));
        let expected = topic("orders", None, &[("leader.replication.throttled.replicas", "0:1,1:2"), ("a", "b=c")]);
        assert_eq!(read("orders:leader.replication.throttled.replicas=0:1,1:2:a=b=c"), Ok(expected));
        for (text, why) in [
            ("", "the name of the topic is missing"),
            (":3", "the name of the topic is missing"),
            ("orders:", "`` is not a number of partitions"),
            ("orders:0", "`0` is not a number of partitions"),
            ("orders:-1", "`-1` is not a number of partitions"),
            ("orders:3000000000", "`3000000000` is not a number of partitions"),
            ("orders:3:compact", "`compact` is not a setting"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(why), "{text}: {error}");
        }
    }
}
