use std::time::Duration;

use milena_connection::FrameBuffer;
use milena_messages::{ApiKey, ByteString, Bytes, Message as _, RequestHeader, ResponseHeader};
use milena_schema::{MessageSpec, Spec, StructId};
use milena_wire::{Reader, Writer};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::normal::Symbols;
use super::{Step, records};
use crate::error::{Context, Error, Result};

/// Connections of a side. A request on one waits for the response to the one before.
pub(super) const CONNECTIONS: usize = 4;
/// Errors that pass by themselves while a coordinator loads or a transaction completes.
const PASSING: [i64; 4] = [14, 15, 16, 51];
/// So often a request is sent again: busy machines take seconds to start a coordinator.
const RETRIES: usize = 400;
/// The error of a topic that is not there.
const UNKNOWN_TOPIC: i64 = 3;
/// How long to wait for the response to a request on which others depend.
const PATIENCE: Duration = Duration::from_secs(4);
const RETRY_AFTER: Duration = Duration::from_millis(25);
const MAX_FRAME: usize = 16 << 20;

/// What came of a request.
#[derive(Debug)]
pub(super) enum Answer {
    Body(Bytes),
    /// The broker closed the connection.
    Closed,
}

/// The connections to one broker, and its ids.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) name: &'static str,
    pub(super) symbols: Symbols,
    address: String,
    connections: [Option<Connection>; CONNECTIONS],
    arrived: Vec<(usize, Answer)>,
}

#[derive(Debug)]
struct Connection {
    stream: TcpStream,
    frames: FrameBuffer,
    pending: Option<(usize, Step)>,
    retries: usize,
}

impl Side {
    pub(super) fn new(name: &'static str, address: &str) -> Self {
        let (symbols, connections) = (Symbols::default(), [const { None }; CONNECTIONS]);
        Self { name, symbols, address: address.to_owned(), connections, arrived: Vec::new() }
    }

    /// The connections that wait for a response.
    pub(super) fn busy(&self) -> [bool; CONNECTIONS] {
        self.connections.each_ref().map(|one| one.as_ref().is_some_and(|one| one.pending.is_some()))
    }

    /// The steps whose responses are there.
    pub(super) fn arrived(&self) -> Vec<usize> {
        let mut steps: Vec<usize> = self.arrived.iter().map(|(number, _)| *number).collect();
        steps.sort_unstable();
        steps
    }

    pub(super) fn take(&mut self) -> Vec<(usize, Answer)> {
        self.arrived.sort_by_key(|(number, _)| *number);
        std::mem::take(&mut self.arrived)
    }

    pub(super) async fn send(&mut self, number: usize, step: &Step) -> Result<()> {
        let frame = frame(step, &self.symbols)?;
        let place = &mut self.connections[step.connection];
        if place.is_none() {
            let stream = TcpStream::connect(&self.address).await.doing("connecting")?;
            stream.set_nodelay(true).doing("connecting")?;
            *place = Some(Connection { stream, frames: FrameBuffer::new(MAX_FRAME), pending: None, retries: 0 });
        }
        if let Some(connection) = place {
            connection.pending = Some((number, step.clone()));
            // A broker that has closed the connection shows when the response is read.
            let _ = connection.stream.write_all(&frame).await;
        }
        Ok(())
    }

    /// Waits so long for each response that is not there.
    pub(super) async fn receive(&mut self, patience: Duration) -> Result<()> {
        for index in 0..CONNECTIONS {
            while let Some(connection) = &mut self.connections[index] {
                let Some((number, step)) = connection.pending.clone() else { break };
                let Ok(frame) = timeout(patience, connection.frame()).await else { break };
                let Some(frame) = frame? else {
                    self.connections[index] = None;
                    self.arrived.push((number, Answer::Closed));
                    break;
                };
                let body = body(frame, &step)?;
                if connection.retries < RETRIES && passes(&body, &step) {
                    connection.retries += 1;
                    tokio::time::sleep(RETRY_AFTER).await;
                    self.send(number, &step).await?;
                    continue;
                }
                (connection.pending, connection.retries) = (None, 0);
                self.arrived.push((number, Answer::Body(body)));
            }
        }
        Ok(())
    }

