//! The records of `__share_group_state`, as Kafka writes them.

use milena_messages::share_coordinator::{share_snapshot_value, share_update_value};
use milena_messages::{ShareSnapshotKey, ShareSnapshotValue, ShareUpdateKey, ShareUpdateValue};

use crate::coordinator::record::{CoordinatorRecord, remove, set};
use crate::share::ShareKey;
use crate::share::combine::StateBatch;
use crate::share::state::{ShareState, Update};

/// All of these records have one version.
const VERSION: i16 = 0;

fn snapshot_key(key: &ShareKey) -> ShareSnapshotKey {
    ShareSnapshotKey { group_id: key.group.clone().into(), topic_id: key.topic, partition: key.partition }
}

pub(super) fn snapshot(key: &ShareKey, state: &ShareState) -> CoordinatorRecord {
    let batch = |batch: &StateBatch| share_snapshot_value::StateBatch {
        first_offset: batch.first,
        last_offset: batch.last,
        delivery_state: batch.state,
        delivery_count: batch.deliveries,
        ..Default::default()
    };
    let value = ShareSnapshotValue {
        snapshot_epoch: state.snapshot_epoch,
        state_epoch: state.state_epoch,
        leader_epoch: state.leader_epoch,
        start_offset: state.start_offset,
        delivery_complete_count: state.complete_count,
        create_timestamp: state.created_at,
        write_timestamp: state.written_at,
        state_batches: state.batches.iter().map(batch).collect(),
        ..Default::default()
    };
    set(&snapshot_key(key), &value, VERSION)
}

pub(super) fn update(key: &ShareKey, update: &Update) -> CoordinatorRecord {
    let batch = |batch: &StateBatch| share_update_value::StateBatch {
        first_offset: batch.first,
        last_offset: batch.last,
        delivery_state: batch.state,
        delivery_count: batch.deliveries,
        ..Default::default()
    };
    let value = ShareUpdateValue {
        snapshot_epoch: update.snapshot_epoch,
        leader_epoch: update.leader_epoch,
        start_offset: update.start_offset,
        delivery_complete_count: update.complete_count,
        state_batches: update.batches.iter().map(batch).collect(),
        ..Default::default()
    };
    let key = ShareUpdateKey { group_id: key.group.clone().into(), topic_id: key.topic, partition: key.partition };
    set(&key, &value, VERSION)
}

pub(super) fn tombstone(key: &ShareKey) -> CoordinatorRecord {
    remove(&snapshot_key(key))
}

impl From<ShareSnapshotValue> for ShareState {
    fn from(value: ShareSnapshotValue) -> Self {
        let batch = |batch: share_snapshot_value::StateBatch| StateBatch {
            first: batch.first_offset,
            last: batch.last_offset,
            state: batch.delivery_state,
            deliveries: batch.delivery_count,
        };
        Self {
            snapshot_epoch: value.snapshot_epoch,
            state_epoch: value.state_epoch,
            leader_epoch: value.leader_epoch,
            start_offset: value.start_offset,
            complete_count: value.delivery_complete_count,
            batches: value.state_batches.into_iter().map(batch).collect(),
            created_at: value.create_timestamp,
            written_at: value.write_timestamp,
        }
    }
}

impl From<ShareUpdateValue> for Update {
    fn from(value: ShareUpdateValue) -> Self {
        let batch = |batch: share_update_value::StateBatch| StateBatch {
            first: batch.first_offset,
            last: batch.last_offset,
            state: batch.delivery_state,
            deliveries: batch.delivery_count,
        };
        Self {
            snapshot_epoch: value.snapshot_epoch,
            leader_epoch: value.leader_epoch,
            start_offset: value.start_offset,
            complete_count: value.delivery_complete_count,
            batches: value.state_batches.into_iter().map(batch).collect(),
        }
    }
}
