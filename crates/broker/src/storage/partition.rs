use std::sync::{Arc, Mutex};

use milena_messages::{ErrorCode, Uuid};
use milena_records::{Batch, Control, ReadOptions, Record, TimestampType};

use crate::cluster::topic_config::TopicConfig;
use crate::disk::{DiskLog, Job, LoadedLog};
use crate::refusal::Refusal;
use crate::storage::compaction::{LastBatch, Pass};
use crate::storage::incoming::IncomingBatch;
use crate::storage::leadership::Leadership;
use crate::storage::log::{BatchKind, Log, LogBatch};
use crate::storage::memory::{Charge, Memory};
use crate::storage::own;
use crate::storage::producer_state::{Appended, Producer, Producers};
use crate::storage::segment::Segment;
use crate::storage::transactions::Transactions;
use crate::storage::waiter::{Waiter, Watches, lock};

/// One partition: who leads it, its log, its producers, and who waits for news.
#[derive(Debug)]
pub(crate) struct Partition {
    inner: Mutex<Inner>,
    watches: Mutex<Watches>,
}

/// What the lock of a partition protects.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) leadership: Leadership,
    pub(crate) log: Log,
    pub(crate) producers: Producers,
    pub(crate) transactions: Transactions,
    /// The settings of the topic.
    config: Arc<TopicConfig>,
    memory: Charge,
    /// The files of the partition, with a data folder.
    disk: Option<DiskLog>,
}

impl Inner {
    /// Where an epoch ends, as [`Log::end_of_epoch`], with the epoch of the leader even when it has appended nothing.
    pub(crate) fn end_of_epoch(&self, asked: i32) -> Option<(i32, i64)> {
        let (latest, end) = (self.leadership.epoch, self.log.end_offset());
        match self.log.latest_epoch() {
            // The leader's epoch begins with its election, before the first batch.
            Some(last) if last >= latest => self.log.end_of_epoch(asked),
            _ if asked == latest => Some((latest, end)),
            _ if asked == -1 || asked > latest => None,
            None => Some((asked, end)),
            Some(last) if asked >= last => Some((last, end)),
            Some(_) => self.log.end_of_epoch(asked),
        }
    }

    /// Where consumers stop that read committed records only.
    pub(crate) fn last_stable_offset(&self) -> i64 {
        let end = self.log.high_watermark();
        self.transactions.first_open().map_or(end, |first| first.max(self.log.start_offset()).min(end))
    }

    /// The segment before the active one is full: its indexes go to the disk.
    fn finish_segment(&self) {
        let Some(disk) = &self.disk else { return };
        if let Some(segment) = self.log.segments().rev().nth(1) {
            let (segment, aborted) = (segment.clone(), self.transactions.aborted().to_vec());
            let producers = (self.log.active_base_offset(), self.snapshot());
            disk.send(|folder| Job::Finish { folder, segment, aborted, producers });
        }
    }

    /// What is known of producers, as Kafka writes it.
    fn snapshot(&self) -> Vec<u8> {
        let entries = self.producers.to_snapshot(|id| self.transactions.open_since(id));
        // Version 1 has a place for all of it.
        milena_storage::write_producers(&entries, 1).unwrap_or_default()
    }

    /// Epochs that changed go to the disk.
    fn keep_epochs(&mut self) {
        let Some(disk) = &mut self.disk else { return };
        if self.log.epochs() != disk.epochs {
            disk.epochs = self.log.epochs().to_vec();
            let epochs = disk.epochs.clone();
            disk.send(|folder| Job::Epochs { folder, epochs });
        }
    }

    /// The first offset goes to the disk.
    fn keep_start(&mut self) {
        let offset = self.log.start_offset();
        if let Some(disk) = &self.disk {
            disk.send(|folder| Job::Start { folder, offset });
        }
        self.keep_epochs();
    }

    /// All segments go to the disk, in the place of these.
    fn rewrite(&self, old: Vec<i64>) {
        let Some(disk) = &self.disk else { return };
        let (new, aborted) = (self.log.segments().cloned().collect(), self.transactions.aborted().to_vec());
        disk.send(|folder| Job::Replace { folder, old, new, aborted });
    }

    fn bases(&self) -> Vec<i64> {
        self.log.segments().map(Segment::base_offset).collect()
    }

    /// Notes how much memory the log takes.
    fn charge(&mut self) {
        let bytes = self.log.memory();
        self.memory.set(bytes);
    }

