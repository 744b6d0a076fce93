//! Names and numbers that fit the state of the moment, mostly.

use super::*;

impl Generator {
    pub(super) fn id_of(&mut self, topic: &str) -> Value {
        let known = self.topic_ids.get(topic).cloned();
        if self.random.chance(8) {
            "_____________________w".into()
        } else {
            known.unwrap_or_else(|| "AAAAAAAAAAAAAAAAAAAAAQ".into())
        }
    }

    pub(super) fn topic(&self, number: usize) -> String {
        format!("{}-t{number}", self.prefix)
    }

    pub(super) fn group(&self, number: usize) -> String {
        format!("{}-g{number}", self.prefix)
    }

    pub(super) fn transactional(&self, number: usize) -> String {
        format!("{}-x{number}", self.prefix)
    }

    /// Mostly the first one, seldom one that is not there.
    pub(super) fn any_topic(&mut self) -> String {
        let number = *self.random.pick(&[0, 0, 0, 0, 1, 1, 1, 2]);
        self.topic(number)
    }

    pub(super) fn any_partition(&mut self) -> i64 {
        *self.random.pick(&[0, 0, 0, 0, 0, 0, 1, 1, 2, -1])
    }

    pub(super) fn any_group(&mut self) -> String {
        if let Some(group) = self.focus.take() {
            return group;
        }
        match self.random.below(24) {
            0 => String::new(),
            1..=4 => self.group(1),
            _ => self.group(0),
        }
    }

    pub(super) fn any_transactional(&mut self) -> Value {
        match self.random.below(16) {
            0 => "".into(),
            1..=4 => self.transactional(1).into(),
            _ => self.transactional(0).into(),
        }
    }

    pub(super) fn any_member(&mut self, group: &str, connection: usize) -> Value {
        match self.random.below(20) {
            0 => "nobody".into(),
            1 => "".into(),
            2 | 3 => {
                let all: Vec<&Value> = self.members.values().collect();
                if all.is_empty() { "".into() } else { (*self.random.pick(&all)).clone() }
            }
            _ => self.members.get(&(group.to_owned(), connection)).cloned().unwrap_or_else(|| "".into()),
        }
    }

    pub(super) fn generation(&mut self, group: &str, connection: usize) -> i64 {
        let epoch = self.epochs.get(&(group.to_owned(), connection));
        let known = epoch.or_else(|| self.generations.get(group)).copied().unwrap_or(-1);
        match self.random.below(16) {
            0 => known + 1,
            1 => known - 1,
            2 => -1,
            _ => known,
        }
    }

    pub(super) fn instance(&mut self) -> Value {
        match self.random.below(12) {
            0 => "i0".into(),
            1 => "i1".into(),
            _ => Value::Null,
        }
    }

    pub(super) fn leader_epoch(&mut self) -> i64 {
        *self.random.pick(&[-1, -1, -1, -1, -1, 0, 0, 0, 1, -2, -5])
    }

    /// A producer with its epoch, which seldom is another one.
    pub(super) fn producer(&mut self) -> (Value, i64, Value) {
        let last = self.producers.len().saturating_sub(1);
        let index = if self.random.chance(75) { last } else { self.random.below(last + 1) };
        let Some(producer) = self.producers.get(index).cloned() else {
            return (json!(*self.random.pick(&[-1, 987_654])), 0, self.any_transactional());
        };
        let epoch = match self.random.below(16) {
            0 => producer.epoch + 1,
            1 => (producer.epoch - 1).max(0),
            _ => producer.epoch,
        };
        let transactional_id = match self.random.below(12) {
            0 => self.any_transactional(),
            _ if producer.transactional_id.is_null() => self.any_transactional(),
            _ => producer.transactional_id.clone(),
        };
        (producer.id, epoch, transactional_id)
    }
}
