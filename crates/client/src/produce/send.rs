//! Sends the batches of a call, and splits those that are refused because of what is in them.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use milena_messages::describe_configs::request::DescribeConfigsResource;
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::produce::response::PartitionProduceResponse;
use milena_messages::{ApiKey, ByteString, DescribeConfigsRequest, ErrorCode, ProduceRequest};
use milena_records::{Codec, Record};
use tokio::time::Instant;

use super::acks::Acks;
use super::batch::{chunks, encode, magic, without};
use super::report::{ProduceOutcome, ProduceReport};
use crate::call::{Operation, Route, Subject, Target};
use crate::core::Core;
use crate::error::{Error, Result};
use crate::net::Link;

/// Bytes of a request besides its batch and the name of its topic, at most.
const REQUEST_OVERHEAD: usize = 512;

/// Number of a topic in DescribeConfigs.
const TOPIC_RESOURCE: i8 = 2;

/// How often a batch is sent that the broker calls corrupt. Brokers before 2.4 say so of records that they do not accept.
const CORRUPT_ATTEMPTS: u32 = 2;

/// Where records go, and how.
pub(super) struct Destination<'a> {
    pub(super) core: Arc<Core>,
    pub(super) topic: &'a str,
    pub(super) partition: i32,
    pub(super) acks: Acks,
    pub(super) codec: Codec,
}

/// Why a batch was not written.
enum Refusal {
    /// The batch is larger than this setting allows; its size, and the limit as far as it is known.
    TooLarge { size: usize, limit: Option<usize>, setting: &'static str },
    /// Some records are at fault: indexes in the call, and why.
    Records(Vec<(usize, Error)>),
    /// A record is at fault, but the broker does not say which.
    SomeRecord { code: ErrorCode, message: Option<String> },
    /// The records are not at fault.
    Error(Error),
}

const TOPIC_LIMIT: &str = "max.message.bytes of the topic";

impl Destination<'_> {
    /// Sends all records. A batch that is refused because of its records is split, until those at fault are alone.
    pub(super) async fn send(&self, records: &[Record]) -> ProduceReport {
        let mut report = ProduceReport::default();
        let mut operation = self.operation();
        let mut parts: VecDeque<Range<usize>> = chunks(records, self.core.config.max_batch_bytes).into();
        while let Some(part) = parts.pop_front() {
            let refusal = match self.send_part(&mut operation, records, part.clone()).await {
                Ok(outcome) => {
                    report.push(part, Ok(outcome));
                    continue;
                }
                Err(refusal) => refusal,
            };
            let halves = [part.start..part.start + part.len() / 2, part.start + part.len() / 2..part.end];
            let single = part.len() == 1;
            match refusal {
                Refusal::TooLarge { .. } | Refusal::SomeRecord { .. } if !single => {
                    tracing::debug!(topic = self.topic, records = part.len(), "the batch is refused, split in two");
                    halves.into_iter().rev().for_each(|half| parts.push_front(half));
                }
                Refusal::TooLarge { size, limit, setting } => {
                    let limit = match limit {
                        None if setting == TOPIC_LIMIT => self.topic_limit(&mut operation).await,
                        limit => limit,
                    };
                    let (topic, partition, record) = (self.topic.into(), self.partition, part.start);
                    let error = Error::RecordTooLarge { topic, partition, record, size, limit, setting };
                    report.push(part, Err(error));
                }
                Refusal::SomeRecord { code, message } => {
                    report.push(part.clone(), Err(self.refused(part.start, code, message)));
                }
                Refusal::Records(refused) => {
                    let gone: Vec<usize> = refused.iter().map(|(record, _)| *record).collect();
                    without(part, &gone).into_iter().rev().for_each(|left| parts.push_front(left));
                    refused.into_iter().for_each(|(record, error)| report.push(record..record + 1, Err(error)));
                }
                Refusal::Error(error) => {
                    let goes_on = error.possibly_written();
                    if !goes_on {
                        // The rest would meet the same error.
                        parts.drain(..).for_each(|rest| report.push(rest, Err(error.clone())));
                    }
                    report.push(part, Err(error));
                }
            }
        }
        report.sort();
        report
    }

