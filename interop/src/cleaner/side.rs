//! One of the two brokers, and what is left in its log.

use std::collections::{BTreeSet, HashMap};

use milena_client::{Client, ClientConfig, CoordinatorKind, FetchOptions, Isolation, NewTopic, Record, Target};
use milena_messages::add_partitions_to_txn::request::AddPartitionsToTxnTopic;
use milena_messages::incremental_alter_configs::request::{AlterConfigsResource, AlterableConfig};
use milena_messages::list_offsets::request::{ListOffsetsPartition, ListOffsetsTopic};
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::{
    AddPartitionsToTxnRequest, EndTxnRequest, ErrorCode, IncrementalAlterConfigsRequest, InitProducerIdRequest, Int32s,
    ListOffsetsRequest, ProduceRequest,
};
use milena_records::{Batch, BatchBuilder, Batches, Control, TimestampType};

use super::log::{PRODUCERS, Settings, Step, TRANSACTIONAL};
use crate::suite::{Failure, Outcome};

const TIME: i64 = 1_700_000_000_000;
/// Kafka's type of resource for topics.
const TOPIC: i8 = 2;
/// Kafka's operation that sets a value.
const SET: i8 = 0;

#[derive(Clone, Copy, Debug)]
struct Producer {
    id: i64,
    epoch: i16,
    sequence: i32,
    /// Its transaction has the partition.
    joined: bool,
}

pub(super) struct Side {
    client: Client,
    topic: String,
    producers: Vec<Producer>,
    /// Grows with each record.
    time: i64,
}

impl Side {
    pub(super) async fn new(bootstrap: &str, topic: &str) -> Result<Self, Failure> {
        let config = ClientConfig { bootstrap: vec![bootstrap.to_owned()], ..ClientConfig::default() };
        let client = Client::connect(config).await?;
        Ok(Self { client, topic: topic.to_owned(), producers: Vec::new(), time: TIME })
    }

    /// Creates the topic and the producers.
    pub(super) async fn create(&mut self, settings: &Settings) -> Outcome {
        let mut topic = NewTopic::new(self.topic.clone(), 1, 1);
        for (name, value) in settings {
            topic = topic.with_config(*name, value.clone());
        }
        self.client.create_topic(topic).await?;
        for producer in 0..PRODUCERS {
            let transactional = (producer < TRANSACTIONAL).then(|| self.transactional_id(producer));
            let request = InitProducerIdRequest {
                transactional_id: transactional.clone().map(Into::into),
                transaction_timeout_ms: 60_000,
                producer_id: -1,
                producer_epoch: -1,
                ..Default::default()
            };
            let target = transactional.map_or(Target::Any, |key| coordinator(&key));
            // The topic of a coordinator is created when it is needed, which takes Kafka a moment.
            let mut tries = 0;
            let response = loop {
                let sent = self.client.send_at(target.clone(), &request, 4).await;
                tries += 1;
                match sent {
                    Ok(response) if response.error_code.is_none() => break response,
                    Ok(response) if tries > 100 => return Err(response.error_code.to_string().into()),
                    Err(error) if tries > 100 => return Err(error.into()),
                    _ => tokio::time::sleep(std::time::Duration::from_millis(100)).await,
                }
            };
            let (id, epoch) = (response.producer_id, response.producer_epoch);
            self.producers.push(Producer { id, epoch, sequence: 0, joined: false });
        }
        Ok(())
    }

    fn transactional_id(&self, producer: usize) -> String {
        format!("{}-t{producer}", self.topic)
    }

