//! Times by name, soonest first.

use std::collections::{BTreeMap, BTreeSet};

/// When each of many is due. All operations cost the logarithm of their number, however many there are.
#[derive(Debug, Default)]
pub(super) struct Timers {
    at: BTreeMap<String, i64>,
    due: BTreeSet<(i64, String)>,
}

impl Timers {
    /// Sets the time of a name, in place of the one before.
    pub(super) fn set(&mut self, name: &str, time: i64) {
        match self.at.get_mut(name) {
            Some(at) => {
                self.due.remove(&(*at, name.to_owned()));
                *at = time;
            }
            None => _ = self.at.insert(name.to_owned(), time),
        }
        self.due.insert((time, name.to_owned()));
    }

    /// Takes a name out; false when it is not there.
    pub(super) fn remove(&mut self, name: &str) -> bool {
        let Some(time) = self.at.remove(name) else { return false };
        self.due.remove(&(time, name.to_owned()))
    }

    /// The time of a name.
    pub(super) fn get(&self, name: &str) -> Option<i64> {
        self.at.get(name).copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// The soonest time.
    pub(super) fn first(&self) -> Option<i64> {
        self.due.first().map(|(time, _)| *time)
    }

    /// The names that are due at this time, soonest first.
    pub(super) fn due(&self, now_ms: i64) -> Vec<String> {
        self.due.iter().take_while(|(time, _)| *time <= now_ms).map(|(_, name)| name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_time_of_a_name_counts() {
        let mut timers = Timers::default();
        for (name, time) in [("a", 5), ("b", 3), ("a", 1), ("b", 9)] {
            timers.set(name, time);
        }
        assert_eq!((timers.first(), timers.get("b")), (Some(1), Some(9)));
        assert_eq!(timers.due(8), ["a"]);
        assert_eq!(timers.due(9), ["a", "b"]);
        assert!(timers.remove("a") && !timers.remove("a"));
        assert_eq!((timers.first(), timers.is_empty()), (Some(9), false));
        assert!(timers.remove("b") && timers.is_empty());
    }
}
