//! States, faults and requests as JSON.

use milena_broker::{
    BrokerFault, ClusterState, GroupState, NodeState, PartitionState, ReceivedRequest, SharePartitionState, TopicState,
    TransactionState,
};
use milena_schema::Spec;
use serde_json::{Value, json};

use crate::output::base64;

pub(super) fn state(state: &ClusterState) -> Value {
    json!({
        "controller": state.controller,
        "nodes": nodes(state),
        "topics": topics(state),
        "groups": state.groups.iter().map(group).collect::<Vec<_>>(),
        "transactions": state.transactions.iter().map(transaction).collect::<Vec<_>>(),
        "sharePartitions": state.share_partitions.iter().map(share_partition).collect::<Vec<_>>(),
    })
}

pub(super) fn nodes(state: &ClusterState) -> Vec<Value> {
    state.nodes.iter().map(node).collect()
}

fn node(node: &NodeState) -> Value {
    json!({
        "id": node.id,
        "address": node.endpoint,
        "rack": node.rack,
        "up": node.is_up,
        "isolated": node.is_isolated,
    })
}

pub(super) fn topics(state: &ClusterState) -> Vec<Value> {
    state.topics.iter().map(topic).collect()
}

pub(super) fn topic(topic: &TopicState) -> Value {
    let partitions = (0..).zip(&topic.partitions).map(|(index, one)| partition(index, one));
    json!({ "name": topic.name, "id": topic.id, "partitions": partitions.collect::<Vec<_>>() })
}

fn partition(index: i32, partition: &PartitionState) -> Value {
    json!({
        "partition": index,
        "leader": partition.leader,
        "leaderEpoch": partition.leader_epoch,
        "replicas": partition.replicas,
        "inSync": partition.in_sync,
        "startOffset": partition.start_offset,
        "endOffset": partition.end_offset,
        "lastStableOffset": partition.last_stable_offset,
    })
}

pub(super) fn group(group: &GroupState) -> Value {
    let offsets = group.offsets.iter().map(|committed| {
        json!({
            "topic": committed.topic,
            "partition": committed.partition,
            "offset": committed.offset,
            "leaderEpoch": committed.leader_epoch,
            "metadata": committed.metadata,
        })
    });
    let members = group.members.iter().map(|member| {
        let assigned = member.partitions().map(|topics| {
            let topics = topics.into_iter();
            let topics = topics.map(|(topic, partitions)| json!({ "topic": topic, "partitions": partitions }));
            topics.collect::<Vec<_>>()
        });
        json!({
            "id": member.id,
            "instanceId": member.instance_id,
            "clientId": member.client_id,
            "clientHost": member.client_host,
            "assigned": assigned,
        })
    });
    json!({
        "id": group.id,
        "type": group.group_type,
        "state": group.state,
        "protocolType": group.protocol_type,
        "protocol": group.protocol,
        "members": members.collect::<Vec<_>>(),
        "offsets": offsets.collect::<Vec<_>>(),
    })
}

fn share_partition(one: &SharePartitionState) -> Value {
    let acquired = one.acquired.iter().map(|range| {
        json!({
            "firstOffset": range.first_offset,
            "lastOffset": range.last_offset,
            "member": range.member,
            "deliveries": range.deliveries,
        })
    });
    json!({
        "group": one.group,
        "topic": one.topic,
        "partition": one.partition,
        "startOffset": one.start_offset,
        "acquired": acquired.collect::<Vec<_>>(),
    })
}

pub(super) fn transaction(transaction: &TransactionState) -> Value {
    let partitions = transaction.partitions.iter();
    let partitions = partitions.map(|(topic, partition)| json!({ "topic": topic, "partition": partition }));
    json!({
        "id": transaction.id,
        "state": transaction.state,
        "producerId": transaction.producer_id,
        "producerEpoch": transaction.producer_epoch,
        "timeoutMs": transaction.timeout_ms,
        "startedAtMs": transaction.started_at_ms,
        "partitions": partitions.collect::<Vec<_>>(),
    })
}

pub(super) fn fault(fault: &BrokerFault) -> Value {
    json!({
        "id": fault.id(),
        "rule": fault.rule().to_string(),
        "matched": fault.matched(),
        "fired": fault.fired(),
    })
}

/// A request, with its body in the JSON form of Kafka's own tools.
pub(super) fn request(request: &ReceivedRequest, with_body: bool) -> Value {
    let api = request.api_key();
    let mut json = json!({
        "number": request.number(),
        "node": request.node_id(),
        "peer": request.peer().to_string(),
        "api": api.to_string(),
        "apiKey": api.0,
        "version": request.api_version(),
        "correlationId": request.correlation_id(),
        "clientId": request.client_id(),
    });
    if with_body {
        let message = api.name().and_then(|name| Spec::kafka().message(&format!("{name}Request")).ok());
        let read = message.and_then(|message| message.decode(request.body().clone(), request.api_version()).ok());
        match read {
            Some(read) => json["body"] = read.json,
            None => json["bodyBase64"] = base64(request.body()).into(),
        }
    }
    json
}
