//! Responses to commits: Kafka lists what it refuses at once before what the coordinator says, and each topic once.

use std::collections::HashMap;

use milena_messages::{ByteString, Uuid};

/// A topic of a response.
pub(super) trait Responded {
    /// The name and the id; one of them is empty.
    fn topic(&self) -> (ByteString, Uuid);
    /// Moves the partitions of the same topic to the end of this one's.
    fn append(&mut self, other: Self);
}

/// Topics of a response, in the order in which they were named first.
pub(super) struct Merged<T> {
    topics: Vec<T>,
    places: HashMap<(ByteString, Uuid), usize>,
}

impl<T: Responded> Merged<T> {
    pub(super) fn new() -> Self {
        Self { topics: Vec::new(), places: HashMap::new() }
    }

    /// Adds a topic, to the one of the same name if there is one.
    pub(super) fn add(&mut self, topic: T) {
        let next = self.topics.len();
        match *self.places.entry(topic.topic()).or_insert(next) {
            place if place < next => self.topics[place].append(topic),
            _ => self.topics.push(topic),
        }
    }

    /// All topics, with those of the coordinator. They stay as they are when nothing was refused before.
    pub(super) fn with(mut self, committed: Vec<T>) -> Vec<T> {
        if self.topics.is_empty() {
            return committed;
        }
        committed.into_iter().for_each(|topic| self.add(topic));
        self.topics
    }
}