    /// What compaction would work on; `None` when it is not worthwhile.
    fn pass(&mut self, now_ms: i64, always: bool) -> Option<Pass> {
        let when = self.config.compact_when()?;
        let cleanable = self.log.cleanable(&when, self.last_stable_offset(), now_ms);
        if !always && !cleanable.is_due(&when) {
            return None;
        }
        let segments = self.log.segments().take_while(|segment| segment.base_offset() < cleanable.end);
        let segments: Vec<_> = segments.cloned().collect();
        let last = |producer: &Producer| match producer.last_data_offset() {
            Some(offset) => LastBatch::Data(offset),
            None => LastBatch::Marker(producer.epoch),
        };
        (!segments.is_empty()).then(|| Pass {
            segments,
            first_dirty: if always { self.log.start_offset() } else { cleanable.first_dirty },
            end: cleanable.end,
            generation: self.log.generation(),
            producers: self.producers.all().map(|(id, producer)| (id, last(producer))).collect(),
            aborted: self.transactions.aborted().to_vec(),
            now_ms,
            delete_retention_ms: self.config.delete_retention_ms,
            segment_bytes: self.config.roll_at().bytes,
        })
    }

    /// Appends a batch that is no marker, and notes what it says of its producer.
    fn put_data(&mut self, batch: IncomingBatch, now_ms: i64) -> Result<Appended, Refusal> {
        let appended = self.put(&batch, now_ms)?;
        if let Some(sequence) = batch.sequence {
            self.producers.appended(sequence, appended, self.log.end_offset() - 1, batch.max_timestamp);
            if batch.kind == BatchKind::Transactional {
                self.producers.verified(sequence.producer_id);
                self.transactions.wrote(sequence.producer_id, appended.base_offset);
            }
        }
        Ok(appended)
    }

    /// Notes what a batch says of its producer that was in the log before.
    fn learn(&mut self, batch: &LogBatch) {
        let Some(sequence) = batch.sequence else { return };
        let id = sequence.producer_id;
        match batch.kind {
            BatchKind::Control => {
                // A marker whose record compaction removed says nothing but the epoch.
                let (committed, coordinator_epoch) = marker(batch).unwrap_or((true, -1));
                self.transactions.ended(id, batch.base_offset, committed);
                self.producers.ended(id, sequence.epoch, coordinator_epoch, batch.max_timestamp);
                return;
            }
            BatchKind::Transactional => self.transactions.wrote(id, batch.base_offset),
            BatchKind::Plain => {}
        }
        let appended = Appended { base_offset: batch.base_offset, log_append_time_ms: -1 };
        self.producers.appended(sequence, appended, batch.last_offset, batch.max_timestamp);
    }

    /// Gives a batch its offset and epoch and puts it at the end of the log.
    fn put(&mut self, batch: &IncomingBatch, now_ms: i64) -> Result<Appended, Refusal> {
        let (base_offset, leader_epoch) = (self.log.end_offset(), self.leadership.epoch);
        let roll_at = self.config.roll_at();
        if batch.bytes.len() as u64 > roll_at.bytes {
            let message = format!(
                "Message batch size is {} bytes in append to partition which exceeds the maximum configured segment size \
                 of {} bytes.",
                batch.bytes.len(),
                roll_at.bytes
            );
            return Err(Refusal::new(ErrorCode::RECORD_LIST_TOO_LARGE, message));
        }
        let facts = (leader_epoch, batch.max_timestamp);
        let finish = |bytes: &mut [u8]| batch.finish(bytes, base_offset, leader_epoch);
        if let Some(disk) = &self.disk {
            disk.disk.check()?;
        }
        let before = self.log.active_memory();
        let rolled = self.log.append(&batch.bytes, facts, now_ms, roll_at, finish)?;
        if rolled {
            self.charge();
        } else {
            let own = (self.memory.own + self.log.active_memory()).saturating_sub(before);
            self.memory.set(own);
        }
        if rolled {
            self.finish_segment();
        }
        self.keep_epochs();
        if let Some(disk) = &self.disk {
            let (segment, bytes) =
                (self.log.active_base_offset(), self.log.active_segment().end_bytes(batch.bytes.len()));
            let bytes = bytes.to_vec();
            disk.send(|folder| Job::Append { folder, segment, bytes });
        }
        Ok(Appended { base_offset, log_append_time_ms: batch.log_append_time_ms })
    }
}

impl Partition {
    /// A partition without records.
    pub(crate) fn new(leadership: Leadership, config: Arc<TopicConfig>, memory: Arc<Memory>) -> Self {
        let mut log = Log::default();
        log.begin_epoch(leadership.epoch);
        let (producers, transactions) = (Producers::default(), Transactions::default());
        let memory = Charge { all: memory, own: 0 };
        let mut inner = Inner { leadership, log, producers, transactions, config, memory, disk: None };
        inner.charge();
        Self { inner: Mutex::new(inner), watches: Mutex::default() }
    }

