use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex};

use super::IDS_PER_SHARD;
#[cfg(test)]
use super::lock;
use super::session::Session;

/// As in Kafka 4.4.
pub(super) const SHARDS: usize = 8;
/// How long a session has to be unused, or in use, before it may give way to another one: Kafka's two minutes.
const EVICTION_MS: i64 = 120_000;

/// Whether a session belongs to a replica, its size and its id: the least one gives way first.
type Value = (bool, usize, i32);

/// A part of the sessions of a node.
#[derive(Debug)]
pub(super) struct Shard {
    slots: usize,
    max_partitions: usize,
    first_id: i32,
    sessions: HashMap<i32, Entry>,
    partitions: usize,
    /// By the time of their last request.
    last_used: BTreeSet<(i64, i32)>,
    /// Those that give way to any other session.
    evictable_by_all: BTreeSet<Value>,
    /// Those that give way to sessions of replicas.
    evictable_by_privileged: BTreeSet<Value>,
}

#[derive(Debug)]
struct Entry {
    session: Arc<Mutex<Session>>,
    privileged: bool,
    size: usize,
    created_ms: i64,
    last_used_ms: i64,
}

impl Shard {
    pub(super) fn new(slots: usize, max_partitions: usize, first_id: i32) -> Self {
        Self {
            slots,
            max_partitions,
            first_id: first_id.max(1),
            sessions: HashMap::new(),
            partitions: 0,
            last_used: BTreeSet::new(),
            evictable_by_all: BTreeSet::new(),
            evictable_by_privileged: BTreeSet::new(),
        }
    }

    pub(super) fn get(&self, id: i32) -> Option<Arc<Mutex<Session>>> {
        self.sessions.get(&id).map(|entry| entry.session.clone())
    }

    /// Opens a session of so many partitions when there is room for it, and gives its id.
    pub(super) fn open(
        &mut self,
        privileged: bool,
        size: usize,
        session: impl FnOnce() -> Session,
        now_ms: i64,
    ) -> Option<i32> {
        let has_slot = self.sessions.len() < self.slots || self.evict((privileged, size, 0), now_ms);
        if !has_slot || self.partitions + size > self.max_partitions {
            return None;
        }
        let id = self.new_id();
        let mut session = session();
        session.id = id;
        let session = Arc::new(Mutex::new(session));
        let entry = Entry { session, privileged, size: 0, created_ms: now_ms, last_used_ms: now_ms };
        self.sessions.insert(id, entry);
        self.touch(id, size, now_ms);
        Some(id)
    }

    fn new_id(&self) -> i32 {
        loop {
            let random = RandomState::new().hash_one(0u8) % IDS_PER_SHARD as u64;
            let id = self.first_id.saturating_add(i32::try_from(random).unwrap_or(0));
            // The first shard begins at 1 and has one id less.
            if id / IDS_PER_SHARD == self.first_id / IDS_PER_SHARD && !self.sessions.contains_key(&id) {
                return id;
            }
        }
    }

    /// Makes room for a session that is worth so much; false when all others stay.
    fn evict(&mut self, value: Value, now_ms: i64) -> bool {
        let Some(&(last_used_ms, oldest)) = self.last_used.first() else { return false };
        if now_ms - last_used_ms > EVICTION_MS {
            self.remove(oldest);
            return true;
        }
        let evictable = if value.0 { &self.evictable_by_privileged } else { &self.evictable_by_all };
        match evictable.first() {
            Some(least) if value >= *least => {
                let id = least.2;
                self.remove(id);
                true
            }
            _ => false,
        }
    }

    pub(super) fn remove(&mut self, id: i32) {
        let Some(entry) = self.sessions.remove(&id) else { return };
        self.last_used.remove(&(entry.last_used_ms, id));
        let value = (entry.privileged, entry.size, id);
        self.evictable_by_all.remove(&value);
        self.evictable_by_privileged.remove(&value);
        self.partitions -= entry.size;
    }

    /// A session was used, and has so many partitions now. False when those are too many for this node.
    pub(super) fn touch(&mut self, id: i32, size: usize, now_ms: i64) -> bool {
        let Some(entry) = self.sessions.get_mut(&id) else { return false };
        let partitions = self.partitions - entry.size + size;
        if size > entry.size && partitions > self.max_partitions {
            return false;
        }
        self.last_used.remove(&(entry.last_used_ms, id));
        self.last_used.insert((now_ms, id));
        let before = (entry.privileged, entry.size, id);
        self.evictable_by_all.remove(&before);
        self.evictable_by_privileged.remove(&before);
        let value = (entry.privileged, size, id);
        let is_old = now_ms - entry.created_ms > EVICTION_MS;
        if !entry.privileged || is_old {
            self.evictable_by_privileged.insert(value);
        }
        if is_old {
            self.evictable_by_all.insert(value);
        }
        (entry.size, entry.last_used_ms) = (size, now_ms);
        self.partitions = partitions;
        true
    }

    pub(super) fn clear(&mut self) {
        let ids: Vec<i32> = self.sessions.keys().copied().collect();
        ids.into_iter().for_each(|id| self.remove(id));
    }

    #[cfg(test)]
    pub(super) fn partitions(&self) -> usize {
        let sizes: usize = self.sessions.values().map(|entry| lock(&entry.session).len()).sum();
        assert_eq!(sizes, self.partitions, "what is counted is there");
        self.partitions
    }
}
