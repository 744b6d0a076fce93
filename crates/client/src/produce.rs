use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::produce::response::PartitionProduceResponse;
use milena_messages::{ApiKey, ByteString, ProduceRequest};
use milena_records::{BatchBuilder, Codec, MessageSetBuilder, Record};

use crate::attempts::Attempts;
use crate::cache::Leader;
use crate::client::{About, Client, Told, Whom};
use crate::error::{Error, Result};
use crate::link::Link;

/// What a broker has to do before it confirms a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Acks {
    /// Nothing: it does not answer at all.
    None,
    /// Append it to the leader's log.
    Leader,
    /// Have it on all replicas that are in sync.
    #[default]
    All,
}

impl Acks {
    /// The number in the request.
    fn number(self) -> i16 {
        match self {
            Self::None => 0,
            Self::Leader => 1,
            Self::All => -1,
        }
    }
}

/// Where a batch went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProduceOutcome {
    /// Offset of the first record; `None` with [`Acks::None`], where nobody says.
    pub base_offset: Option<i64>,
    /// The broker's time of the append, in milliseconds since 1970, when the topic keeps that instead of the producer's.
    pub log_append_time: Option<i64>,
    /// Oldest offset of the partition; `None` before Produce 5.
    pub log_start_offset: Option<i64>,
    /// The version of Produce that was spoken.
    pub api_version: i16,
    /// The record format: 2, or 1 and 0 with brokers before 0.11 and 0.10.
    pub magic: i8,
}

impl Client {
    /// Appends records to a partition as one batch.
    ///
    /// A record without a timestamp (-1) gets the time of this machine, as with Kafka's own producer. The format follows
    /// the broker: record batches from 0.11 on, message sets of magic 1 with 0.10 and of magic 0 before; those have no
    /// headers.
    ///
    /// The batch is sent again when the leader moved, a connection could not be opened, or the broker says that its
    /// trouble will pass, all within the deadline. When the broker may have appended it without saying so, the error is
    /// given back, unless [`ClientConfig::resend_unanswered`](crate::ClientConfig::resend_unanswered) says otherwise. With
    /// [`Acks::None`] this returns as soon as the bytes are with the socket, and no loss will ever show.
    ///
    /// # Errors
    /// No records; a codec that this build or the broker lacks ([`Error::Unsupported`] for zstd before Produce 7); headers
    /// where the format has none; the broker's refusal; the deadline.
    pub async fn produce(
        &self,
        topic: &str,
        partition: i32,
        acks: Acks,
        codec: Codec,
        records: Vec<Record>,
    ) -> Result<ProduceOutcome> {
        if records.is_empty() {
            return Err(Error::Invalid("there are no records to produce".to_owned()));
        }
        let records = stamp(records);
        let mut attempts = Attempts::new(&self.inner.config);
        loop {
            match self.produce_once(topic, partition, acks, codec, &records, &attempts).await {
                Ok(outcome) => return Ok(outcome),
                Err(error) => {
                    self.doubt(&error, topic);
                    if error.is_uncertain() && !self.inner.config.resend_unanswered && !is_lookup(&error) {
                        return Err(error);
                    }
                    attempts.again_after(error).await?;
                }
            }
        }
    }

