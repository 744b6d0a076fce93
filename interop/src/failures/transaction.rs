//! Markers of transactions take offsets, but are no records (KIP-98).

use std::time::Duration;

use milena_client::{Client, Record, Target};
use milena_messages::add_partitions_to_txn::request::AddPartitionsToTxnTopic;
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::{
    AddPartitionsToTxnRequest, ByteString, EndTxnRequest, ErrorCode, FindCoordinatorRequest, InitProducerIdRequest,
    ProduceRequest,
};
use milena_records::BatchBuilder;

use super::stage::Stage;
use crate::suite::{Failure, Outcome, same};

const TOPIC: &str = "transactions";
const ID: &str = "milena-interop";

pub(super) async fn the_last_records_are_counted_across_markers_and_aborted_ones(stage: &mut Stage) -> Outcome {
    stage.topic(TOPIC, &[1], &[]).await?;
    let client = stage.client(Duration::from_secs(30)).await?;
    let mut producer = Producer::new(client).await?;
    // Offsets 0 and 1 are of a record and its marker, and so on: the last are 7, 8 and 9, 10 and 11.
    for (value, commits) in [("a", true), ("b", true), ("c", false), ("d", true), ("e", false)] {
        producer.transaction(value, commits).await?;
    }
    let consume = async |args: &[&str]| stage.succeeds(&[&["consume", TOPIC][..], args].concat(), "").await;
    same("all", consume(&[]).await?, "a\nb\nc\nd\ne\n".to_owned())?;
    same("offsets", consume(&["--format", "{offset}"]).await?, "0\n2\n4\n6\n8\n".to_owned())?;
    same("the last three", consume(&["--from", "-3"]).await?, "c\nd\ne\n".to_owned())?;
    same("the last four", consume(&["--from", "-4"]).await?, "b\nc\nd\ne\n".to_owned())?;
    same("the last three before 6", consume(&["--from", "-3", "--to", "6"]).await?, "a\nb\nc\n".to_owned())?;
    same("committed", consume(&["--committed"]).await?, "a\nb\nd\n".to_owned())?;
    same("the last committed", consume(&["--committed", "--from", "-1"]).await?, "d\n".to_owned())?;
    same("the last two committed", consume(&["--committed", "--from", "-2"]).await?, "b\nd\n".to_owned())?;
    same("more than there are", consume(&["--committed", "--from", "-9"]).await?, "a\nb\nd\n".to_owned())
}

/// A transactional producer by hand: the client has none. Versions are those of a client of Kafka 3.
struct Producer {
    client: Client,
    coordinator: i32,
    id: i64,
    epoch: i16,
    sequence: i32,
}

impl Producer {
    async fn new(client: Client) -> Result<Self, Failure> {
        // The first request makes the coordinator's own topic.
        for _ in 0..200 {
            if let Some(producer) = Self::attempt(&client).await? {
                return Ok(producer);
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Err("no coordinator of transactions".into())
    }

    async fn attempt(client: &Client) -> Result<Option<Self>, Failure> {
        let key_type = 1;
        let coordinator_keys = vec![ByteString::from(ID)];
        let find = FindCoordinatorRequest { key_type, coordinator_keys, ..Default::default() };
        let found = client.send(Target::Any, &find).await?.coordinators.into_iter().next();
        let Some(found) = found.filter(|found| found.error_code == ErrorCode::NONE) else { return Ok(None) };
        let coordinator = found.node_id;
        let init = InitProducerIdRequest {
            transactional_id: Some(ByteString::from(ID)),
            transaction_timeout_ms: 60_000,
            ..Default::default()
        };
        let given = client.send_at(coordinator, &init, 4).await?;
        if given.error_code != ErrorCode::NONE {
            return Ok(None);
        }
        let (id, epoch) = (given.producer_id, given.producer_epoch);
        Ok(Some(Self { client: client.clone(), coordinator, id, epoch, sequence: 0 }))
    }

    /// Writes one record in a transaction of its own.
    async fn transaction(&mut self, value: &str, committed: bool) -> Outcome {
        let topic = AddPartitionsToTxnTopic {
            name: ByteString::from(TOPIC),
            partitions: [0].into_iter().collect(),
            ..Default::default()
        };
        let add = AddPartitionsToTxnRequest {
            v3_and_below_transactional_id: ByteString::from(ID),
            v3_and_below_producer_id: self.id,
            v3_and_below_producer_epoch: self.epoch,
            v3_and_below_topics: vec![topic],
            ..Default::default()
        };
        // The transaction before may still be writing its markers.
        self.until_done(async |producer| {
            let added = producer.client.send_at(producer.coordinator, &add, 3).await?;
            let mut partitions =
                added.results_by_topic_v3_and_below.into_iter().flat_map(|topic| topic.results_by_partition);
            Ok(partitions.next().map_or(ErrorCode::UNKNOWN_SERVER_ERROR, |partition| partition.partition_error_code))
        })
        .await?;

        let mut batch = BatchBuilder::new().producer(self.id, self.epoch, self.sequence).transactional(true);
        batch.push(&Record::from_value(value.to_owned()).with_timestamp(1))?;
        self.sequence += 1;
        let data = PartitionProduceData { index: 0, records: Some(batch.build()?), ..Default::default() };
        let topic =
            TopicProduceData { name: ByteString::from(TOPIC), partition_data: vec![data], ..Default::default() };
        let produce = ProduceRequest {
            transactional_id: Some(ByteString::from(ID)),
            acks: -1,
            timeout_ms: 10_000,
            topic_data: vec![topic],
            ..Default::default()
        };
        let leader = Target::Leader { topic: TOPIC.to_owned(), partition: 0 };
        let produced = self.client.send_at(leader, &produce, 9).await?;
        for partition in produced.responses.into_iter().flat_map(|topic| topic.partition_responses) {
            partition.error_code.ok()?;
        }

        let end = EndTxnRequest {
            transactional_id: ByteString::from(ID),
            producer_id: self.id,
            producer_epoch: self.epoch,
            committed,
            ..Default::default()
        };
        self.until_done(async |producer| Ok(producer.client.send_at(producer.coordinator, &end, 3).await?.error_code))
            .await
    }

    async fn until_done(&self, step: impl AsyncFn(&Self) -> Result<ErrorCode, Failure>) -> Outcome {
        for _ in 0..100 {
            match step(self).await? {
                ErrorCode::NONE => return Ok(()),
                ErrorCode::CONCURRENT_TRANSACTIONS => tokio::time::sleep(Duration::from_millis(20)).await,
                code => return Err(format!("the coordinator of transactions says {code}").into()),
            }
        }
        Err("the transaction before does not end".into())
    }
}
