//! Share groups (KIP-932), request by request.

mod bench;

use std::time::Duration;

use milena_client::{CoordinatorKind, Target as To};
use milena_messages::alter_share_group_offsets::request::{
    AlterShareGroupOffsetsRequestPartition, AlterShareGroupOffsetsRequestTopic,
};
use milena_messages::delete_share_group_offsets::request::DeleteShareGroupOffsetsRequestTopic;
use milena_messages::initialize_share_group_state::request as initialize;
use milena_messages::join_group::request::JoinGroupRequestProtocol;
use milena_messages::leave_group::request::MemberIdentity;
use milena_messages::offset_commit::request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
use milena_messages::offset_fetch::request::OffsetFetchRequestGroup;
use milena_messages::read_share_group_state::request as read;
use milena_messages::share_fetch::request as fetch;
use milena_messages::write_share_group_state::request as write;
use milena_messages::{
    AlterShareGroupOffsetsRequest, ConsumerGroupHeartbeatRequest, DeleteGroupsRequest, DeleteShareGroupOffsetsRequest,
    DescribeGroupsRequest, ErrorCode, HeartbeatRequest, InitializeShareGroupStateRequest, JoinGroupRequest,
    LeaveGroupRequest, OffsetCommitRequest, OffsetDeleteRequest, OffsetFetchRequest, ReadShareGroupStateRequest,
    ShareAcknowledgeRequest, ShareFetchRequest, ShareFetchResponse, ShareGroupDescribeRequest,
    ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse, Uuid, WriteShareGroupStateRequest,
};

use bench::Bench;

use super::common::{holds, same};
use super::{Failure, Outcome, Target};

/// How often something is looked at that comes by itself.
const AGAIN_AFTER: Duration = Duration::from_millis(50);
/// The type of a group in IncrementalAlterConfigs.
const GROUP: i8 = 32;

const ACCEPT: i8 = 1;
const RELEASE: i8 = 2;
const REJECT: i8 = 3;
const RENEW: i8 = 4;

fn coordinator(group: &str) -> To {
    To::Coordinator { kind: CoordinatorKind::Group, key: group.to_owned() }
}

const NOTHING: fn(&mut ShareFetchRequest) = |_| {};

pub(super) async fn a_share_member_gets_partitions_after_their_state_was_set_up(target: Target) -> Outcome {
    let mut bench = Bench::new(&target).await?;
    let name = bench.name.clone();
    let first = bench.beat(0, Some(&[&name])).await?;
    same("the first heartbeat", (first.error_code, first.member_epoch), (ErrorCode::NONE, 2))?;
    same("its interval", first.heartbeat_interval_ms, 5000)?;
    same("nothing is assigned yet", first.assignment.map(|all| all.topic_partitions.len()), Some(0))?;
    bench.join().await?;
    same("the epoch with the partition", bench.epoch, 3)?;
    let again = bench.beat(bench.epoch, None).await?;
    same("nothing new", (again.member_epoch, again.assignment), (3, None))?;
    // A response may be lost.
    same("the epoch before", bench.beat(2, None).await?.error_code, ErrorCode::NONE)?;

    let request = ShareGroupDescribeRequest { group_ids: vec![name.clone().into()], ..Default::default() };
    let described = bench.client.send_at(coordinator(&name), &request, 1).await?.groups.remove(0);
    same("the state", (&*described.group_state, described.group_epoch, described.assignment_epoch), ("Stable", 3, 3))?;
    same("the assignor", &*described.assignor_name, "simple")?;
    let member = &described.members[0];
    same("the member", (member.member_epoch, &*member.assignment.topic_partitions[0].topic_name), (3, &*name))?;
    bench.leave().await?;
    let described = bench.client.send_at(coordinator(&name), &request, 1).await?.groups.remove(0);
    same("the state without members", (&*described.group_state, described.group_epoch), ("Empty", 4))?;
    bench.join().await?;
    same("the epoch of the next member", bench.epoch, 5)?;
    bench.leave().await
}