    /// A partition with the log that was in files.
    pub(crate) fn restored(
        mut leadership: Leadership,
        config: Arc<TopicConfig>,
        memory: Arc<Memory>,
        loaded: &LoadedLog,
    ) -> Self {
        let log = Log::restored(loaded);
        // The next leader begins a greater epoch than all before.
        leadership.epoch = log.latest_epoch().unwrap_or(0).max(leadership.epoch);
        let partition = Self::new(leadership, config, memory);
        {
            let inner = &mut *lock(&partition.inner);
            let (from, producers) = loaded.producers.clone().unwrap_or_default();
            inner.log = log;
            let batches: Vec<LogBatch> = inner.log.batches().collect();
            batches.iter().for_each(|batch| inner.learn(batch));
            // What is known of producers is in the snapshot, also what is not in the log any more.
            let transactions = std::mem::take(&mut inner.transactions);
            inner.producers = producers;
            batches.iter().filter(|batch| batch.base_offset >= from).for_each(|batch| inner.learn(batch));
            inner.transactions = transactions;
            inner.charge();
        }
        partition
    }

    /// From now on all that changes goes to the disk as well.
    pub(crate) fn attach(&self, mut disk: DiskLog, topic_id: Uuid) {
        let inner = &mut *lock(&self.inner);
        disk.send(|folder| Job::Create { folder, topic_id });
        disk.epochs = Vec::new();
        inner.disk = Some(disk);
        inner.keep_epochs();
    }

    /// Writes all segments to the disk, where nothing is yet.
    pub(crate) fn write_all(&self) {
        lock(&self.inner).rewrite(Vec::new());
    }

    /// Whether the topic is deleted: so are its files.
    pub(crate) fn delete(&self) {
        let disk = lock(&self.inner).disk.take();
        if let Some(disk) = disk {
            disk.send(|folder| Job::Delete { folder });
        }
    }

    /// Writes what belongs to the active segment, for the end of the process. Gives the folder and the offset after the last
    /// record.
    pub(crate) fn close(&self) -> Option<(Arc<str>, i64)> {
        let inner = lock(&self.inner);
        let disk = inner.disk.as_ref()?;
        let end = inner.log.end_offset();
        let (segment, aborted) = (inner.log.active_segment().clone(), inner.transactions.aborted().to_vec());
        let producers = (end, inner.snapshot());
        if segment.size() == 0 {
            // Kafka has a file for an empty segment too.
            let (segment, bytes) = (segment.base_offset(), Vec::new());
            disk.send(|folder| Job::Append { folder, segment, bytes });
        }
        disk.send(|folder| Job::Finish { folder, segment, aborted, producers });
        Some((disk.folder.clone(), end))
    }

    /// Appends a batch of a producer, or finds where it went when it came before.
    ///
    /// # Errors
    /// `node` does not lead; the sequence number or epoch of an idempotent producer does not fit.
    pub(crate) fn append(&self, node: i32, batch: IncomingBatch, now_ms: i64) -> Result<Appended, Refusal> {
        let appended = {
            let inner = &mut *lock(&self.inner);
            inner.leadership.check_leader(node).map_err(not_leader)?;
            let before = batch.sequence.map(|sequence| inner.producers.check(sequence)).transpose()?;
            if let Some(before) = before.flatten() {
                return Ok(before);
            }
            inner.memory.all.check(batch.bytes.len() as u64)?;
            inner.put_data(batch, now_ms)?
        };
        self.wake();
        Ok(appended)
    }

    /// Appends a batch of records that the broker made by itself, such as those of coordinators.
    ///
    /// # Errors
    /// `node` does not lead.
    pub(crate) fn append_own(&self, node: i32, batch: IncomingBatch, now_ms: i64) -> Result<Appended, Refusal> {
        let appended = {
            let inner = &mut *lock(&self.inner);
            inner.leadership.check_leader(node).map_err(not_leader)?;
            inner.memory.all.check_own(batch.bytes.len() as u64)?;
            inner.put_data(batch, now_ms)?
        };
        self.wake();
        Ok(appended)
    }

