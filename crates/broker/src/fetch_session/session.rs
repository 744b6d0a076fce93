use std::collections::{BTreeMap, HashMap};

use milena_messages::fetch::response::PartitionData;
use milena_messages::{ByteString, Uuid};

use super::{Key, Wanted};

/// A session: the partitions that a client reads, and what it knows of them.
#[derive(Debug)]
pub(crate) struct Session {
    pub(super) id: i32,
    /// Of the next request.
    pub(super) epoch: i32,
    pub(super) by_id: bool,
    /// In the order in which they are read. A partition that gave records goes to the end.
    partitions: BTreeMap<u64, Cached>,
    places: HashMap<Key, u64>,
    next_place: u64,
}

#[derive(Debug)]
struct Cached {
    wanted: Wanted,
    /// What the client got last.
    high_watermark: i64,
    log_start_offset: i64,
}

impl Session {
    pub(super) fn new<'a>(by_id: bool, partitions: impl Iterator<Item = (Wanted, &'a PartitionData)>) -> Self {
        let (partitions_by_place, places) = (BTreeMap::new(), HashMap::new());
        let mut session = Self { id: 0, epoch: 1, by_id, partitions: partitions_by_place, places, next_place: 0 };
        for (wanted, data) in partitions {
            session.add(Cached {
                wanted: owned(wanted),
                high_watermark: data.high_watermark,
                log_start_offset: data.log_start_offset,
            });
        }
        session
    }

    pub(super) fn len(&self) -> usize {
        self.partitions.len()
    }

    fn add(&mut self, cached: Cached) {
        self.places.insert(key(&cached.wanted), self.next_place);
        self.partitions.insert(self.next_place, cached);
        self.next_place += 1;
    }

    fn remove(&mut self, key: &Key) -> Option<Cached> {
        self.places.remove(key).and_then(|place| self.partitions.remove(&place))
    }

    pub(super) fn update(&mut self, wanted: Vec<Wanted>, forgotten: &[Key]) {
        for wanted in wanted {
            match self.places.get(&key(&wanted)).and_then(|place| self.partitions.get_mut(place)) {
                // The name that was found for an id stays, even when its topic was deleted.
                Some(cached) => cached.wanted = Wanted { topic: cached.wanted.topic.take(), ..wanted },
                None => self.add(Cached { wanted: owned(wanted), high_watermark: -1, log_start_offset: -1 }),
            }
        }
        for key in forgotten {
            self.remove(key);
        }
    }

    pub(super) fn next_epoch(&mut self) {
        self.epoch = self.epoch.checked_add(1).unwrap_or(1);
    }

    /// All partitions. Ids whose topics were not there before are looked up again.
    pub(super) fn wanted(&mut self, name_of: impl Fn(Uuid) -> Option<ByteString>) -> Vec<Wanted> {
        let mut all = Vec::with_capacity(self.partitions.len());
        for cached in self.partitions.values_mut() {
            if cached.wanted.topic.is_none() {
                cached.wanted.topic = name_of(cached.wanted.id);
            }
            all.push(cached.wanted.clone());
        }
        all
    }

    /// Whether a partition belongs into the response, which the client gets then.
    pub(super) fn changed(&mut self, wanted: &Wanted, data: &PartitionData) -> bool {
        let key = key(wanted);
        let Some(cached) = self.places.get(&key).and_then(|place| self.partitions.get_mut(place)) else { return false };
        let has_records = data.records.as_ref().is_some_and(|records| !records.is_empty());
        let news = has_records
            || cached.high_watermark != data.high_watermark
            || cached.log_start_offset != data.log_start_offset
            || data.preferred_read_replica >= 0
            || !data.error_code.is_none()
            || data.diverging_epoch.epoch >= 0;
        // After an error the partition comes again, whatever it has.
        cached.high_watermark = if data.error_code.is_none() { data.high_watermark } else { -1 };
        cached.log_start_offset = data.log_start_offset;
        if has_records {
            if let Some(cached) = self.remove(&key) {
                self.add(cached);
            }
        }
        news
    }

    pub(super) fn keys(&self) -> Vec<Key> {
        self.partitions.values().map(|cached| key(&cached.wanted)).collect()
    }

    pub(super) fn unsent(&mut self) {
        self.partitions.values_mut().for_each(|cached| cached.high_watermark = -1);
    }
}

/// The name comes in as a part of its request, which should not be kept for it.
fn owned(wanted: Wanted) -> Wanted {
    Wanted { topic: wanted.topic.map(|name| name.to_string().into()), ..wanted }
}

fn key(wanted: &Wanted) -> Key {
    if wanted.id.is_zero() {
        Key::Name(wanted.topic.clone().unwrap_or_default(), wanted.partition)
    } else {
        Key::Id(wanted.id, wanted.partition)
    }
}
