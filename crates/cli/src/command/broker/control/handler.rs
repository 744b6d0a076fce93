//! Carries out what requests ask for.

use std::collections::BTreeMap;
use std::time::Duration;

use hyper::{Method, StatusCode};
use milena_broker::{BrokerCluster, BrokerError, BrokerFault, Coordinated, ReceivedRequest};
use milena_client::Record;
use milena_connection::fault::Pattern;
use milena_messages::ApiKey;
use serde_json::{Value, json};

use super::error::Refused;
use super::field::Fields;
use super::route::{self, Operation};
use super::{Shared, page, query, value};
use crate::network::duration;
use crate::record::placed_from_json;

/// Longest time to wait for requests.
const MAX_WAIT: Duration = Duration::from_secs(600);
/// Requests in one response, unless the client says how many.
const REQUESTS: usize = 1000;

/// What comes back.
pub(super) enum Reply {
    Json(StatusCode, Value),
    Page(String),
}

impl From<Value> for Reply {
    fn from(json: Value) -> Self {
        Self::Json(StatusCode::OK, json)
    }
}

/// Handles a request.
///
/// # Errors
/// What is wrong with it, or why the cluster refuses it.
pub(super) async fn handle(
    shared: &Shared,
    method: &Method,
    path: &str,
    query: &str,
    body: &[u8],
) -> Result<Reply, Refused> {
    let (operation, names) = route::find(method, path)?;
    let name = |at: usize| names.get(at).map(String::as_str).unwrap_or_default();
    if operation != Operation::Requests && !query.is_empty() {
        return Err(Refused::bad(format!("{path} has no query")));
    }
    if *method == Method::GET && !body.is_empty() {
        return Err(Refused::bad("a GET has no body"));
    }
    let cluster = &*shared.cluster;
    let fields = Fields::read(body)?;
    match operation {
        Operation::CreateTopic => return create_topic(shared, fields),
        Operation::Append => return append(cluster, name(0), fields),
        Operation::Requests => return requests(cluster, query).await,
        Operation::Page => return Ok(Reply::Page(page::page(cluster))),
        _ => {}
    }
    let group = Coordinated::Group(name(0));
    let transaction = Coordinated::Transaction(name(0));
    let done = match operation {
        Operation::MoveLeader => {
            let node = only(fields, |fields| fields.number("node"))?;
            cluster.move_leader(name(0), number(name(1))?, node)?;
            json!({})
        }
        Operation::Truncate => {
            let offset = only(fields, |fields| fields.number("offset"))?;
            cluster.truncate(name(0), number(name(1))?, offset)?;
            json!({})
        }
        Operation::MoveGroup => move_coordinator(cluster, group, fields)?,
        Operation::MoveTransaction => move_coordinator(cluster, transaction, fields)?,
        Operation::AddFault => {
            let rule = only(fields, |fields| fields.text("rule"))?;
            return Ok(Reply::Json(StatusCode::CREATED, value::fault(&cluster.faults().add(&rule)?)));
        }
        Operation::Advance => {
            let by = only(fields, |fields| fields.number::<u64>("advanceMs"))?;
            cluster.advance(Duration::from_millis(by))?;
            clock(cluster)
        }
        operation => {
            fields.end()?;
            simple(cluster, operation, name(0)).await?
        }
    };
    Ok(done.into())
}