    /// Ends the transaction of a producer here, with a marker in the log.
    ///
    /// # Errors
    /// `node` does not lead.
    pub(crate) fn end_transaction(
        &self,
        node: i32,
        (producer_id, epoch): (i64, i16),
        coordinator_epoch: i32,
        committed: bool,
        now_ms: i64,
    ) -> Result<Appended, Refusal> {
        let marker =
            if committed { Control::Commit { coordinator_epoch } } else { Control::Abort { coordinator_epoch } };
        let record = Record { timestamp: now_ms, ..marker.to_record() };
        let mut batch = own::marker(producer_id, epoch, &record)
            .map_err(|error| Refusal::new(ErrorCode::UNKNOWN_SERVER_ERROR, error.to_string()))?;
        let appended = {
            let inner = &mut *lock(&self.inner);
            inner.leadership.check_leader(node).map_err(not_leader)?;
            if inner.config.log_append_time {
                batch.timestamps = TimestampType::LogAppendTime;
            }
            let appended = inner.put(&batch, now_ms)?;
            inner.transactions.ended(producer_id, appended.base_offset, committed);
            inner.producers.ended(producer_id, epoch, coordinator_epoch, now_ms);
            appended
        };
        self.wake();
        Ok(appended)
    }

    /// Removes what is at or after the offset. The leader goes on at the next epoch, and knows of producers and
    /// transactions what the rest of the log says.
    pub(crate) fn truncate(&self, offset: i64, now_ms: i64) {
        {
            let inner = &mut *lock(&self.inner);
            let before = inner.bases();
            inner.log.truncate_to(offset, now_ms);
            inner.leadership.epoch += 1;
            inner.log.begin_epoch(inner.leadership.epoch);
            inner.producers = Producers::default();
            inner.transactions = Transactions::default();
            let batches: Vec<LogBatch> = inner.log.batches().collect();
            batches.iter().for_each(|batch| inner.learn(batch));
            inner.charge();
            inner.rewrite(before);
            inner.keep_epochs();
        }
        self.wake();
    }

    /// Makes this the first offset, at most the end of the log; gives the first offset then.
    pub(crate) fn delete_before(&self, offset: i64) -> i64 {
        let start = {
            let inner = &mut *lock(&self.inner);
            inner.log.delete_before(offset);
            let start = inner.log.start_offset();
            inner.transactions.deleted_before(start);
            inner.keep_start();
            start
        };
        self.wake();
        start
    }

    /// The settings of the topic changed.
    pub(crate) fn configure(&self, config: Arc<TopicConfig>) {
        lock(&self.inner).config = config;
    }

    /// Removes the segments that the settings of the topic do not keep. Gives how many went.
    pub(crate) fn apply_retention(&self, now_ms: i64) -> usize {
        let removed = {
            let inner = &mut *lock(&self.inner);
            let before = inner.bases();
            let removed = inner.log.apply_retention(inner.config.keep(), now_ms);
            inner.charge();
            if removed > 0 {
                if let Some(disk) = &inner.disk {
                    let segments = before.into_iter().take(removed).collect();
                    disk.send(|folder| Job::Remove { folder, segments });
                }
                inner.keep_start();
            }
            inner.transactions.deleted_before(inner.log.start_offset());
            removed
        };
        if removed > 0 {
            self.wake();
        }
        removed
    }

    /// When retention will remove a segment, as things are; in the past when one can go now.
    pub(crate) fn expires_at(&self) -> Option<i64> {
        let inner = lock(&self.inner);
        inner.log.expires_at(inner.config.keep())
    }

    /// Forgets idempotent producers that wrote nothing for this long, unless their transaction is open.
    pub(crate) fn expire_producers(&self, now_ms: i64, after_ms: i64) {
        let inner = &mut *lock(&self.inner);
        let transactions = &inner.transactions;
        inner.producers.expire(now_ms, after_ms, |id| transactions.open_since(id).is_some());
    }

    /// Compacts the log when it is time, or with `always` as far as it can be. Gives whether it did.
    pub(crate) fn compact(&self, now_ms: i64, always: bool) -> bool {
        let pass = {
            let inner = &mut *lock(&self.inner);
            let Some(pass) = inner.pass(now_ms, always) else { return false };
            pass
        };
        // Producers and consumers go on meanwhile.
        let compacted = pass.run();
        let replaced = {
            let inner = &mut *lock(&self.inner);
            let new = inner.disk.is_some().then(|| compacted.segments.clone());
            let replaced = inner.log.replace(&pass, compacted.segments);
            if replaced {
                inner.transactions.compacted_before(pass.end, &compacted.aborted);
                if let (Some(disk), Some(new)) = (&inner.disk, new) {
                    let old = pass.segments.iter().map(Segment::base_offset).collect();
                    let aborted = compacted.aborted;
                    disk.send(|folder| Job::Replace { folder, old, new, aborted });
                    disk.send(|folder| Job::Clean { folder, offset: pass.end });
                }
                inner.charge();
            }
            replaced
        };
        if replaced {
            self.wake();
        }
        replaced
    }

