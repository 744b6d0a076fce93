//! Times by key, soonest first.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};

/// When each of many is due. All operations cost the logarithm of their number, however many there are.
#[derive(Clone, Debug)]
pub(crate) struct Timers<K = String> {
    at: BTreeMap<K, i64>,
    due: BTreeSet<(i64, K)>,
}

impl<K> Default for Timers<K> {
    fn default() -> Self {
        Self { at: BTreeMap::new(), due: BTreeSet::new() }
    }
}

impl<K: Ord + Clone> Timers<K> {
    /// Sets the time of a key, in place of the one before.
    pub(crate) fn set<Q>(&mut self, key: &Q, time: i64)
    where
        K: Borrow<Q>,
        Q: Ord + ToOwned<Owned = K> + ?Sized,
    {
        match self.at.get_mut(key) {
            Some(at) => {
                self.due.remove(&(*at, key.to_owned()));
                *at = time;
            }
            None => _ = self.at.insert(key.to_owned(), time),
        }
        self.due.insert((time, key.to_owned()));
    }

    /// Takes a key out; false when it is not there.
    pub(crate) fn remove<Q>(&mut self, key: &Q) -> bool
    where
        K: Borrow<Q>,
        Q: Ord + ToOwned<Owned = K> + ?Sized,
    {
        let Some(time) = self.at.remove(key) else { return false };
        self.due.remove(&(time, key.to_owned()))
    }

    /// The time of a key.
    pub(crate) fn get<Q>(&self, key: &Q) -> Option<i64>
    where
        K: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.at.get(key).copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// The soonest time.
    pub(crate) fn first(&self) -> Option<i64> {
        self.due.first().map(|(time, _)| *time)
    }

    /// The keys that are due at this time, soonest first.
    pub(crate) fn due(&self, now_ms: i64) -> Vec<K> {
        self.due.iter().take_while(|(time, _)| *time <= now_ms).map(|(_, key)| key.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_time_of_a_key_counts() {
        let mut timers: Timers = Timers::default();
        for (key, time) in [("a", 5), ("b", 3), ("a", 1), ("b", 9)] {
            timers.set(key, time);
        }
        assert_eq!((timers.first(), timers.get("b")), (Some(1), Some(9)));
        assert_eq!(timers.due(8), ["a"]);
        assert_eq!(timers.due(9), ["a", "b"]);
        assert!(timers.remove("a") && !timers.remove("a"));
        assert_eq!((timers.first(), timers.is_empty()), (Some(9), false));
        assert!(timers.remove("b") && timers.is_empty());
    }
}
