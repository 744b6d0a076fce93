//! Sessions, in which later requests name only what changed (KIP-227 for Fetch, KIP-932 for share groups).

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use milena_messages::ApiKey;
use serde_json::{Value, json};

use crate::respond::FaultedRequest;

/// Sessions that are remembered. A broker keeps 1,000 of its own accord.
const MAX_SESSIONS: usize = 2_000;
/// Partitions that are remembered of one session.
const MAX_MEMBERS: usize = 100_000;

/// The partitions of one session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    /// By name, or by id from Fetch 13 on.
    topics: BTreeMap<String, BTreeSet<i64>>,
    by_id: bool,
}

impl Members {
    /// The partitions of a fetch session as its broker knows them: by the text of a topic's id (`by_id`), or by its name.
    pub fn of_fetch(by_id: bool, partitions: impl IntoIterator<Item = (String, i32)>) -> Self {
        let mut members = Self { topics: BTreeMap::new(), by_id };
        for (topic, partition) in partitions {
            members.topics.entry(topic).or_default().insert(partition.into());
        }
        members
    }

    /// With what a request of the session adds, and without what it forgets.
    #[must_use]
    pub fn after(mut self, request: &FaultedRequest) -> Self {
        if let Some(json) = request.json() {
            self.apply(request.api, request.version, &json);
        }
        self
    }

    fn apply(&mut self, api: ApiKey, version: i16, request: &Value) {
        self.by_id = api != ApiKey::FETCH || version >= 13;
        let topic_field = if self.by_id { "topicId" } else { "topic" };
        for topic in array(request, "topics") {
            let Some(name) = topic[topic_field].as_str() else { continue };
            for partition in array(topic, "partitions") {
                let index = partition.get("partition").or_else(|| partition.get("partitionIndex"));
                if let Some(index) = index.and_then(Value::as_i64).filter(|_| self.count() < MAX_MEMBERS) {
                    self.topics.entry(name.to_owned()).or_default().insert(index);
                }
            }
        }
        for topic in array(request, "forgottenTopicsData") {
            let Some(name) = topic[topic_field].as_str() else { continue };
            if let Some(partitions) = self.topics.get_mut(name) {
                array(topic, "partitions").iter().filter_map(Value::as_i64).for_each(|index| {
                    partitions.remove(&index);
                });
                if partitions.is_empty() {
                    self.topics.remove(name);
                }
            }
        }
    }

    fn count(&self) -> usize {
        self.topics.values().map(BTreeSet::len).sum()
    }

    /// As the `topics` of a request.
    pub(crate) fn to_json(&self, api: ApiKey) -> Value {
        let (topic_field, index_field) = (
            if self.by_id { "topicId" } else { "topic" },
            if api == ApiKey::FETCH { "partition" } else { "partitionIndex" },
        );
        let topics = self.topics.iter().map(|(name, partitions)| {
            let partitions: Vec<Value> = partitions.iter().map(|index| json!({ index_field: index })).collect();
            json!({ topic_field: name, "partitions": partitions })
        });
        topics.collect()
    }
}

fn array<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value.get(field).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// What a session is known by.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    /// The broker's number for it.
    Fetch(i64),
    /// Group and member.
    Share(String, String),
}

/// The sessions of one broker, learned from the requests and responses that pass.
///
/// For each request, in order: [`Sessions::members`] when an error is to be injected, [`Sessions::request`] when it goes on
/// to the broker, and then [`Sessions::response`] with what that gave. The number of sessions is bounded; the one unused
/// for longest is forgotten first.
#[derive(Debug, Default)]
pub struct Sessions {
    known: HashMap<Key, Members>,
    /// From the one unused for longest.
    order: VecDeque<Key>,
}

/// A Fetch that asked the broker to open a session.
#[derive(Clone, Debug)]
pub struct Opening(Members);

impl Sessions {
    /// Whether requests of an API can belong to a session.
    pub fn is_about(api: ApiKey) -> bool {
        matches!(api, ApiKey::FETCH | ApiKey::SHARE_FETCH | ApiKey::SHARE_ACKNOWLEDGE)
    }

    /// The partitions that a request is about, those of its session included. `None` when it belongs to no session that is
    /// known here: then it names all that it is about.
    pub fn members(&self, request: &FaultedRequest) -> Option<Members> {
        let json = request.json()?;
        let (key, epoch) = session(request.api, &json)?;
        let mut members = match (epoch, request.api) {
            (1.., ApiKey::FETCH | ApiKey::SHARE_FETCH) => self.known.get(&key)?.clone(),
            _ => return None,
        };
        members.apply(request.api, request.version, &json);
        Some(members)
    }

    /// Notes a request that goes on to the broker. What it gives goes to [`Sessions::response`].
    pub fn request(&mut self, request: &FaultedRequest) -> Option<Opening> {
        if !Self::is_about(request.api) {
            return None;
        }
        let json = request.json()?;
        let (key, epoch) = session(request.api, &json)?;
        match (epoch, request.api) {
            (i64::MIN..0, _) => self.forget(&key),
            // An acknowledgement names what it acknowledges, not what the session has.
            (_, ApiKey::SHARE_ACKNOWLEDGE) => {}
            (0, ApiKey::FETCH) => {
                self.forget(&key);
                let mut members = Members::default();
                members.apply(request.api, request.version, &json);
                return Some(Opening(members));
            }
            (0, _) => {
                let mut members = Members::default();
                members.apply(request.api, request.version, &json);
                self.remember(key, members);
            }
            (1.., _) => {
                if let Some(mut members) = self.known.get(&key).cloned() {
                    members.apply(request.api, request.version, &json);
                    self.remember(key, members);
                }
            }
        }
        None
    }

    /// Notes that the broker opened a session, or did not (`session_id` 0).
    pub fn response(&mut self, opening: Opening, session_id: i32) {
        if session_id != 0 {
            self.remember(Key::Fetch(session_id.into()), opening.0);
        }
    }

    fn remember(&mut self, key: Key, members: Members) {
        self.forget(&key);
        if self.order.len() >= MAX_SESSIONS {
            if let Some(oldest) = self.order.pop_front() {
                self.known.remove(&oldest);
            }
        }
        self.order.push_back(key.clone());
        self.known.insert(key, members);
    }

    fn forget(&mut self, key: &Key) {
        if self.known.remove(key).is_some() {
            self.order.retain(|other| other != key);
        }
    }
}

/// The session of a request with its epoch. `None` when it has none and wants none.
fn session(api: ApiKey, json: &Value) -> Option<(Key, i64)> {
    match api {
        ApiKey::FETCH => {
            let (id, epoch) = (json.get("sessionId")?.as_i64()?, json["sessionEpoch"].as_i64()?);
            (id != 0 || epoch >= 0).then_some((Key::Fetch(id), epoch))
        }
        ApiKey::SHARE_FETCH | ApiKey::SHARE_ACKNOWLEDGE => {
            let name = |field: &str| json[field].as_str().map(str::to_owned);
            Some((Key::Share(name("groupId")?, name("memberId")?), json["shareSessionEpoch"].as_i64()?))
        }
        _ => None,
    }
}