    /// When compaction is due, as things are; in the past when it is now.
    pub(crate) fn compaction_at(&self, now_ms: i64) -> Option<i64> {
        let inner = lock(&self.inner);
        let when = inner.config.compact_when()?;
        inner.log.compaction_at(&when, inner.last_stable_offset(), now_ms)
    }

    /// Begins a new segment, unless the active one is empty.
    pub(crate) fn roll(&self) -> bool {
        let inner = &mut *lock(&self.inner);
        let rolled = inner.log.roll();
        if rolled {
            inner.finish_segment();
        }
        inner.charge();
        rolled
    }

    /// Looks at the log.
    pub(crate) fn with_log<T>(&self, look: impl FnOnce(&Log) -> T) -> T {
        look(&lock(&self.inner).log)
    }

    /// Looks at everything, or changes it. Code that changes what readers see calls [`wake`](Self::wake) afterwards.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Inner) -> T) -> T {
        act(&mut lock(&self.inner))
    }

    /// Who leads, as of now.
    pub(crate) fn leadership(&self) -> Leadership {
        lock(&self.inner).leadership.clone()
    }

    /// Changes who leads. When the epoch grows, the log notes where it began, and all who wait look again.
    pub(crate) fn elect<T>(&self, change: impl FnOnce(&mut Leadership) -> T) -> T {
        let (result, changed) = {
            let inner = &mut *lock(&self.inner);
            let before = inner.leadership.epoch;
            let result = change(&mut inner.leadership);
            let epoch = inner.leadership.epoch;
            if epoch != before {
                inner.log.begin_epoch(epoch);
                inner.keep_epochs();
            }
            (result, epoch != before)
        };
        if changed {
            self.wake();
        }
        result
    }

    /// From now on until it is dropped, `waiter` gets `number` when the partition changes.
    pub(crate) fn watch(&self, waiter: &Arc<Waiter>, number: usize) {
        let mut watches = lock(&self.watches);
        if watches.list.len() >= watches.prune_at {
            watches.list.retain(|(waiter, _)| waiter.strong_count() > 0);
            watches.prune_at = 2 * watches.list.len() + 8;
        }
        watches.list.push((Arc::downgrade(waiter), number));
    }

    /// Makes everybody who waits look again.
    pub(crate) fn wake(&self) {
        lock(&self.watches).list.retain(|(waiter, number)| {
            waiter.upgrade().is_some_and(|waiter| {
                waiter.changed(*number);
                true
            })
        });
    }
}

/// What a marker says: whether it commits, and the epoch of the coordinator that wrote it.
pub(crate) fn marker(batch: &LogBatch) -> Option<(bool, i32)> {
    let batch = Batch::parse(batch.bytes.clone(), ReadOptions::default()).ok()?;
    let record = batch.records().next()?.ok()?;
    match Control::parse(&record) {
        Ok(Control::Commit { coordinator_epoch }) => Some((true, coordinator_epoch)),
        Ok(Control::Abort { coordinator_epoch }) => Some((false, coordinator_epoch)),
        _ => None,
    }
}

fn not_leader(code: ErrorCode) -> Refusal {
    Refusal::new(code, "This node does not lead the partition.")
}

#[cfg(test)]
impl Default for Partition {
    /// Node 1 leads and is the only replica.
    fn default() -> Self {
        let config = TopicConfig::new([], i32::MAX).unwrap();
        Self::new(Leadership::new(vec![1], |_| true), Arc::new(config), Arc::default())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[tokio::test]
    async fn a_waiter_learns_which_partitions_changed() {
        let partitions = [Partition::default(), Partition::default(), Partition::default()];
        let waiter = Arc::new(Waiter::default());
        partitions.iter().enumerate().for_each(|(number, partition)| partition.watch(&waiter, number));
        partitions[2].wake();
        partitions[0].wake();
        partitions[2].wake();
        assert_eq!(waiter.news().await, BTreeSet::from([0, 2]));
        partitions[1].wake();
        assert_eq!(waiter.news().await, BTreeSet::from([1]));
    }

    #[test]
    fn those_who_are_gone_are_forgotten() {
        let partition = Partition::default();
        for _ in 0..10_000 {
            partition.watch(&Arc::new(Waiter::default()), 0);
            assert!(lock(&partition.watches).list.len() < 32);
        }
        partition.wake();
        assert!(lock(&partition.watches).list.is_empty());
    }
}