/// Operations without a body.
async fn simple(cluster: &BrokerCluster, operation: Operation, name: &str) -> Result<Value, Refused> {
    let done = match operation {
        Operation::State => value::state(&cluster.state()),
        Operation::Topics => json!({ "topics": value::topics(&cluster.state()) }),
        Operation::Topic => cluster.state().topic(name).map(value::topic).ok_or_else(|| none("topic", name))?,
        Operation::DeleteTopic => cluster.delete_topic(name).map(|()| json!({}))?,
        Operation::Group => cluster.state().group(name).map(value::group).ok_or_else(|| none("group", name))?,
        Operation::Transaction => {
            let state = cluster.state();
            state.transaction(name).map(value::transaction).ok_or_else(|| none("transactional id", name))?
        }
        Operation::GroupCoordinator => json!({ "node": cluster.coordinator(Coordinated::Group(name))? }),
        Operation::TransactionCoordinator => json!({ "node": cluster.coordinator(Coordinated::Transaction(name))? }),
        Operation::Nodes => json!({ "nodes": value::nodes(&cluster.state()) }),
        Operation::AddNode => json!({ "id": cluster.add_node().await? }),
        Operation::Stop => cluster.stop_node(number(name)?).await.map(|()| json!({}))?,
        Operation::Kill => cluster.kill_node(number(name)?).await.map(|()| json!({}))?,
        Operation::Start => cluster.start_node(number(name)?).await.map(|()| json!({}))?,
        Operation::Isolate => cluster.isolate_node(number(name)?).await.map(|()| json!({}))?,
        Operation::Reconnect => cluster.reconnect_node(number(name)?).await.map(|()| json!({}))?,
        Operation::Faults => {
            json!({ "faults": cluster.faults().all().iter().map(value::fault).collect::<Vec<_>>() })
        }
        Operation::ClearFaults => {
            cluster.faults().clear();
            json!({})
        }
        Operation::Fault => value::fault(&find_fault(cluster, name)?),
        Operation::RemoveFault => {
            let fault = find_fault(cluster, name)?;
            fault.remove();
            value::fault(&fault)
        }
        Operation::Clock => clock(cluster),
        operation => return Err(Refused::new(StatusCode::NOT_IMPLEMENTED, format!("{operation:?} is not served"))),
    };
    Ok(done)
}

fn create_topic(shared: &Shared, mut fields: Fields) -> Result<Reply, Refused> {
    let name = fields.text("name")?;
    let partitions = fields.number_or("partitions")?.unwrap_or(shared.partitions);
    let replicas = fields.number_or("replicas")?.unwrap_or(shared.replicas);
    let settings = match fields.take("settings") {
        None => Vec::new(),
        Some(Value::Object(map)) => map.into_iter().map(|(key, value)| (key, plain(value))).collect::<Vec<_>>(),
        Some(_) => return Err(Refused::bad("`settings` is not an object")),
    };
    fields.end()?;
    let settings: Vec<(&str, &str)> = settings.iter().map(|(key, value)| (&**key, &**value)).collect();
    shared.cluster.create_topic_with(&name, partitions, replicas, &settings)?;
    let state = shared.cluster.state();
    Ok(Reply::Json(StatusCode::CREATED, state.topic(&name).map(value::topic).unwrap_or_default()))
}