    fn operation(&self) -> Operation<'_> {
        let operation = Operation::new(&self.core).about(self.topic);
        if self.core.config.resend_unanswered { operation } else { operation.once_if_unsure() }
    }

    async fn send_part(
        &self,
        operation: &mut Operation<'_>,
        records: &[Record],
        part: Range<usize>,
    ) -> Result<ProduceOutcome, Refusal> {
        let mut corrupt = 0;
        loop {
            let result = match self.send_once(operation, &records[part.clone()], part.start).await {
                Ok(outcome) => return Ok(outcome),
                Err(Refusal::Error(error)) => Err(error),
                Err(refusal) => return Err(refusal),
            };
            if let Err(Error::Broker { code: code @ ErrorCode::CORRUPT_MESSAGE, message, .. }) = &result {
                corrupt += 1;
                if corrupt >= CORRUPT_ATTEMPTS {
                    return Err(Refusal::SomeRecord { code: *code, message: message.clone() });
                }
            }
            match operation.settle::<ProduceOutcome>(result).await {
                Ok(Some(outcome)) => return Ok(outcome),
                Ok(None) => {}
                Err(Error::RecordInvalid { record, cause }) => {
                    return Err(Refusal::Records(vec![(record, Error::RecordInvalid { record, cause })]));
                }
                Err(error) => return Err(Refusal::Error(error)),
            }
        }
    }

    async fn send_once(
        &self,
        operation: &mut Operation<'_>,
        records: &[Record],
        first: usize,
    ) -> Result<ProduceOutcome, Refusal> {
        let leader = operation.leader(self.topic, self.partition).await.map_err(Refusal::Error)?;
        // From version 13 on a topic goes by its id alone.
        let most = if leader.topic_id.is_some() { i16::MAX } else { 12 };
        let version = |link: &Link| self.version(link, most);
        let timeout_ms = operation.attempts.broker_timeout_ms();
        let size = AtomicUsize::new(0);
        let limit = self.core.config.max_request_bytes.saturating_sub(REQUEST_OVERHEAD + self.topic.len());
        let make = |_: &Link, version| {
            let batch = encode(records, first, self.codec, magic(version))?;
            size.store(batch.len(), Ordering::Relaxed);
            if batch.len() > limit {
                return Err(Error::Invalid(String::new()));
            }
            let data = PartitionProduceData { index: self.partition, records: Some(batch), ..Default::default() };
            let topic = TopicProduceData {
                name: ByteString::from(self.topic),
                topic_id: leader.topic_id.unwrap_or_default(),
                partition_data: vec![data],
                ..Default::default()
            };
            Ok(ProduceRequest { acks: self.acks.number(), timeout_ms, topic_data: vec![topic], ..Default::default() })
        };
        let sent = operation.send(Route::At(&leader.endpoint), version, make).await;
        let size = size.load(Ordering::Relaxed);
        if size > limit {
            return Err(Refusal::TooLarge { size, limit: Some(limit), setting: "max_request_bytes of this client" });
        }
        let mut reply = sent.map_err(Refusal::Error)?;
        let (api_version, magic) = (reply.version, magic(reply.version));
        let Some(response) = reply.body.take() else {
            return Ok(ProduceOutcome { api_version, magic, ..Default::default() });
        };
        let mut partitions = response.responses.into_iter().flat_map(|topic| topic.partition_responses);
        let Some(response) = partitions.find(|response| response.index == self.partition) else {
            let error = Error::missing(&reply.address, ApiKey::PRODUCE, self.topic, self.partition);
            return Err(Refusal::Error(error));
        };
        if let Some(refusal) = self.refusal(&response, records.len(), first, size) {
            return Err(refusal);
        }
        if !response.error_code.is_none() {
            let message = response.error_message.as_deref();
            let subject = Subject { message, ..Subject::partition(self.topic, self.partition) };
            return Err(Refusal::Error(reply.error(ApiKey::PRODUCE, response.error_code, subject)));
        }
        let known = |number: i64| (number >= 0).then_some(number);
        Ok(ProduceOutcome {
            base_offset: known(response.base_offset),
            log_append_time: known(response.log_append_time_ms),
            log_start_offset: known(response.log_start_offset),
            api_version,
            magic,
        })
    }

    /// What a response says against the records.
    fn refusal(&self, response: &PartitionProduceResponse, count: usize, first: usize, size: usize) -> Option<Refusal> {
        let (code, message) = (response.error_code, response.error_message.as_ref().map(ToString::to_string));
        match code {
            ErrorCode::MESSAGE_TOO_LARGE => Some(Refusal::TooLarge { size, limit: None, setting: TOPIC_LIMIT }),
            ErrorCode::RECORD_LIST_TOO_LARGE => {
                Some(Refusal::TooLarge { size, limit: None, setting: "segment.bytes of the topic" })
            }
            ErrorCode::INVALID_RECORD | ErrorCode::INVALID_TIMESTAMP => {
                let named = response.record_errors.iter().filter_map(|record| {
                    let index = usize::try_from(record.batch_index).ok().filter(|index| *index < count)?;
                    let own = record.batch_index_error_message.as_ref().map(ToString::to_string);
                    Some((first + index, self.refused(first + index, code, own.or_else(|| message.clone()))))
                });
                let mut named: Vec<(usize, Error)> = named.collect();
                named.sort_by_key(|(record, _)| *record);
                named.dedup_by_key(|(record, _)| *record);
                Some(match named.is_empty() {
                    true => Refusal::SomeRecord { code, message },
                    false => Refusal::Records(named),
                })
            }
            _ => None,
        }
    }

    fn refused(&self, record: usize, code: ErrorCode, message: Option<String>) -> Error {
        Error::RecordRefused { topic: self.topic.into(), partition: self.partition, record, code, message }
    }

    fn version(&self, link: &Link, most: i16) -> Result<i16> {
        let version = link.version_up_to::<ProduceRequest>(most)?;
        if self.codec == Codec::Zstd && version < 7 {
            return Err(Error::Unsupported {
                address: Arc::clone(link.address()),
                api: ApiKey::PRODUCE,
                reason: format!("zstd needs version 7 (Kafka 2.1), the broker speaks {version}"),
            });
        }
        Ok(version)
    }

    /// The largest batch that the topic accepts, if the broker tells.
    async fn topic_limit(&self, operation: &mut Operation<'_>) -> Option<usize> {
        const NAME: &str = "max.message.bytes";
        let resource = DescribeConfigsResource {
            resource_type: TOPIC_RESOURCE,
            resource_name: ByteString::from(self.topic),
            configuration_keys: Some(vec![ByteString::from_static(NAME)]),
            ..Default::default()
        };
        let request = DescribeConfigsRequest { resources: vec![resource], ..Default::default() };
        let version = |link: &Link| link.version_of(ApiKey::DESCRIBE_CONFIGS);
        let started = Instant::now();
        let reply = operation.send(Route::Target(&Target::Any), version, |_, _| Ok(request.clone())).await;
        // A broker may keep its settings to itself; the error is complete enough without.
        let body =
            reply.inspect_err(|error| tracing::debug!(%error, after = ?started.elapsed(), "no limit")).ok()?.body?;
        let mut configs = body.results.into_iter().flat_map(|result| result.configs);
        configs.find(|config| &*config.name == NAME)?.value?.parse().ok()
    }
}
