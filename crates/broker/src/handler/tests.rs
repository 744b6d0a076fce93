//! What the tests of the handlers share, and what holds for all of them.

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::Arc;

use milena_messages::{RequestVisitor, visit_request};
use milena_records::{Codec, Record, encode};

use super::*;
use crate::clock::Clock;
use crate::cluster::node::{Endpoint, Node};
use crate::cluster::{State, Topic, TopicRef};
use crate::config::BrokerConfig;
use crate::cost::Cost;
use crate::release::Release;
use crate::storage::incoming;

/// A cluster without sockets, seen by a client of its first node.
pub(crate) struct Fixture {
    state: Arc<State>,
}

impl Deref for Fixture {
    type Target = Arc<State>;

    fn deref(&self) -> &Arc<State> {
        &self.state
    }
}

impl Fixture {
    /// A cluster of these nodes, from id 1 on.
    pub(crate) fn new(config: BrokerConfig, nodes: i32) -> Self {
        let sessions = config.max_fetch_sessions;
        let faults = crate::fault::BrokerFaults::new(&[], None).unwrap();
        let release = Release::named(config.kafka_version.as_deref()).unwrap();
        let state = Arc::new(State::new(config, release, Clock::System, faults));
        for id in 1..=nodes {
            let endpoint = Endpoint { host: "127.0.0.1".into(), port: 9091 + id as u16 };
            state.add_node(Arc::new(Node::new(id, None, vec![endpoint], sessions)));
        }
        Self { state }
    }

    /// The context of a request of this version to node 1.
    pub(crate) fn at(&self, version: i16) -> Context {
        self.to(1, version)
    }

    /// The context of a request of this version to a node.
    pub(crate) fn to(&self, node: i32, version: i16) -> Context {
        Context {
            state: self.state.clone(),
            node: self.state.node(node).unwrap(),
            client: Arc::new(Client::anonymous(SocketAddr::from(([127, 0, 0, 1], 50_000)), 0)),
            client_id: None,
            version,
            frame_size: 0,
        }
    }
}

/// A cluster of one node.
pub(crate) fn state() -> Fixture {
    state_with(BrokerConfig::default())
}

pub(crate) fn state_with(config: BrokerConfig) -> Fixture {
    Fixture::new(config, 1)
}

pub(crate) fn create(state: &State, name: &str, partitions: i32) -> Arc<Topic> {
    let replicas = state.place(partitions, state.config.default_replication_factor).unwrap();
    state.create_topic(name, replicas, state.topic_config([]).unwrap(), false).unwrap()
}

/// Appends one batch to partition 0; gives its size.
pub(crate) fn append(state: &State, topic: &str, values: &[&'static str]) -> usize {
    let records: Vec<_> = values.iter().map(|value| Record::from_value(*value)).collect();
    append_records(state, topic, &records, Codec::None)
}

pub(crate) fn append_records(state: &State, topic: &str, records: &[Record], codec: Codec) -> usize {
    let topic = state.topic(TopicRef::Name(topic)).unwrap();
    let bytes = encode(records, codec).unwrap();
    let size = bytes.len();
    let now_ms = state.now_ms();
    for batch in incoming::check(Some(bytes), 13, &topic.config(), now_ms, &mut Cost::full(size)).unwrap() {
        topic.partition(0).unwrap().append(1, batch, now_ms).unwrap();
    }
    size
}

#[test]
fn the_table_is_sorted_and_within_what_was_released() {
    assert!(SERVED.is_sorted_by_key(|(api, _)| *api));
    for (api, versions) in SERVED {
        assert!(api.versions().covers(*versions), "{api}");
        assert!(versions.intersect(api.unstable_versions()).is_empty(), "{api}");
    }
}

struct DefaultBody(i16);

impl RequestVisitor for DefaultBody {
    type Output = Bytes;

    fn visit<R: Request>(self) -> Bytes {
        R::default().to_bytes(self.0).unwrap()
    }
}

/// A request as it comes off a connection.
pub(crate) fn incoming_request(api: ApiKey, version: i16, body: &[u8]) -> IncomingRequest {
    let mut header = vec![0, 0, 0, 0];
    header.extend(api.0.to_be_bytes());
    header.extend(version.to_be_bytes());
    header.extend([0, 0, 0, 9, 0xff, 0xff]);
    if api.request_header_version(version) == 2 {
        header.push(0);
    }
    let mut frame = [&header[..], body].concat();
    let size = (frame.len() - 4) as u32;
    frame[..4].copy_from_slice(&size.to_be_bytes());
    let config = milena_connection::ServerConnectionConfig::serving(SERVED.iter().copied());
    let mut machine = milena_connection::ServerConnection::new(config);
    machine.receive(&frame);
    machine.poll().unwrap().unwrap()
}

#[test]
fn every_version_served_responds_to_a_default_request() {
    let state = state();
    create(&state, "a", 1);
    for &(api, versions) in SERVED {
        for version in versions.iter() {
            let body = visit_request(api, DefaultBody(version)).unwrap();
            let outcome = handle(&state.at(version), &incoming_request(api, version, &body), &mut Cost::quick());
            let expected_nothing = api == ApiKey::PRODUCE;
            match outcome {
                Ok(Outcome::Response(_)) if !expected_nothing => {}
                Ok(Outcome::Nothing) if expected_nothing => {}
                // Its numbers mean nothing; Kafka closes the connection.
                Ok(Outcome::Close(_)) if api == ApiKey::DESCRIBE_ACLS => {}
                Ok(_) => panic!("{api} {version}: another outcome was expected"),
                Err(error) => panic!("{api} {version}: {error}"),
            }
        }
    }
}

#[test]
fn a_body_that_ends_early_is_an_error() {
    let state = state();
    for &(api, versions) in SERVED {
        for version in versions.iter() {
            let body = visit_request(api, DefaultBody(version)).unwrap();
            if let Some(cut) = body.len().checked_sub(1) {
                let outcome =
                    handle(&state.at(version), &incoming_request(api, version, &body[..cut]), &mut Cost::quick());
                assert!(outcome.is_err(), "{api} {version}");
            }
        }
    }
}