/// A setting, which may be written as a number or a truth value.
fn plain(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

fn append(cluster: &BrokerCluster, topic: &str, mut fields: Fields) -> Result<Reply, Refused> {
    let Some(Value::Array(records)) = fields.take("records") else {
        return Err(Refused::bad("`records` is missing or not an array"));
    };
    fields.end()?;
    let mut by_partition: BTreeMap<i32, Vec<(usize, Record)>> = BTreeMap::new();
    for (place, json) in records.iter().enumerate() {
        let wrong = |why: String| Refused::bad(format!("record {place}: {why}"));
        let (named, partition, mut record) = placed_from_json(json.to_string().as_bytes()).map_err(wrong)?;
        if named.is_some_and(|named| named != topic) {
            return Err(wrong(format!("it names another topic than {topic}")));
        }
        if json.get("timestamp").is_none() {
            record.timestamp = cluster.now_ms();
        }
        by_partition.entry(partition.unwrap_or(0)).or_default().push((place, record));
    }
    // All of them, or none: a partition that is missing is found before anything is written.
    let state = cluster.state();
    let count = state.topic(topic).ok_or_else(|| none("topic", topic))?.partitions.len();
    if let Some(partition) = by_partition.keys().find(|index| usize::try_from(**index).map_or(true, |at| at >= count)) {
        return Err(Refused::not_found(format!("{topic} has no partition {partition}, only {count}")));
    }
    let mut offsets = vec![Value::Null; records.len()];
    for (partition, placed) in by_partition {
        let (places, records): (Vec<usize>, Vec<Record>) = placed.into_iter().unzip();
        let first = cluster.append(topic, partition, &records)?;
        for (offset, place) in (first..).zip(places) {
            offsets[place] = json!({ "partition": partition, "offset": offset });
        }
    }
    Ok(json!({ "offsets": offsets }).into())
}

fn move_coordinator(cluster: &BrokerCluster, of: Coordinated<'_>, fields: Fields) -> Result<Value, Refused> {
    let node = only(fields, |fields| fields.number("node"))?;
    cluster.move_coordinator(of, node)?;
    Ok(json!({ "node": node }))
}

fn clock(cluster: &BrokerCluster) -> Value {
    json!({ "nowMs": cluster.now_ms() })
}

fn find_fault(cluster: &BrokerCluster, id: &str) -> Result<BrokerFault, Refused> {
    let id: u64 = number(id)?;
    cluster.faults().all().into_iter().find(|fault| fault.id() == id).ok_or_else(|| none("fault", &id.to_string()))
}

/// Which requests a client wants to see.
#[derive(Default)]
struct Filter {
    api: Option<ApiKey>,
    client: Option<Pattern>,
    node: Option<i32>,
    version: Option<i16>,
    from: u64,
    limit: Option<usize>,
    count: Option<usize>,
    wait: Option<Duration>,
    without_body: bool,
}

impl Filter {
    fn read(query: &str) -> Result<Self, Refused> {
        let mut filter = Self::default();
        for (name, text) in query::fields(query)? {
            let wrong = |why: String| Refused::bad(format!("{name}: {why}"));
            match name.as_str() {
                "api" => filter.api = Some(text.parse().map_err(|error| wrong(format!("{error}")))?),
                "client" => filter.client = Some(text.parse().map_err(|error| wrong(format!("{error}")))?),
                "node" => filter.node = Some(number(&text)?),
                "version" => filter.version = Some(number(&text)?),
                "from" => filter.from = number(&text)?,
                "limit" => filter.limit = Some(number(&text)?),
                "count" => filter.count = Some(number(&text)?),
                "wait" => filter.wait = Some(duration(&text).map_err(wrong)?.min(MAX_WAIT)),
                "body" => filter.without_body = !text.parse::<bool>().map_err(|_| wrong("true or false".to_owned()))?,
                _ => {
                    let known = "api, client, node, version, from, limit, count, wait and body";
                    return Err(Refused::bad(format!("there is no filter `{name}`; there are {known}")));
                }
            }
        }
        if filter.count.is_some() && filter.wait.is_none() {
            return Err(Refused::bad("count is for wait: write wait=10s as well"));
        }
        Ok(filter)
    }

    fn wants(&self, request: &ReceivedRequest) -> bool {
        request.number() >= self.from
            && self.api.is_none_or(|api| api == request.api_key())
            && self.node.is_none_or(|node| node == request.node_id())
            && self.version.is_none_or(|version| version == request.api_version())
            && self.client.as_ref().is_none_or(|wanted| request.client_id().is_some_and(|id| wanted.matches(id)))
    }
}

/// Requests that were received; with `wait`, once there are enough.
async fn requests(cluster: &BrokerCluster, query: &str) -> Result<Reply, Refused> {
    let filter = Filter::read(query)?;
    if let Some(within) = filter.wait {
        let count = filter.count.unwrap_or(1);
        let mut seen = 0;
        let waited = cluster.wait_until(
            |request| {
                seen += usize::from(filter.wants(request));
                seen >= count
            },
            within,
        );
        if count > 0 && matches!(waited.await, Err(BrokerError::Timeout { .. })) {
            let message = format!("{seen} of {count} requests came within {within:?}");
            return Err(Refused::new(StatusCode::REQUEST_TIMEOUT, message));
        }
    }
    let all = cluster.requests();
    let next = all.last().map_or(0, |last| last.number() + 1);
    let mut found: Vec<&ReceivedRequest> = all.iter().filter(|request| filter.wants(request)).collect();
    let limit = filter.limit.unwrap_or(REQUESTS);
    found.drain(..found.len().saturating_sub(limit));
    let requests: Vec<Value> = found.iter().map(|request| value::request(request, !filter.without_body)).collect();
    Ok(json!({ "requests": requests, "next": next }).into())
}

/// Takes the one field of a body.
fn only<T>(mut fields: Fields, take: impl FnOnce(&mut Fields) -> Result<T, Refused>) -> Result<T, Refused> {
    let taken = take(&mut fields)?;
    fields.end()?;
    Ok(taken)
}

fn number<N: std::str::FromStr>(text: &str) -> Result<N, Refused> {
    text.parse().map_err(|_| Refused::bad(format!("`{text}` is not a number of this kind")))
}

fn none(kind: &str, name: &str) -> Refused {
    Refused::not_found(format!("there is no {kind} {name}"))
}
