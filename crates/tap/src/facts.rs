//! What an exchange is about, read without building the messages.

use std::collections::HashMap;

use bytes::Bytes;
use milena_connection::read_request_header;
use milena_messages::{ApiKey, ErrorCode};
use milena_schema::{Entity, Field, Finder, Scalar, Spec, StructSpec, Type};
use milena_wire::Uuid;

use crate::event::Exchange;
use crate::header::{i16_at, response_body};

/// Topics and error codes of an exchange.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The topics that request or answer name, each once, in their order. A topic named by an id that no answer has named
    /// yet is that id.
    pub topics: Vec<String>,
    /// The codes of the answer that say that something failed, each once, in their order.
    pub errors: Vec<ErrorCode>,
    /// Whether both could be read to their end.
    pub whole: bool,
}

/// Record batches that a Produce brings, or the answer to a Fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordSet {
    /// The topic, or its id when no answer has named it yet.
    pub topic: String,
    /// The partition.
    pub partition: i32,
    /// The batches, as they are.
    pub bytes: Bytes,
}

/// Topics of one message that are kept for [`Facts`]; a list for people needs no more.
const MOST_TOPICS: usize = 1000;
/// Ids of topics that are remembered.
const MOST_IDS: usize = 100_000;

/// Reads [`Facts`], and learns from answers which topic has which id.
#[derive(Debug, Default)]
pub struct FactReader {
    finders: HashMap<(ApiKey, i16, bool), Option<Finder<'static>>>,
    record_finders: HashMap<(ApiKey, i16, bool), Option<Finder<'static>>>,
    names: HashMap<Uuid, String>,
}

impl FactReader {
    /// What an exchange is about.
    pub fn read(&mut self, exchange: &Exchange) -> Facts {
        let mut facts = Facts { whole: true, ..Facts::default() };
        let Some(api) = exchange.api else { return facts };
        if let Ok((_, body)) = read_request_header(exchange.request.clone()) {
            let at = exchange.request.len() - body.len();
            self.message(api, exchange.version, true, &exchange.request, at, &mut facts);
        }
        if let Some(response) = &exchange.response {
            // A refusal of ApiVersions comes at version 0.
            let refused = api == ApiKey::API_VERSIONS && i16_at(response, 4) == Some(ErrorCode::UNSUPPORTED_VERSION.0);
            let version = if refused { 0 } else { exchange.version };
            match response_body(api, version, response) {
                Some(at) => self.message(api, version, false, response, at, &mut facts),
                None => facts.whole = false,
            }
        }
        facts
    }

    /// The records that an exchange carries, in their order. Shares their bytes.
    pub fn records(&mut self, exchange: &Exchange) -> Vec<RecordSet> {
        let Some(api) = exchange.api else { return Vec::new() };
        let request_body = read_request_header(exchange.request.clone()).ok();
        let request_body = request_body.map(|(_, body)| exchange.request.len() - body.len());
        let response = exchange.response.as_ref();
        let sides = [
            (true, Some(&exchange.request), request_body),
            (false, response, response.and_then(|response| response_body(api, exchange.version, response))),
        ];
        let mut all = Vec::new();
        for (is_request, frame, at) in sides {
            let (Some(frame), Some(at)) = (frame, at) else { continue };
            let key = (api, exchange.version, is_request);
            let finder =
                self.record_finders.entry(key).or_insert_with(|| record_finder(api, exchange.version, is_request));
            let Some(finder) = finder else { continue };
            let (mut topic, mut partition) = (String::new(), -1);
            // What is read up to a mistake is worth to be seen.
            let _ = finder.walk(frame, at, |found| match found.value {
                Scalar::Text(name) => topic = name.to_string(),
                Scalar::Uuid(id) => topic = self.names.get(&id).cloned().unwrap_or_else(|| id.to_string()),
                Scalar::Integer(number) => partition = i32::try_from(number).unwrap_or(-1),
                Scalar::Bytes(bytes) if !bytes.is_empty() => {
                    all.push(RecordSet { topic: topic.clone(), partition, bytes });
                }
                _ => {}
            });
        }
        all
    }

    fn message(&mut self, api: ApiKey, version: i16, is_request: bool, frame: &Bytes, at: usize, facts: &mut Facts) {
        let finder = self.finders.entry((api, version, is_request)).or_insert_with(|| finder(api, version, is_request));
        let Some(finder) = finder else { return };
        let names = &mut self.names;
        // In a struct with both, name and id stand beside each other, in either order.
        let mut last_name: Option<(usize, String)> = None;
        let mut last_id: Option<(usize, Uuid)> = None;
        let walked = finder.walk(frame, at, |found| match found.value {
            Scalar::Integer(code) => {
                let code = ErrorCode(i16::try_from(code).unwrap_or(ErrorCode::UNKNOWN_SERVER_ERROR.0));
                if !code.is_none() && !is_request && !facts.errors.contains(&code) {
                    facts.errors.push(code);
                }
            }
            Scalar::Text(name) if !name.is_empty() => {
                let name = name.to_string();
                if let Some((end, id)) = &last_id {
                    if *end == found.range.start && names.len() < MOST_IDS {
                        names.insert(*id, name.clone());
                    }
                }
                add(&mut facts.topics, &name);
                last_name = Some((found.range.end, name));
            }
            Scalar::Uuid(id) if !id.is_zero() => match &last_name {
                Some((end, name)) if *end == found.range.start => {
                    if names.len() < MOST_IDS {
                        names.insert(id, name.clone());
                    }
                }
                _ => match names.get(&id) {
                    Some(name) => add(&mut facts.topics, name),
                    None => last_id = Some((found.range.end, id)),
                },
            },
            _ => {}
        });
        if let Some((_, id)) = last_id.filter(|(_, id)| !names.contains_key(id)) {
            add(&mut facts.topics, &id.to_string());
        }
        facts.whole &= walked.is_ok();
    }
}