pub(super) async fn share_heartbeats_are_refused_with_kafkas_codes_and_texts(target: Target) -> Outcome {
    let mut bench = Bench::new(&target).await?;
    let name = bench.name.clone();
    let refused = |response: ShareGroupHeartbeatResponse| {
        (response.error_code, response.error_message.map(|text| text.to_string()).unwrap_or_default())
    };
    let text = |code, text: &str| (code, text.replace("GROUP", &name));
    let (not_found, invalid) = (ErrorCode::GROUP_ID_NOT_FOUND, ErrorCode::INVALID_REQUEST);
    let none = bench.beat(1, None).await?;
    same("no such group", refused(none), text(not_found, "Share group GROUP not found."))?;
    let none = bench.beat(-1, None).await?;
    same("leaving no such group", refused(none), text(not_found, "Group GROUP not found."))?;
    let without = bench.beat(0, None).await?;
    same("no topics", refused(without), text(invalid, "SubscribedTopicNames must be set in first request."))?;
    let epoch = bench.beat(-2, None).await?;
    same("a wrong epoch", refused(epoch), text(invalid, "MemberEpoch is invalid."))?;
    bench.join().await?;
    let greater = bench.beat(9, None).await?;
    let message = "The share group member has a greater member epoch (9) than the one known by the group coordinator (3). \
                   The member must abandon all its partitions and rejoin.";
    same("a greater epoch", refused(greater), text(ErrorCode::FENCED_MEMBER_EPOCH, message))?;
    let smaller = bench.beat(1, None).await?;
    let message = "The share group member has a smaller member epoch (1) than the one known by the group coordinator (3), \
                   and it does not match the previous member epoch (2). The member must abandon all its partitions and \
                   rejoin.";
    same("a smaller epoch", refused(smaller), text(ErrorCode::FENCED_MEMBER_EPOCH, message))?;
    let stranger = ShareGroupHeartbeatRequest {
        group_id: name.clone().into(),
        member_id: "x".into(),
        member_epoch: 1,
        ..Default::default()
    };
    let unknown = bench.client.send_at(coordinator(&name), &stranger, 1).await?;
    let message = "Member x is not a member of group GROUP.";
    same("an unknown member", refused(unknown), text(ErrorCode::UNKNOWN_MEMBER_ID, message))?;
    let nameless = ShareGroupHeartbeatRequest { member_id: "".into(), ..stranger };
    let response = bench.client.send_at(coordinator(&name), &nameless, 1).await?;
    same("no member id", response.error_code, invalid)?;
    bench.leave().await
}

