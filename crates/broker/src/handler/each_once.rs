//! Kafka reads the partitions of some requests into a map. A partition that is listed twice is handled once.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use milena_messages::{ByteString, Uuid};

/// A topic of a request, with the partitions that it lists.
pub(super) trait Listed {
    type Partition;

    /// The name and the id; one of them is empty.
    fn topic(&self) -> (ByteString, Uuid);
    fn partitions(&mut self) -> &mut Vec<Self::Partition>;
    fn index(partition: &Self::Partition) -> i32;
}

/// Each partition once, with what was said last, at the place where it was listed first. Neighbours of the same topic are
/// joined, and topics without partitions are left out.
pub(super) fn each_once<T: Listed>(topics: Vec<T>) -> Vec<T> {
    let mut numbers = HashMap::new();
    let mut places: HashMap<(usize, i32), (usize, usize)> = HashMap::new();
    let mut kept: Vec<T> = Vec::new();
    let mut last = None;
    for mut topic in topics {
        let next = numbers.len();
        let number = *numbers.entry(topic.topic()).or_insert(next);
        let mut fresh = Vec::new();
        let joined = last == Some(number);
        let at = if joined { kept.len() - 1 } else { kept.len() };
        let before = if joined { kept[at].partitions().len() } else { 0 };
        for partition in std::mem::take(topic.partitions()) {
            match places.entry((number, T::index(&partition))) {
                Entry::Vacant(place) => {
                    place.insert((at, before + fresh.len()));
                    fresh.push(partition);
                }
                Entry::Occupied(place) => match *place.get() {
                    (topic, index) if topic == at && index >= before => fresh[index - before] = partition,
                    (topic, index) => kept[topic].partitions()[index] = partition,
                },
            }
        }
        if joined {
            kept[at].partitions().append(&mut fresh);
        } else if !fresh.is_empty() {
            *topic.partitions() = fresh;
            kept.push(topic);
            last = Some(number);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq)]
    struct Topic(&'static str, Vec<(i32, i32)>);

    impl Listed for Topic {
        type Partition = (i32, i32);

        fn topic(&self) -> (ByteString, Uuid) {
            (self.0.into(), Uuid::ZERO)
        }

        fn partitions(&mut self) -> &mut Vec<(i32, i32)> {
            &mut self.1
        }

        fn index(partition: &(i32, i32)) -> i32 {
            partition.0
        }
    }

    /// As Kafka 4.4 responds to a Fetch of version 11 with the same lists.
    #[test]
    fn the_last_entry_counts_at_the_place_of_the_first() {
        let once = |topics: &[(&'static str, &[(i32, i32)])]| {
            each_once(topics.iter().map(|(name, partitions)| Topic(name, partitions.to_vec())).collect())
        };
        assert_eq!(once(&[("a", &[(0, 1), (0, 2)])]), [Topic("a", vec![(0, 2)])]);
        assert_eq!(
            once(&[("a", &[(0, 1)]), ("b", &[(0, 2)]), ("a", &[(1, 3), (0, 4)])]),
            [Topic("a", vec![(0, 4)]), Topic("b", vec![(0, 2)]), Topic("a", vec![(1, 3)])]
        );
        assert_eq!(once(&[("a", &[(0, 1)]), ("a", &[(1, 2)])]), [Topic("a", vec![(0, 1), (1, 2)])]);
        assert_eq!(
            once(&[("a", &[(0, 1)]), ("b", &[(0, 2)]), ("a", &[(0, 3)]), ("b", &[(1, 4), (1, 5)])]),
            [Topic("a", vec![(0, 3)]), Topic("b", vec![(0, 2), (1, 5)])]
        );
        assert_eq!(once(&[("a", &[])]), []);
    }

    #[test]
    fn sixty_thousand_entries_of_one_partition_are_one() {
        let topics = (0..60_000).map(|n| Topic("a", vec![(0, n)])).collect();
        assert_eq!(each_once(topics), [Topic("a", vec![(0, 59_999)])]);
    }
}