fn add(topics: &mut Vec<String>, name: &str) {
    if topics.len() < MOST_TOPICS && !topics.iter().any(|known| known == name) {
        topics.push(name.to_owned());
    }
}

fn finder(api: ApiKey, version: i16, is_request: bool) -> Option<Finder<'static>> {
    let name = format!("{}{}", api.name()?, if is_request { "Request" } else { "Response" });
    let is_wanted = |_: &StructSpec, field: &Field| {
        matches!(field.entity, Some(Entity::ErrorCode | Entity::TopicName)) || is_topic_id(field)
    };
    let finder = Spec::kafka().message(&name).ok()?.finder(version, is_wanted).ok()?;
    Some(finder.until_last()).filter(Finder::finds_anything)
}

fn record_finder(api: ApiKey, version: i16, is_request: bool) -> Option<Finder<'static>> {
    let name = format!("{}{}", api.name()?, if is_request { "Request" } else { "Response" });
    let message = Spec::kafka().message(&name).ok()?;
    let has_records = message.structs.iter().flat_map(|inner| &inner.fields).any(|field| field.ty == Type::Records);
    let is_wanted = |_: &StructSpec, field: &Field| match (field.name.as_str(), &field.ty) {
        (_, Type::Records) | ("Index" | "Partition" | "PartitionIndex", Type::Int32) => true,
        _ => field.entity == Some(Entity::TopicName) || is_topic_id(field),
    };
    if has_records { message.finder(version, is_wanted).ok() } else { None }
}

fn is_topic_id(field: &Field) -> bool {
    field.name == "TopicId" && field.ty == Type::Uuid
}

#[cfg(test)]
mod tests {
    use milena_connection::{frame_request, frame_response};
    use milena_messages::create_topics::response::CreatableTopicResult;
    use milena_messages::fetch::request::FetchTopic;
    use milena_messages::fetch::response::{FetchableTopicResponse, PartitionData};
    use milena_messages::{
        CreateTopicsRequest, CreateTopicsResponse, FetchRequest, FetchResponse, MetadataRequest, MetadataResponse,
        Request,
    };
    use milena_transport::Address;

    use super::*;

    fn exchange<R: Request>(version: i16, request: &R, response: &R::Response) -> Exchange {
        let frame = |pieces: Vec<Bytes>| Bytes::from(pieces.concat()).slice(4..);
        Exchange {
            connection: 1,
            client: ([127, 0, 0, 1], 1).into(),
            broker: Address::parse("kafka:9092").unwrap(),
            api: Some(R::API_KEY),
            version,
            correlation_id: 1,
            client_id: None,
            time: Default::default(),
            latency: None,
            request: frame(frame_request(request, version, 1, None).unwrap()),
            response: Some(frame(frame_response(response, version, 1).unwrap())),
            fault: None,
        }
    }

    #[test]
    fn a_topic_id_gets_the_name_that_an_answer_gave_it() {
        let (id, other) = (Uuid::from_bytes([7; 16]), Uuid::from_bytes([8; 16]));
        let topics = vec![
            FetchTopic { topic_id: id, ..Default::default() },
            FetchTopic { topic_id: other, ..Default::default() },
        ];
        let request = FetchRequest { topics, ..Default::default() };
        let failed =
            PartitionData { error_code: ErrorCode(6), records: Some(Bytes::from(vec![0; 5000])), ..Default::default() };
        let fine = PartitionData { records: Some(Bytes::from(vec![0; 5000])), ..Default::default() };
        let topic = FetchableTopicResponse {
            topic_id: id,
            partitions: vec![failed.clone(), fine, failed],
            ..Default::default()
        };
        let response = FetchResponse { responses: vec![topic], ..Default::default() };
        let fetch = exchange(13, &request, &response);

        let mut reader = FactReader::default();
        let created = CreatableTopicResult { name: "letters".into(), topic_id: id, ..Default::default() };
        let answer = CreateTopicsResponse { topics: vec![created], ..Default::default() };
        let facts = reader.read(&exchange(7, &CreateTopicsRequest::default(), &answer));
        assert_eq!((facts.topics, facts.errors, facts.whole), (vec!["letters".to_owned()], vec![], true));
        let facts = reader.read(&fetch);
        assert_eq!(facts.topics, ["letters".to_owned(), other.to_string()]);
        assert_eq!((facts.errors, facts.whole), (vec![ErrorCode(6)], true));
        let records = reader.records(&fetch);
        assert_eq!(records.len(), 3);
        let wanted = RecordSet { topic: "letters".to_owned(), partition: 0, bytes: vec![0; 5000].into() };
        assert!(records.iter().all(|set| *set == wanted));
    }

    #[test]
    fn what_is_cut_off_is_known_up_to_there() {
        let topic = milena_messages::metadata::response::MetadataResponseTopic {
            name: Some("letters".into()),
            ..Default::default()
        };
        let response = MetadataResponse { topics: vec![topic.clone(), topic], ..Default::default() };
        let mut exchange = exchange(1, &MetadataRequest::default(), &response);
        let whole = exchange.response.clone().unwrap();
        exchange.response = Some(whole.slice(..whole.len() - 8));
        let facts = FactReader::default().read(&exchange);
        assert_eq!((facts.topics, facts.whole), (vec!["letters".to_owned()], false));
    }
}