pub(super) async fn a_share_group_is_no_group_of_another_protocol(target: Target) -> Outcome {
    let mut bench = Bench::new(&target).await?;
    bench.join().await?;
    let (name, to) = (bench.name.clone(), coordinator(&bench.name));
    let request = ConsumerGroupHeartbeatRequest {
        group_id: name.clone().into(),
        member_id: "c".into(),
        rebalance_timeout_ms: 30_000,
        subscribed_topic_names: Some(vec![name.clone().into()]),
        topic_partitions: Some(Vec::new()),
        ..Default::default()
    };
    let response = bench.client.send_at(to.clone(), &request, 1).await?;
    same("a consumer", response.error_code, ErrorCode::GROUP_ID_NOT_FOUND)?;
    let request = JoinGroupRequest {
        group_id: name.clone().into(),
        session_timeout_ms: 30_000,
        rebalance_timeout_ms: 30_000,
        protocol_type: "consumer".into(),
        protocols: vec![JoinGroupRequestProtocol { name: "range".into(), ..Default::default() }],
        ..Default::default()
    };
    let response = bench.client.send_at(to.clone(), &request, 9).await?;
    same("a classic member", response.error_code, ErrorCode::INCONSISTENT_GROUP_PROTOCOL)?;
    let partition = OffsetCommitRequestPartition { committed_offset: 1, ..Default::default() };
    let topic =
        OffsetCommitRequestTopic { name: name.clone().into(), partitions: vec![partition], ..Default::default() };
    let request = OffsetCommitRequest { group_id: name.clone().into(), topics: vec![topic], ..Default::default() };
    let response = bench.client.send_at(to.clone(), &request, 8).await?;
    let code = response.topics[0].partitions[0].error_code;
    same("a commit", code, ErrorCode::GROUP_ID_NOT_FOUND)?;
    let group = OffsetFetchRequestGroup { group_id: name.clone().into(), topics: None, ..Default::default() };
    let request = OffsetFetchRequest { groups: vec![group], ..Default::default() };
    let response = bench.client.send_at(to.clone(), &request, 9).await?;
    same("committed offsets", (response.groups[0].error_code, response.groups[0].topics.len()), (ErrorCode::NONE, 0))?;
    let request = OffsetDeleteRequest { group_id: name.clone().into(), ..Default::default() };
    let response = bench.client.send_at(to.clone(), &request, 0).await?;
    same("deleted offsets", response.error_code, ErrorCode::GROUP_ID_NOT_FOUND)?;
    let request = LeaveGroupRequest {
        group_id: name.clone().into(),
        members: vec![MemberIdentity { member_id: "m".into(), ..Default::default() }],
        ..Default::default()
    };
    let response = bench.client.send_at(to.clone(), &request, 5).await?;
    same("a member that leaves", response.members[0].error_code, ErrorCode::UNKNOWN_MEMBER_ID)?;
    let request = HeartbeatRequest { group_id: name.clone().into(), member_id: "c".into(), ..Default::default() };
    let response = bench.client.send_at(to.clone(), &request, 4).await?;
    same("a classic heartbeat", response.error_code, ErrorCode::UNKNOWN_MEMBER_ID)?;
    let request = DescribeGroupsRequest { groups: vec![name.clone().into()], ..Default::default() };
    let response = bench.client.send_at(to.clone(), &request, 6).await?;
    let message = format!("Group {name} is not a classic group.");
    let found = &response.groups[0];
    same(
        "described",
        (found.error_code, found.error_message.as_deref()),
        (ErrorCode::GROUP_ID_NOT_FOUND, Some(&*message)),
    )?;
    bench.leave().await
}

pub(super) async fn share_sessions_have_epochs(target: Target) -> Outcome {
    let mut bench = Bench::new(&target).await?;
    bench.join().await?;
    let code = async |epoch: i32| -> Result<ErrorCode, Failure> {
        let request = ShareFetchRequest { max_wait_ms: 0, ..bench.fetching("m", epoch) };
        Ok(bench.send(&request).await?.error_code)
    };
    same("no session", code(1).await?, ErrorCode::SHARE_SESSION_NOT_FOUND)?;
    same("nothing to close", code(-1).await?, ErrorCode::SHARE_SESSION_NOT_FOUND)?;
    same("opened", code(0).await?, ErrorCode::NONE)?;
    same("another epoch", code(2).await?, ErrorCode::INVALID_SHARE_SESSION_EPOCH)?;
    same("the next epoch", code(1).await?, ErrorCode::NONE)?;
    same("the same epoch again", code(1).await?, ErrorCode::INVALID_SHARE_SESSION_EPOCH)?;
    same("opened again", code(0).await?, ErrorCode::NONE)?;
    same("the first epoch again", code(1).await?, ErrorCode::NONE)?;
    same("closed", code(-1).await?, ErrorCode::NONE)?;
    same("no session any more", code(2).await?, ErrorCode::SHARE_SESSION_NOT_FOUND)?;

    let acknowledging = |epoch| ShareAcknowledgeRequest {
        group_id: Some(bench.name.clone().into()),
        member_id: Some("m".into()),
        share_session_epoch: epoch,
        ..Default::default()
    };
    let code = async |epoch: i32| -> Result<ErrorCode, Failure> {
        Ok(bench.client.send_at(bench.leader(), &acknowledging(epoch), 2).await?.error_code)
    };
    same("acknowledging opens none", code(0).await?, ErrorCode::INVALID_SHARE_SESSION_EPOCH)?;
    same("acknowledging without one", code(1).await?, ErrorCode::SHARE_SESSION_NOT_FOUND)?;

    let mut request = bench.fetching("m", 0);
    request.topics[0].partitions[0].acknowledgement_batches =
        vec![fetch::AcknowledgementBatch { acknowledge_types: vec![ACCEPT], ..Default::default() }];
    same("nothing to acknowledge yet", bench.send(&request).await?.error_code, ErrorCode::INVALID_REQUEST)?;
    let nameless = ShareFetchRequest { member_id: Some("".into()), ..bench.fetching("m", 0) };
    same("no member id", bench.send(&nameless).await?.error_code, ErrorCode::INVALID_REQUEST)?;
    let groupless = ShareFetchRequest { group_id: None, ..bench.fetching("m", 0) };
    same("no group id", bench.send(&groupless).await?.error_code, ErrorCode::INVALID_REQUEST)?;
    bench.leave().await
}