    /// Waits until what a request began is done: Kafka ends transactions and makes topics known after the response.
    pub(super) async fn settle(&mut self, number: usize, step: &Step) -> Result<()> {
        if matches!(step.api, "CreateTopics" | "Metadata") {
            self.receive(PATIENCE).await?;
        }
        let probe = |api, version, body| Step { connection: 0, api, version, body };
        let (probe, done): (Step, fn(&Value) -> bool) = match step.api {
            "EndTxn" | "InitProducerId" if step.body["transactionalId"].is_string() => {
                let body = json!({"transactionalIds": [step.body["transactionalId"]]});
                (probe("DescribeTransactions", 0, body), |value| {
                    let state = value["transactionStates"][0]["transactionState"].as_str().unwrap_or_default();
                    !state.starts_with("Prepare")
                })
            }
            "CreateTopics" if step.body["validateOnly"] != true => {
                let created = self.topics_with(number, step, 0)?;
                let names = step.body["topics"].as_array().into_iter().flatten();
                let names = names.filter(|topic| created.contains(&topic["name"]));
                let partition = |index: i64| json!({"partitionIndex": index, "timestamp": -1, "currentLeaderEpoch": 0});
                let partitions =
                    |topic: &Value| (0..topic["numPartitions"].as_i64().unwrap_or(1).max(1)).map(partition).collect();
                let topic =
                    |topic: &Value| json!({"name": topic["name"], "partitions": Value::Array(partitions(topic))});
                let body = json!({"replicaId": -1, "topics": names.map(topic).collect::<Value>()});
                (probe("ListOffsets", 4, body), |value| {
                    let topics = value["topics"].as_array().into_iter().flatten();
                    let mut partitions = topics.flat_map(|one| one["partitions"].as_array().into_iter().flatten());
                    partitions.all(|one| one["errorCode"] == 0)
                })
            }
            "Metadata" if step.version < 4 || step.body["allowAutoTopicCreation"] == true => {
                // Those that are not there are created after the response.
                let topics = self.topics_with(number, step, UNKNOWN_TOPIC)?;
                let partitions = json!([{"partitionIndex": 0, "timestamp": -1, "currentLeaderEpoch": 0}]);
                let topic = |name: &Value| json!({"name": name, "partitions": partitions});
                let body = json!({"replicaId": -1, "topics": topics.iter().map(topic).collect::<Value>()});
                (probe("ListOffsets", 4, body), |value| {
                    let mut topics = value["topics"].as_array().into_iter().flatten();
                    topics.all(|topic| topic["partitions"][0]["errorCode"] == 0)
                })
            }
            "CreatePartitions" | "AlterConfigs" | "IncrementalAlterConfigs" | "AlterClientQuotas" => {
                tokio::time::sleep(Duration::from_millis(60)).await;
                return Ok(());
            }
            "DeleteTopics" => {
                tokio::time::sleep(Duration::from_millis(100)).await;
                return Ok(());
            }
            _ => return Ok(()),
        };
        if probe.body["topics"] == json!([]) {
            return Ok(());
        }
        // A connection of its own, as the others may wait.
        let mut other = Self::new(self.name, &self.address);
        for _ in 0..RETRIES {
            other.send(0, &probe).await?;
            other.receive(Duration::from_secs(2)).await?;
            let Some((_, Answer::Body(body))) = other.take().pop() else { return Ok(()) };
            if done(&decode(&probe, body)?) {
                return Ok(());
            }
            tokio::time::sleep(RETRY_AFTER).await;
        }
        Ok(())
    }
}

impl Side {
    /// The names of topics that have this code in the response to a step.
    fn topics_with(&self, number: usize, step: &Step, code: i64) -> Result<Vec<Value>> {
        let body = self.arrived.iter().find_map(|(of, answer)| match answer {
            Answer::Body(body) if *of == number => Some(body.clone()),
            _ => None,
        });
        let Some(body) = body else { return Ok(Vec::new()) };
        let response = decode(step, body)?;
        let topics = response["topics"].as_array().into_iter().flatten();
        Ok(topics.filter(|topic| topic["errorCode"] == code).map(|topic| topic["name"].clone()).collect())
    }
}

