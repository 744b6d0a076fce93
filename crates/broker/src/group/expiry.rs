//! Offsets that nobody needs any more are deleted, and groups with nothing left.

use std::collections::BTreeSet;

use crate::coordinator::Effects;
use crate::group::classic::{ClassicGroup, Phase};
use crate::group::offset::{CONSUMER, Offset};
use crate::group::{GroupMachine, record};

/// Kafka's `offsets.retention.check.interval.ms`.
const CHECK_EVERY_MS: i64 = 600_000;

/// From when on the age of an offset counts.
#[derive(Clone, Copy, Debug)]
enum Since {
    Commit,
    /// The group became empty at that time.
    Emptied(i64),
}

impl Since {
    fn is_expired(self, offset: &Offset, now_ms: i64, retention_ms: i64) -> bool {
        let since = match self {
            Self::Commit => offset.commit_timestamp,
            Self::Emptied(time) => time,
        };
        // An old client said how long.
        offset.expire_timestamp.map_or(now_ms.saturating_sub(since) >= retention_ms, |expires| now_ms >= expires)
    }
}

impl ClassicGroup {
    /// `None` while its offsets do not expire.
    fn offsets_count_from(&self) -> Option<Since> {
        match self.protocol_type() {
            // It only stores offsets here.
            None => Some(Since::Commit),
            Some(_) if self.is_empty() => Some(Since::Emptied(self.state_since())),
            Some(CONSUMER) if self.phase == Phase::Stable => Some(Since::Commit),
            Some(_) => None,
        }
    }
}

impl GroupMachine {
    /// The first check is some time after the start.
    pub(super) fn begin_expiry(&mut self, now_ms: i64) {
        self.next_expiry = now_ms.saturating_add(CHECK_EVERY_MS);
    }

    /// When to look for expired offsets next.
    pub(super) fn expiry_deadline(&self) -> Option<i64> {
        let nothing = self.offsets.is_empty() && self.groups.is_empty() && self.consumers.is_empty();
        (!nothing).then_some(self.next_expiry)
    }

    /// Deletes what has expired, when it is time to look for it.
    pub(super) fn expire(&mut self, now_ms: i64, effects: &mut Effects<GroupMachine>) {
        if self.next_expiry > now_ms {
            return;
        }
        self.begin_expiry(now_ms);
        let known = self.groups.keys().chain(self.consumers.keys()).chain(self.offsets.keys());
        let ids: BTreeSet<String> = known.cloned().collect();
        for id in ids {
            if !effects.has_room() {
                // The rest goes with the next batch.
                self.next_expiry = now_ms;
                return;
            }
            if self.expire_offsets(&id, now_ms, effects) {
                self.delete_if_empty(&id, effects);
            }
        }
    }

    /// Deletes the expired offsets of a group. True when no others are left, and none are about to come.
    fn expire_offsets(&self, id: &str, now_ms: i64, effects: &mut Effects<GroupMachine>) -> bool {
        let Some(offsets) = self.offsets.get(id) else { return true };
        let since = match self.groups.get(id) {
            Some(group) => group.offsets_count_from(),
            None => Some(Since::Commit),
        };
        let Some(since) = since else { return false };
        let mut all = !offsets.has_pending();
        for (topic, partition, offset) in offsets.committed() {
            let is_expired = since.is_expired(offset, now_ms, self.settings.offsets_retention_ms);
            if is_expired && !self.is_subscribed(id, topic) && !offsets.is_unstable(topic, partition) {
                effects.record(record::offset_tombstone(id, topic, partition));
            } else {
                all = false;
            }
        }
        all
    }

    fn delete_if_empty(&mut self, id: &str, effects: &mut Effects<GroupMachine>) {
        if self.groups.get(id).is_some_and(ClassicGroup::is_empty) {
            self.groups.remove(id);
            self.due.remove(id);
            effects.record(record::group_tombstone(id));
        }
        if !self.has_consumers(id) {
            self.delete_consumer_group(id, effects);
        }
    }
}