    pub(super) async fn step(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Batch { producer, codec, records } => self.produce(*producer, *codec, records).await,
            Step::End { producer, commit } => self.end(*producer, *commit).await,
            Step::Configure { name, value } => {
                let config = AlterableConfig {
                    name: (*name).into(),
                    config_operation: SET,
                    value: Some(value.clone().into()),
                    ..Default::default()
                };
                let resource = AlterConfigsResource {
                    resource_type: TOPIC,
                    resource_name: self.topic.clone().into(),
                    configs: vec![config],
                    ..Default::default()
                };
                let request = IncrementalAlterConfigsRequest { resources: vec![resource], ..Default::default() };
                let response = self.client.send(Target::Controller, &request).await?;
                response.responses.iter().try_for_each(|one| check(one.error_code))
            }
        }
    }

    async fn produce(
        &mut self,
        producer: Option<usize>,
        codec: milena_client::Codec,
        records: &[(String, Option<String>)],
    ) -> Outcome {
        let transactional_id =
            producer.filter(|producer| *producer < TRANSACTIONAL).map(|producer| self.transactional_id(producer));
        let mut builder = BatchBuilder::new().codec(codec).transactional(transactional_id.is_some());
        if let Some(producer) = producer {
            let known = self.producers[producer];
            builder = builder.producer(known.id, known.epoch, known.sequence);
            if let Some(id) = transactional_id.clone().filter(|_| !known.joined) {
                let topic = AddPartitionsToTxnTopic {
                    name: self.topic.clone().into(),
                    partitions: Int32s::from_slice(&[0]),
                    ..Default::default()
                };
                let request = AddPartitionsToTxnRequest {
                    v3_and_below_transactional_id: id.clone().into(),
                    v3_and_below_producer_id: known.id,
                    v3_and_below_producer_epoch: known.epoch,
                    v3_and_below_topics: vec![topic],
                    ..Default::default()
                };
                self.until_done(async |client| {
                    let response = client.send_at(coordinator(&id), &request, 3).await?;
                    let topics = response.results_by_topic_v3_and_below.iter();
                    Ok(topics
                        .flat_map(|topic| &topic.results_by_partition)
                        .map(|one| one.partition_error_code)
                        .collect())
                })
                .await?;
                self.producers[producer].joined = true;
            }
            self.producers[producer].sequence += records.len() as i32;
        }
        for (key, value) in records {
            self.time += 1;
            let value = value.clone().map(Into::into);
            builder.push(&Record {
                key: Some(key.clone().into()),
                value,
                timestamp: self.time,
                ..Record::default()
            })?;
        }
        let bytes = builder.build()?;
        let partition = PartitionProduceData { index: 0, records: Some(bytes), ..Default::default() };
        let topic =
            TopicProduceData { name: self.topic.clone().into(), partition_data: vec![partition], ..Default::default() };
        let request = ProduceRequest {
            transactional_id: transactional_id.map(Into::into),
            acks: -1,
            timeout_ms: 10_000,
            topic_data: vec![topic],
            ..Default::default()
        };
        let leader = Target::Leader { topic: self.topic.clone(), partition: 0 };
        let response = self.client.send_at(leader, &request, 11).await?;
        let partitions = response.responses.iter().flat_map(|topic| &topic.partition_responses);
        partitions.map(|one| one.error_code).try_for_each(check)
    }

    async fn end(&mut self, producer: usize, commit: bool) -> Outcome {
        let (id, known) = (self.transactional_id(producer), self.producers[producer]);
        let request = EndTxnRequest {
            transactional_id: id.clone().into(),
            producer_id: known.id,
            producer_epoch: known.epoch,
            committed: commit,
            ..Default::default()
        };
        let before = self.end_offset(0).await?;
        self.until_done(async |client| Ok(vec![client.send_at(coordinator(&id), &request, 4).await?.error_code]))
            .await?;
        // Kafka writes the marker after its response.
        for _ in 0..200 {
            if self.end_offset(0).await? > before {
                self.producers[producer].joined = false;
                return Ok(());
            }
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        Err("no marker was written".into())
    }

    /// Repeats a request while the coordinator is busy with the last transaction.
    async fn until_done(&self, ask: impl AsyncFn(&Client) -> Result<Vec<ErrorCode>, Failure>) -> Outcome {
        for _ in 0..200 {
            let codes = ask(&self.client).await?;
            let busy = [ErrorCode::CONCURRENT_TRANSACTIONS, ErrorCode::COORDINATOR_LOAD_IN_PROGRESS];
            if codes.iter().any(|code| busy.contains(code)) {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                continue;
            }
            return codes.into_iter().try_for_each(check);
        }
        Err("the coordinator is busy".into())
    }

    async fn list(&self, timestamp: i64, isolation_level: i8) -> Result<i64, Failure> {
        let partition = ListOffsetsPartition { timestamp, ..Default::default() };
        let topic =
            ListOffsetsTopic { name: self.topic.clone().into(), partitions: vec![partition], ..Default::default() };
        let request = ListOffsetsRequest { replica_id: -1, isolation_level, topics: vec![topic], ..Default::default() };
        let leader = Target::Leader { topic: self.topic.clone(), partition: 0 };
        let response = self.client.send(leader, &request).await?;
        let found = response.topics.iter().flat_map(|topic| &topic.partitions).next().ok_or("no partition")?;
        check(found.error_code)?;
        Ok(found.offset)
    }

    async fn end_offset(&self, isolation_level: i8) -> Result<i64, Failure> {
        self.list(-1, isolation_level).await
    }

    /// Where open transactions begin.
    pub(super) async fn stable_offset(&self) -> Result<i64, Failure> {
        self.end_offset(1).await
    }

    /// The log as lines: its ends, then each batch with its header and records. Ids of producers are those of this
    /// module, and the time of delete horizons is left out.
    pub(super) async fn left(&self) -> Result<Vec<String>, Failure> {
        let (start, end) = (self.list(-2, 0).await?, self.end_offset(0).await?);
        let mut lines = vec![format!("{start}..{end}")];
        let ids: HashMap<i64, usize> = self.producers.iter().enumerate().map(|(at, one)| (one.id, at)).collect();
        let mut offset = start;
        while offset < end {
            let options = FetchOptions { isolation: Isolation::ReadUncommitted, ..FetchOptions::default() };
            let fetched = self.client.fetch(&self.topic, 0, offset, &options).await?;
            for batch in Batches::new(fetched.records.clone()) {
                let batch = batch?;
                offset = batch.next_offset();
                lines.push(describe(&batch, &ids)?);
            }
            if fetched.records.is_empty() {
                lines.push(format!("nothing from {offset} on"));
                break;
            }
        }
        lines.push(format!("aborted {:?}", self.aborted(start, &ids).await?));
        Ok(lines)
    }

    /// The aborted transactions that readers learn of, by first offset and producer, of those that begin in what they get
    /// with it: `interop/deviations.md` says why.
    async fn aborted(&self, start: i64, ids: &HashMap<i64, usize>) -> Result<BTreeSet<(i64, Option<usize>)>, Failure> {
        let (mut aborted, mut offset) = (BTreeSet::new(), start);
        let stable = self.stable_offset().await?;
        while offset < stable {
            let options = FetchOptions { isolation: Isolation::ReadCommitted, ..FetchOptions::default() };
            let fetched = self.client.fetch(&self.topic, 0, offset, &options).await?;
            match Batches::new(fetched.records).last() {
                Some(batch) => offset = batch?.next_offset(),
                None => break,
            }
            let here = fetched.aborted.iter().filter(|(_, first)| *first < offset);
            aborted.extend(here.map(|(id, first)| (*first, ids.get(id).copied())));
        }
        Ok(aborted)
    }
}