impl Connection {
    /// The next frame; `None` when the broker closes the connection. Nothing is lost when this is not waited for.
    async fn frame(&mut self) -> Result<Option<Bytes>> {
        loop {
            let frame = self.frames.next_frame().map_err(|error| Error::Other(error.to_string()))?;
            if frame.is_some() {
                return Ok(frame);
            }
            let count = self.stream.read_buf(self.frames.input()).await.unwrap_or(0);
            if count == 0 {
                return Ok(None);
            }
        }
    }
}

fn spec(name: &str) -> Result<&'static MessageSpec> {
    Spec::kafka().message(name).map_err(|error| Error::Other(error.to_string()))
}

fn key(step: &Step) -> Result<ApiKey> {
    let api = Spec::kafka().api_named(step.api).map_err(|error| Error::Other(error.to_string()))?;
    Ok(ApiKey(api.key))
}

pub(super) fn frame(step: &Step, symbols: &Symbols) -> Result<Bytes> {
    let request = spec(&format!("{}Request", step.api))?;
    let mut body = symbols.resolve(&step.body);
    records::build(&mut body).map_err(Error::Other)?;
    fit(request, StructId::ROOT, step.version, &mut body);
    let api = key(step)?;
    let client_id = Some(ByteString::from(format!("c{}", step.connection)));
    let header = RequestHeader {
        request_api_key: api,
        request_api_version: step.version,
        correlation_id: 1,
        client_id,
        ..Default::default()
    };
    let wrong = |error: milena_wire::Error| Error::Other(format!("{step}: {error}"));
    let mut writer = Writer::new();
    writer.i32(0);
    header.encode(&mut writer, api.request_header_version(step.version)).map_err(wrong)?;
    request.encode_into(&mut writer, &body, step.version).map_err(wrong)?;
    let size = i32::try_from(writer.len() - 4).map_err(|error| Error::Other(error.to_string()))?;
    writer.patch_i32(0, size);
    Ok(writer.into_bytes())
}

/// Leaves out what the version lacks, and nulls where it has none.
fn fit(message: &MessageSpec, id: StructId, version: i16, value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(|one| fit(message, id, version, one)),
        Value::Object(fields) => {
            for field in &message.structure(id).fields {
                let Some(value) = fields.get_mut(&field.json_name) else { continue };
                if !field.versions.contains(version) || (value.is_null() && !field.is_nullable(version)) {
                    fields.remove(&field.json_name);
                } else if let Some(id) = field.ty.struct_id() {
                    fit(message, id, version, value);
                }
            }
        }
        _ => {}
    }
}

pub(super) fn body(frame: Bytes, step: &Step) -> Result<Bytes> {
    let mut reader = Reader::new(frame.clone());
    let version = key(step)?.response_header_version(step.version);
    ResponseHeader::decode(&mut reader, version).map_err(|error| Error::Other(error.to_string()))?;
    Ok(frame.slice(reader.position()..))
}

pub(super) fn decode(step: &Step, body: Bytes) -> Result<Value> {
    let decoded = spec(&format!("{}Response", step.api))?.decode(body, step.version);
    Ok(decoded.map_err(|error| Error::Other(format!("{}: {error}", step.api)))?.json)
}

/// Whether a response holds an error that passes by itself.
fn passes(body: &Bytes, step: &Step) -> bool {
    fn has(value: &Value) -> bool {
        match value {
            Value::Object(fields) => fields.iter().any(|(key, field)| {
                (key == "errorCode" && field.as_i64().is_some_and(|code| PASSING.contains(&code))) || has(field)
            }),
            Value::Array(list) => list.iter().any(has),
            _ => false,
        }
    }
    decode(step, body.clone()).is_ok_and(|value| has(&value))
}