pub(super) async fn share_fetch_names_partitions_that_it_cannot_read(target: Target) -> Outcome {
    let mut bench = Bench::new(&target).await?;
    let first = |response: ShareFetchResponse| response.responses[0].partitions[0].error_code;
    let uninitialized = bench.send(&bench.fetching("m", 0)).await?;
    same("nobody joined", first(uninitialized), ErrorCode::UNKNOWN_SERVER_ERROR)?;
    bench.join().await?;
    let mut request = bench.fetching("m", 0);
    request.topics[0].partitions[0].partition_index = 7;
    same("no such partition", first(bench.send(&request).await?), ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    request.topics[0].topic_id = Uuid::from_bytes([7; 16]);
    same("no such topic", first(bench.send(&request).await?), ErrorCode::UNKNOWN_TOPIC_ID)?;
    let response = bench.send(&bench.fetching("m", 0)).await?;
    let partition = &response.responses[0].partitions[0];
    same("nothing there", (partition.error_code, partition.acquired_records.len()), (ErrorCode::NONE, 0))?;
    same("the lock", response.acquisition_lock_timeout_ms, 30_000)?;
    bench.session = 1;
    let next = bench.send(&ShareFetchRequest { max_wait_ms: 0, ..bench.fetching("m", 1) }).await?;
    same("nothing new", next.responses.len(), 0)?;
    bench.leave().await
}

pub(super) async fn shared_records_are_acquired_and_acknowledged(target: Target) -> Outcome {
    let mut bench = Bench::new(&target).await?;
    bench.join().await?;
    bench.produce(&[4, 4, 4]).await?;
    same("two batches", bench.acquire(|request| request.max_records = 5).await?, vec![(0, 7, 1)])?;
    same("accepted", bench.acknowledge(&[(0, 3, &[ACCEPT])], false).await?, (ErrorCode::NONE, None))?;
    // The start offset is kept as it was before it moved.
    same("offsets", bench.offsets().await?, (0, 8))?;
    let mixed: &[i8] = &[RELEASE, REJECT, ACCEPT, RELEASE];
    same("one for each", bench.acknowledge(&[(4, 7, mixed)], false).await?, (ErrorCode::NONE, None))?;
    same("offsets with some done", bench.offsets().await?, (4, 6))?;
    let wanted = vec![(4, 4, 2), (7, 7, 2), (8, 11, 1)];
    same("again, and new ones", bench.acquire(NOTHING).await?, wanted)?;
    let data = bench.fetch(|request| request.max_wait_ms = 0, &[(4, 4, &[ACCEPT]), (7, 11, &[ACCEPT])]).await?;
    same("acknowledged with a fetch", data.acknowledge_error_code, ErrorCode::NONE)?;
    same("all done", bench.offsets().await?, (4, 0))?;
    bench.leave().await
}

pub(super) async fn wrong_share_acknowledgements_change_nothing(target: Target) -> Outcome {
    let mut bench = Bench::new(&target).await?;
    bench.join().await?;
    bench.produce(&[4]).await?;
    same("acquired", bench.acquire(NOTHING).await?, vec![(0, 3, 1)])?;
    let (invalid, state) = (ErrorCode::INVALID_REQUEST, ErrorCode::INVALID_RECORD_STATE);
    for (what, verdicts, code) in [
        ("backward", &[(3, 0, &[ACCEPT][..])][..], invalid),
        ("out of order", &[(2, 3, &[ACCEPT]), (0, 1, &[ACCEPT])], invalid),
        ("no type", &[(0, 3, &[])], invalid),
        ("too few types", &[(0, 3, &[ACCEPT, ACCEPT])], invalid),
        ("an unknown type", &[(0, 3, &[5])], invalid),
        ("a renewal without notice", &[(0, 3, &[RENEW])], invalid),
        ("past the end", &[(0, 9, &[ACCEPT])], invalid),
        ("all past the end", &[(7, 9, &[ACCEPT])], invalid),
    ] {
        same(what, bench.acknowledge(verdicts, false).await?.0, code)?;
    }
    same("twice", bench.acknowledge(&[(0, 1, &[ACCEPT]), (1, 2, &[ACCEPT])], false).await?.0, state)?;
    same("nothing was kept", bench.offsets().await?, (-1, -1))?;
    same("right at last", bench.acknowledge(&[(0, 3, &[ACCEPT])], false).await?.0, ErrorCode::NONE)?;
    // Offsets that are done are not looked at.
    same("again", bench.acknowledge(&[(0, 3, &[ACCEPT])], false).await?.0, ErrorCode::NONE)?;
    same("never acquired", bench.acknowledge(&[(4, 4, &[ACCEPT])], false).await?.0, state)?;
    bench.leave().await
}

pub(super) async fn a_share_record_limit_is_strict_and_batches_are_split(target: Target) -> Outcome {
    let mut bench = Bench::new(&target).await?;
    bench.join().await?;
    bench.produce(&[6, 6, 6]).await?;
    let strict = |request: &mut ShareFetchRequest| (request.share_acquire_mode, request.max_records) = (1, 4);
    same("a part of a batch", bench.acquire(strict).await?, vec![(0, 3, 1)])?;
    same("the rest, and a part", bench.acquire(strict).await?, vec![(4, 5, 1), (6, 7, 1)])?;
    let small = |request: &mut ShareFetchRequest| request.batch_size = 2;
    same("whole batches", bench.acquire(small).await?, vec![(8, 11, 1), (12, 17, 1)])?;
    bench.leave().await
}

pub(super) async fn a_shared_record_is_renewed(target: Target) -> Outcome {
    let mut bench = Bench::new(&target).await?;
    bench.configure("share.record.lock.duration.ms", "15000").await?;
    bench.join().await?;
    bench.produce(&[2]).await?;
    same("acquired", bench.acquire(NOTHING).await?, vec![(0, 1, 1)])?;
    same("renewed", bench.acknowledge(&[(0, 1, &[RENEW])], true).await?.0, ErrorCode::NONE)?;
    let request = ShareFetchRequest { is_renew_ack: true, ..bench.fetching("m", bench.session) };
    same("a renewal reads nothing", bench.send(&request).await?.error_code, ErrorCode::INVALID_REQUEST)?;
    bench.configure("share.renew.acknowledge.enable", "false").await?;
    same("not allowed", bench.acknowledge(&[(0, 1, &[RENEW])], true).await?.0, ErrorCode::INVALID_RECORD_STATE)?;
    same("accepted", bench.acknowledge(&[(0, 1, &[ACCEPT])], false).await?.0, ErrorCode::NONE)?;
    bench.leave().await
}

pub(super) async fn a_closed_share_session_gives_records_back(target: Target) -> Outcome {
    let mut bench = Bench::new(&target).await?;
    bench.join().await?;
    bench.produce(&[3]).await?;
    same("acquired", bench.acquire(NOTHING).await?, vec![(0, 2, 1)])?;
    let closed = bench.send(&bench.fetching("m", -1)).await?;
    same("closed", closed.error_code, ErrorCode::NONE)?;
    bench.session = 0;
    same("given back", bench.acquire(NOTHING).await?, vec![(0, 2, 2)])?;
    // A connection that ends does the same.
    let other = target.client().await?;
    let request = ShareFetchRequest { group_id: Some(bench.name.clone().into()), ..bench.fetching("n", 0) };
    bench.acknowledge(&[(0, 2, &[RELEASE])], false).await?;
    let response = other.send_at(bench.leader(), &request, 2).await?;
    let acquired = &response.responses[0].partitions[0].acquired_records;
    same("acquired by another", acquired.iter().map(|range| range.delivery_count).collect::<Vec<_>>(), vec![3])?;
    drop(other);
    let again = bench.acquire(NOTHING).await?;
    holds(format!("given back after {again:?}"), again.iter().all(|(.., count)| *count == 4))?;
    bench.leave().await
}

pub(super) async fn operators_move_and_delete_share_offsets(target: Target) -> Outcome {
    let mut bench = Bench::new(&target).await?;
    bench.join().await?;
    bench.produce(&[5]).await?;
    bench.acquire(NOTHING).await?;
    bench.acknowledge(&[(0, 4, &[ACCEPT])], false).await?;
    let to = coordinator(&bench.name);
    let alter = |topic: &str, partition_index, start_offset| {
        let partition = AlterShareGroupOffsetsRequestPartition { partition_index, start_offset, ..Default::default() };
        let topic = AlterShareGroupOffsetsRequestTopic {
            topic_name: topic.to_owned().into(),
            partitions: vec![partition],
            ..Default::default()
        };
        AlterShareGroupOffsetsRequest { group_id: bench.name.clone().into(), topics: vec![topic], ..Default::default() }
    };
    let delete = |topic: &str| DeleteShareGroupOffsetsRequest {
        group_id: bench.name.clone().into(),
        topics: vec![DeleteShareGroupOffsetsRequestTopic { topic_name: topic.to_owned().into(), ..Default::default() }],
        ..Default::default()
    };
    let name = bench.name.clone();
    let non_empty = ErrorCode::NON_EMPTY_GROUP;
    same("alter with members", bench.client.send_at(to.clone(), &alter(&name, 0, 1), 0).await?.error_code, non_empty)?;
    same("delete with members", bench.client.send_at(to.clone(), &delete(&name), 0).await?.error_code, non_empty)?;
    bench.leave().await?;
    for (topic, partition, code) in [
        (&*name, 0, ErrorCode::NONE),
        (&name, 5, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
        ("no-such-topic", 0, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION),
    ] {
        let response = bench.client.send_at(to.clone(), &alter(topic, partition, 3), 0).await?;
        same("altered", response.responses[0].partitions[0].error_code, code)?;
    }
    same("moved back", bench.offsets().await?, (3, 2))?;
    let response = bench.client.send_at(to.clone(), &delete("no-such-topic"), 0).await?;
    same("no such topic", response.responses[0].error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)?;
    let response = bench.client.send_at(to.clone(), &delete(&name), 0).await?;
    same(
        "deleted",
        (response.responses[0].error_code, response.responses[0].topic_id),
        (ErrorCode::NONE, bench.topic_id),
    )?;
    same("nothing left", bench.offsets().await?, (-2, -2))?;
    let request = DeleteGroupsRequest { groups_names: vec![name.clone().into()], ..Default::default() };
    for code in [ErrorCode::NONE, ErrorCode::GROUP_ID_NOT_FOUND] {
        same("the group", bench.client.send_at(to.clone(), &request, 2).await?.results[0].error_code, code)?;
    }
    Ok(())
}

pub(super) async fn the_share_coordinator_fences_old_writers(target: Target) -> Outcome {
    let bench = Bench::new(&target).await?;
    let group = bench.name.clone();
    let key = format!("{group}:{}:0", bench.topic_id);
    let to = To::Coordinator { kind: CoordinatorKind::Share, key };
    let begin = async |state_epoch: i32, start_offset: i64| -> Result<ErrorCode, Failure> {
        let partition = initialize::PartitionData { state_epoch, start_offset, ..Default::default() };
        let topic = initialize::InitializeStateData {
            topic_id: bench.topic_id,
            partitions: vec![partition],
            ..Default::default()
        };
        let request = InitializeShareGroupStateRequest {
            group_id: group.clone().into(),
            topics: vec![topic],
            ..Default::default()
        };
        let response = bench.client.send_at(to.clone(), &request, 0).await?;
        Ok(response.results[0].partitions[0].error_code)
    };
    let keep = async |state_epoch: i32, leader_epoch: i32, start_offset: i64| -> Result<ErrorCode, Failure> {
        let batch = write::StateBatch {
            first_offset: start_offset,
            last_offset: start_offset + 4,
            delivery_state: 2,
            delivery_count: 1,
            ..Default::default()
        };
        let partition = write::PartitionData {
            state_epoch,
            leader_epoch,
            start_offset,
            delivery_complete_count: 5,
            state_batches: vec![batch],
            ..Default::default()
        };
        let topic =
            write::WriteStateData { topic_id: bench.topic_id, partitions: vec![partition], ..Default::default() };
        let request =
            WriteShareGroupStateRequest { group_id: group.clone().into(), topics: vec![topic], ..Default::default() };
        let response = bench.client.send_at(to.clone(), &request, 1).await?;
        Ok(response.results[0].partitions[0].error_code)
    };
    let look = async |leader_epoch: i32| -> Result<(ErrorCode, i64, i32, usize), Failure> {
        let partition = read::PartitionData { leader_epoch, ..Default::default() };
        let topic = read::ReadStateData { topic_id: bench.topic_id, partitions: vec![partition], ..Default::default() };
        let request =
            ReadShareGroupStateRequest { group_id: group.clone().into(), topics: vec![topic], ..Default::default() };
        let mut response = bench.client.send_at(to.clone(), &request, 0).await?;
        let found = response.results.remove(0).partitions.remove(0);
        Ok((found.error_code, found.start_offset, found.state_epoch, found.state_batches.len()))
    };
    same("nothing to read", look(0).await?.0, ErrorCode::INVALID_REQUEST)?;
    same("nothing to write to", keep(0, 0, 0).await?, ErrorCode::INVALID_REQUEST)?;
    same("a negative epoch", begin(-1, 0).await?, ErrorCode::INVALID_REQUEST)?;
    same("set up", begin(3, -1).await?, ErrorCode::NONE)?;
    same("read", look(2).await?, (ErrorCode::NONE, -1, 3, 0))?;
    same("an older leader", look(1).await?.0, ErrorCode::FENCED_LEADER_EPOCH)?;
    same("an older leader writes", keep(3, 1, 10).await?, ErrorCode::FENCED_LEADER_EPOCH)?;
    same("an older state", keep(2, 2, 10).await?, ErrorCode::FENCED_STATE_EPOCH)?;
    same("kept", keep(3, 2, 10).await?, ErrorCode::NONE)?;
    same("kept next to it", keep(3, 2, 15).await?, ErrorCode::NONE)?;
    same("read again", look(2).await?, (ErrorCode::NONE, 15, 3, 1))?;
    same("set up by an older epoch", begin(2, 0).await?, ErrorCode::FENCED_STATE_EPOCH)?;
    same("set up again", begin(4, 7).await?, ErrorCode::NONE)?;
    same("read again", look(2).await?, (ErrorCode::NONE, 7, 4, 0))
}
