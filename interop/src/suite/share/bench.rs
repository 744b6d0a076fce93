//! A share group to try things with.

use milena_client::{Acks, Client, Codec, NewTopic, Record, Target as To};
use milena_messages::describe_share_group_offsets::request::DescribeShareGroupOffsetsRequestGroup;
use milena_messages::incremental_alter_configs::request::{AlterConfigsResource, AlterableConfig};
use milena_messages::metadata::request::MetadataRequestTopic;
use milena_messages::share_acknowledge::request as acknowledge;
use milena_messages::share_fetch::request as fetch;
use milena_messages::share_fetch::response::PartitionData;
use milena_messages::{
    DescribeShareGroupOffsetsRequest, ErrorCode, IncrementalAlterConfigsRequest, MetadataRequest,
    ShareAcknowledgeRequest, ShareFetchRequest, ShareFetchResponse, ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse, Uuid,
};

use super::{AGAIN_AFTER, GROUP, coordinator};
use crate::suite::common::same;
use crate::suite::{Failure, Outcome, Target};

/// A client, a topic and a share group of one name, and a member of it.
pub(super) struct Bench {
    pub(super) client: Client,
    pub(super) name: String,
    pub(super) topic_id: Uuid,
    pub(super) epoch: i32,
    /// The epoch of the share session that comes next.
    pub(super) session: i32,
}

impl Bench {
    /// With a topic of one partition, and a group that reads it from its beginning.
    pub(super) async fn new(target: &Target) -> Result<Self, Failure> {
        let client = target.client().await?;
        let name = target.prefix.clone();
        client.create_topic(NewTopic::new(name.clone(), 1, 1)).await?;
        let wanted = MetadataRequestTopic { name: Some(name.clone().into()), ..Default::default() };
        let request = MetadataRequest { topics: Some(vec![wanted]), ..Default::default() };
        let metadata = client.send(To::Any, &request).await?;
        let mut topics = metadata.topics.into_iter();
        let topic = topics.find(|topic| topic.name.as_deref() == Some(&name)).ok_or("the topic is not there")?;
        let bench = Self { client, name, topic_id: topic.topic_id, epoch: 0, session: 0 };
        bench.configure("share.auto.offset.reset", "earliest").await?;
        Ok(bench)
    }

    pub(super) async fn configure(&self, name: &str, value: &str) -> Outcome {
        let config = AlterableConfig {
            name: name.to_owned().into(),
            value: Some(value.to_owned().into()),
            ..Default::default()
        };
        let resource = AlterConfigsResource {
            resource_type: GROUP,
            resource_name: self.name.clone().into(),
            configs: vec![config],
            ..Default::default()
        };
        let request = IncrementalAlterConfigsRequest { resources: vec![resource], ..Default::default() };
        let response = self.client.send(To::Any, &request).await?;
        same("the setting of the group", response.responses[0].error_code, ErrorCode::NONE)
    }

    pub(super) async fn beat(
        &self,
        epoch: i32,
        names: Option<&[&str]>,
    ) -> Result<ShareGroupHeartbeatResponse, Failure> {
        let request = ShareGroupHeartbeatRequest {
            group_id: self.name.clone().into(),
            member_id: "m".into(),
            member_epoch: epoch,
            subscribed_topic_names: names.map(|names| names.iter().map(|name| (*name).to_owned().into()).collect()),
            ..Default::default()
        };
        Ok(self.client.send_at(coordinator(&self.name), &request, 1).await?)
    }

    /// Joins, and goes on until the partition is assigned.
    pub(super) async fn join(&mut self) -> Outcome {
        let name = self.name.clone();
        let mut response = self.beat(0, Some(&[&name])).await?;
        loop {
            response.error_code.ok()?;
            self.epoch = response.member_epoch;
            if response.assignment.is_some_and(|assignment| !assignment.topic_partitions.is_empty()) {
                return Ok(());
            }
            tokio::time::sleep(AGAIN_AFTER).await;
            response = self.beat(self.epoch, None).await?;
        }
    }

    pub(super) async fn leave(&self) -> Outcome {
        let response = self.beat(-1, None).await?;
        same("leaving", (response.error_code, response.member_epoch), (ErrorCode::NONE, -1))
    }

    pub(super) async fn produce(&self, batches: &[usize]) -> Outcome {
        for count in batches {
            let records = vec![Record::from_value("v"); *count];
            self.client.produce(&self.name, 0, Acks::All, Codec::None, records).await?;
        }
        Ok(())
    }

    pub(super) fn leader(&self) -> To {
        To::Leader { topic: self.name.clone(), partition: 0 }
    }