fn coordinator(transactional_id: &str) -> Target {
    Target::Coordinator { kind: CoordinatorKind::Transaction, key: transactional_id.to_owned() }
}

fn check(code: ErrorCode) -> Outcome {
    if code.is_none() { Ok(()) } else { Err(code.to_string().into()) }
}

fn describe(batch: &Batch, ids: &HashMap<i64, usize>) -> Result<String, Failure> {
    batch.check_crc()?;
    let is_log_append_time = batch.timestamp_type() == TimestampType::LogAppendTime;
    let mut records = Vec::new();
    for record in batch.records() {
        let record = record?;
        // A marker has the time of the broker.
        let time = if batch.is_control() || is_log_append_time { 0 } else { record.timestamp - TIME };
        let what = if batch.is_control() {
            match Control::parse(&record)? {
                Control::Commit { .. } => "commit".to_owned(),
                Control::Abort { .. } => "abort".to_owned(),
                other => format!("{other:?}"),
            }
        } else {
            let text = |bytes: Option<&[u8]>| bytes.map(String::from_utf8_lossy).map(std::borrow::Cow::into_owned);
            format!("{:?}={:?}", text(record.key), text(record.value))
        };
        records.push(format!("{}@{time}:{what}", record.offset));
    }
    let own_time = batch.is_control() || is_log_append_time;
    let base_time = match batch.delete_horizon() {
        Some(_) => "horizon".to_owned(),
        None if batch.base_timestamp() == -1 => "none".to_owned(),
        None if own_time => "own".to_owned(),
        None => (batch.base_timestamp() - TIME).to_string(),
    };
    let max_time = if own_time { "own".to_owned() } else { (batch.max_timestamp() - TIME).to_string() };
    let size = if batch.is_compressed() { 0 } else { batch.size_in_bytes() };
    let delta = if batch.delete_horizon().is_some() { 0 } else { size };
    Ok(format!(
        "{}..={} attributes {:#x} epoch {} base time {base_time} max time {max_time} producer {:?}/{}/{} bytes {delta} {:?} {records:?}",
        batch.base_offset(),
        batch.last_offset(),
        batch.attributes(),
        batch.partition_leader_epoch(),
        ids.get(&batch.producer_id()),
        batch.producer_epoch(),
        batch.base_sequence(),
        batch.count(),
    ))
}