    async fn produce_once(
        &self,
        topic: &str,
        partition: i32,
        acks: Acks,
        codec: Codec,
        records: &[Record],
        attempts: &Attempts,
    ) -> Result<ProduceOutcome> {
        let deadline = attempts.request_deadline();
        let leader = self.leader(topic, partition, deadline).await?;
        let version = |link: &Link| version(link, codec, &leader);
        let make = |_: &Link, version| {
            let data = PartitionProduceData {
                index: partition,
                records: Some(batch(records, codec, magic(version))?),
                ..Default::default()
            };
            let topic = TopicProduceData {
                name: ByteString::from(topic),
                topic_id: leader.topic_id.unwrap_or_default(),
                partition_data: vec![data],
                ..Default::default()
            };
            Ok(ProduceRequest {
                acks: acks.number(),
                timeout_ms: attempts.broker_timeout_ms(),
                topic_data: vec![topic],
                ..Default::default()
            })
        };
        let mut told = self.ask(Whom::At(&leader.address), deadline, version, make).await?;
        let (api_version, magic) = (told.version, magic(told.version));
        let Some(answer) = told.answer.take() else {
            return Ok(ProduceOutcome { api_version, magic, ..Default::default() });
        };
        let mut partitions = answer.responses.into_iter().flat_map(|topic| topic.partition_responses);
        let Some(answer) = partitions.find(|answer| answer.index == partition) else {
            let reason = format!("the answer does not name {topic}-{partition}");
            return Err(Error::Unsupported { address: told.address, api: ApiKey::PRODUCE, reason });
        };
        if !answer.error_code.is_none() {
            return Err(refusal(&told, topic, &answer));
        }
        Ok(ProduceOutcome {
            base_offset: known(answer.base_offset),
            log_append_time: known(answer.log_append_time_ms),
            log_start_offset: known(answer.log_start_offset),
            api_version,
            magic,
        })
    }
}

fn known(number: i64) -> Option<i64> {
    (number >= 0).then_some(number)
}

/// A look-up that failed appended nothing.
fn is_lookup(error: &Error) -> bool {
    match error {
        Error::Closed { api, .. } | Error::Timeout { api, .. } | Error::Broker { api, .. } => *api != ApiKey::PRODUCE,
        _ => true,
    }
}

fn refusal<T>(told: &Told<T>, topic: &str, answer: &PartitionProduceResponse) -> Error {
    let mut message = answer.error_message.as_deref().unwrap_or_default().to_owned();
    for record in &answer.record_errors {
        if !message.is_empty() {
            message.push_str("; ");
        }
        message.push_str(&format!("record {}", record.batch_index));
        if let Some(text) = &record.batch_index_error_message {
            message.push_str(&format!(": {text}"));
        }
    }
    let message = (!message.is_empty()).then_some(&*message);
    told.error(ApiKey::PRODUCE, answer.error_code, About::partition(topic, answer.index, message))
}

fn version(link: &Link, codec: Codec, leader: &Leader) -> Result<i16> {
    // From version 13 on a topic goes by its id alone.
    let most = if leader.topic_id.is_some() { i16::MAX } else { 12 };
    let version = Client::version_up_to::<ProduceRequest>(link, most)?;
    if codec == Codec::Zstd && version < 7 {
        return Err(Error::Unsupported {
            address: Arc::clone(link.address()),
            api: ApiKey::PRODUCE,
            reason: format!("zstd needs version 7 (Kafka 2.1), the broker speaks {version}"),
        });
    }
    Ok(version)
}

fn magic(version: i16) -> i8 {
    match version {
        0 | 1 => 0,
        2 => 1,
        _ => 2,
    }
}

fn batch(records: &[Record], codec: Codec, magic: i8) -> Result<Bytes> {
    let invalid = |error: milena_records::Error| Error::Invalid(format!("cannot write the records: {error}"));
    if magic == 2 {
        let mut builder = BatchBuilder::new().codec(codec);
        records.iter().try_for_each(|record| builder.push(record)).map_err(invalid)?;
        return builder.build().map_err(invalid);
    }
    let mut builder = MessageSetBuilder::new(magic).map_err(invalid)?.codec(codec);
    records.iter().try_for_each(|record| builder.push(record)).map_err(invalid)?;
    builder.build().map_err(invalid)
}

fn stamp(mut records: Vec<Record>) -> Vec<Record> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let now = i64::try_from(now).unwrap_or(-1);
    for record in records.iter_mut().filter(|record| record.timestamp == -1) {
        record.timestamp = now;
    }
    records
}