    pub(super) fn fetching(&self, member: &str, epoch: i32) -> ShareFetchRequest {
        let partition = fetch::FetchPartition { partition_index: 0, ..Default::default() };
        let topic = fetch::FetchTopic { topic_id: self.topic_id, partitions: vec![partition], ..Default::default() };
        ShareFetchRequest {
            group_id: Some(self.name.clone().into()),
            member_id: Some(member.to_owned().into()),
            share_session_epoch: epoch,
            max_wait_ms: 500,
            min_bytes: 1,
            max_bytes: 1 << 20,
            max_records: 500,
            batch_size: 500,
            topics: if epoch == 0 { vec![topic] } else { Vec::new() },
            ..Default::default()
        }
    }

    pub(super) async fn send(&self, request: &ShareFetchRequest) -> Result<ShareFetchResponse, Failure> {
        Ok(self.client.send_at(self.leader(), request, 2).await?)
    }

    /// The next fetch of the session, with acknowledgements; what it says of the partition.
    pub(super) async fn fetch(
        &mut self,
        change: impl FnOnce(&mut ShareFetchRequest),
        verdicts: &[(i64, i64, &[i8])],
    ) -> Result<PartitionData, Failure> {
        let mut request = self.fetching("m", self.session);
        if !verdicts.is_empty() {
            let partition = fetch::FetchPartition {
                acknowledgement_batches: verdicts
                    .iter()
                    .map(|(first_offset, last_offset, kinds)| fetch::AcknowledgementBatch {
                        first_offset: *first_offset,
                        last_offset: *last_offset,
                        acknowledge_types: kinds.to_vec(),
                        ..Default::default()
                    })
                    .collect(),
                ..Default::default()
            };
            request.topics =
                vec![fetch::FetchTopic { topic_id: self.topic_id, partitions: vec![partition], ..Default::default() }];
        }
        change(&mut request);
        let response = self.send(&request).await?;
        response.error_code.ok()?;
        self.session += 1;
        let topic = response.responses.into_iter().next();
        Ok(topic.and_then(|mut topic| topic.partitions.pop()).unwrap_or_default())
    }

    /// What is acquired by the next fetch, which waits until there is something: (first, last, deliveries).
    pub(super) async fn acquire(
        &mut self,
        change: impl Fn(&mut ShareFetchRequest),
    ) -> Result<Vec<(i64, i64, i16)>, Failure> {
        loop {
            let data = self.fetch(&change, &[]).await?;
            data.error_code.ok()?;
            if !data.acquired_records.is_empty() {
                let range = |range: &milena_messages::share_fetch::response::AcquiredRecords| {
                    (range.first_offset, range.last_offset, range.delivery_count)
                };
                return Ok(data.acquired_records.iter().map(range).collect());
            }
        }
    }

    /// ShareAcknowledge of the partition; its code and its text.
    pub(super) async fn acknowledge(
        &mut self,
        verdicts: &[(i64, i64, &[i8])],
        renews: bool,
    ) -> Result<(ErrorCode, Option<String>), Failure> {
        let batch = |(first_offset, last_offset, kinds): &(i64, i64, &[i8])| acknowledge::AcknowledgementBatch {
            first_offset: *first_offset,
            last_offset: *last_offset,
            acknowledge_types: kinds.to_vec(),
            ..Default::default()
        };
        let partition = acknowledge::AcknowledgePartition {
            acknowledgement_batches: verdicts.iter().map(batch).collect(),
            ..Default::default()
        };
        let topic = acknowledge::AcknowledgeTopic {
            topic_id: self.topic_id,
            partitions: vec![partition],
            ..Default::default()
        };
        let request = ShareAcknowledgeRequest {
            group_id: Some(self.name.clone().into()),
            member_id: Some("m".into()),
            share_session_epoch: self.session,
            is_renew_ack: renews,
            topics: vec![topic],
            ..Default::default()
        };
        let response = self.client.send_at(self.leader(), &request, 2).await?;
        response.error_code.ok()?;
        self.session += 1;
        let partition = &response.responses[0].partitions[0];
        Ok((partition.error_code, partition.error_message.as_ref().map(|text| text.to_string())))
    }

    /// Start offset and lag of the partition.
    pub(super) async fn offsets(&self) -> Result<(i64, i64), Failure> {
        let group = DescribeShareGroupOffsetsRequestGroup {
            group_id: self.name.clone().into(),
            topics: None,
            ..Default::default()
        };
        let request = DescribeShareGroupOffsetsRequest { groups: vec![group], ..Default::default() };
        let response = self.client.send_at(coordinator(&self.name), &request, 1).await?;
        let group = &response.groups[0];
        group.error_code.ok()?;
        let partition = group.topics.first().and_then(|topic| topic.partitions.first());
        Ok(partition.map_or((-2, -2), |partition| (partition.start_offset, partition.lag)))
    }
}
