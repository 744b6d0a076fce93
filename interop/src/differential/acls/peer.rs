//! A broker with connections of several users.

use std::collections::HashMap;
use std::time::Duration;

use milena_connection::FrameBuffer;
use milena_messages::Bytes;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::super::normal::Symbols;
use super::super::side::{body, decode, frame};
use super::super::{Step, records};
use super::requests::{self, Before};
use super::user::ADMIN;
use crate::error::{Context, Error, Result};

const MAX_FRAME: usize = 16 << 20;
const PATIENCE: Duration = Duration::from_secs(20);
const RETRY_AFTER: Duration = Duration::from_millis(50);
const RETRIES: usize = 200;
/// Errors that pass by themselves: a coordinator loads, a transaction completes, a topic is being made.
const PASSING: [i64; 9] = [3, 5, 6, 14, 15, 16, 51, 74, 75];

#[derive(Debug)]
pub(super) struct Peer {
    pub(super) name: &'static str,
    address: String,
    connections: HashMap<String, (TcpStream, FrameBuffer)>,
    /// Ids that the broker chose, by what stands for them.
    ids: HashMap<String, String>,
    victims: usize,
    /// Name and id of the last one.
    victim: (String, Value),
}

impl Peer {
    pub(super) async fn start(name: &'static str, address: &str) -> Result<Self> {
        let (connections, ids) = (HashMap::new(), HashMap::new());
        let mut peer = Self {
            name,
            address: address.to_owned(),
            connections,
            ids,
            victims: 0,
            victim: (String::new(), Value::Null),
        };
        peer.connect(ADMIN).await?;
        Ok(peer)
    }

    /// The response to a request of a user; `closed` when the broker closed the connection.
    pub(super) async fn ask(&mut self, user: &str, api: &'static str, version: i16, body: &Value) -> Result<Value> {
        if !self.connections.contains_key(user) {
            self.connect(user).await?;
        }
        let mut body = body.clone();
        self.put_ids(&mut body);
        let step = Step { connection: 0, api, version, body };
        let response = self.exchange(user, &step).await?;
        match response {
            Some(bytes) => {
                let mut value = decode(&step, bytes)?;
                records::expand(&mut value).map_err(Error::Other)?;
                self.take_ids(&mut value);
                Ok(value)
            }
            None => {
                self.connections.remove(user);
                Ok("closed".into())
            }
        }
    }

    async fn exchange(&mut self, user: &str, step: &Step) -> Result<Option<Bytes>> {
        let lost = || Error::Other(format!("no connection of {user}"));
        let (stream, frames) = self.connections.get_mut(user).ok_or_else(lost)?;
        // A broker that closes the connection shows when the response is read.
        let _ = stream.write_all(&frame(step, &Symbols::default())?).await;
        let read = async {
            loop {
                if let Some(frame) = frames.next_frame().map_err(|error| Error::Other(error.to_string()))? {
                    return Ok(Some(frame));
                }
                if stream.read_buf(frames.input()).await.unwrap_or(0) == 0 {
                    return Ok::<_, Error>(None);
                }
            }
        };
        let silent = Error::Other(format!("{}: no response to {step} of {user}", self.name));
        let Ok(frame) = timeout(PATIENCE, read).await else {
            // A response that comes later must not be taken for the next one.
            self.connections.remove(user);
            return Err(silent);
        };
        let frame = frame?;
        frame.map(|frame| body(frame, step)).transpose()
    }

    /// Logs a user in by SASL/PLAIN.
    async fn connect(&mut self, user: &str) -> Result<()> {
        let stream = TcpStream::connect(&self.address).await.doing("connecting")?;
        stream.set_nodelay(true).doing("connecting")?;
        self.connections.insert(user.to_owned(), (stream, FrameBuffer::new(MAX_FRAME)));
        let plain = format!("\0{user}\0{user}-secret");
        let plain = base64::Engine::encode(&base64::engine::general_purpose::STANDARD, plain);
        for (api, version, body) in
            [("SaslHandshake", 1, json!({"mechanism": "PLAIN"})), ("SaslAuthenticate", 2, json!({"authBytes": plain}))]
        {
            let step = Step { connection: 0, api, version, body };
            let response = match self.exchange(user, &step).await? {
                Some(bytes) => decode(&step, bytes)?,
                None => "closed".into(),
            };
            if response["errorCode"] != 0 {
                return Err(Error::Other(format!("{}: {user} cannot log in: {response}", self.name)));
            }
        }
        Ok(())
    }

    /// As the super user, until no error passes by itself.
    async fn settled(&mut self, api: &'static str, version: i16, body: &Value) -> Result<Value> {
        let mut response = Value::Null;
        for _ in 0..RETRIES {
            response = self.ask(ADMIN, api, version, body).await?;
            match error(&response) {
                None => return Ok(response),
                Some(code) if PASSING.contains(&code) => sleep(RETRY_AFTER).await,
                Some(_) => break,
            }
        }
        Err(Error::Other(format!("{}: {api} {body}: {response}", self.name)))
    }

    /// Creates what the requests are about.
    pub(super) async fn prepare(&mut self) -> Result<()> {
        for (api, version, body) in requests::preparation() {
            let response = self.settled(api, version, &body).await?;
            if api == "CreateTopics" {
                for topic in response["topics"].as_array().into_iter().flatten() {
                    self.learn("topic", &topic["name"], &topic["topicId"]);
                }
            }
            if api == "InitProducerId" {
                self.ids.insert(requests::PRODUCER.to_owned(), response["producerId"].to_string());
            }
        }
        Ok(())
    }

    /// Waits until the broker knows that many ACLs.
    pub(super) async fn wait_for_acls(&mut self, count: usize) -> Result<()> {
        let any = json!({"resourceTypeFilter": 1, "resourceNameFilter": null, "patternTypeFilter": 1, "principalFilter": null,
            "hostFilter": null, "operation": 1, "permissionType": 1});
        let mut found = 0;
        for _ in 0..RETRIES {
            let response = self.settled("DescribeAcls", 3, &any).await?;
            let resources = response["resources"].as_array().into_iter().flatten();
            found = resources.map(|one| one["acls"].as_array().map_or(0, Vec::len)).sum();
            if found == count {
                // The controller may know it a moment later than the broker.
                sleep(RETRY_AFTER).await;
                return Ok(());
            }
            sleep(RETRY_AFTER).await;
        }
        Err(Error::Other(format!("{}: {found} of {count} ACLs are there", self.name)))
    }

    /// What has to be done again before each request.
    pub(super) async fn before(&mut self, before: Before) -> Result<()> {
        match before {
            Before::Victim => {
                self.victims += 1;
                let name = format!("a-victim-{}", self.victims);
                let topic = json!({"name": name, "numPartitions": 1, "replicationFactor": 1});
                let created = self.settled("CreateTopics", 7, &json!({"topics": [topic], "timeoutMs": 9000})).await?;
                let id = &created["topics"][0]["topicId"];
                self.learn("topic", &name.clone().into(), id);
                self.victim = (name.clone(), id.clone());
                let partitions = json!([{"partitionIndex": 0, "timestamp": -1, "currentLeaderEpoch": 0}]);
                let probe = json!({"replicaId": -1, "topics": [{"name": name, "partitions": partitions}]});
                self.settled("ListOffsets", 4, &probe).await.map(drop)
            }
        }
    }

    fn learn(&mut self, kind: &str, name: &Value, id: &Value) {
        if let (Some(name), Some(id)) = (name.as_str(), id.as_str()) {
            self.ids.insert(format!("${kind}:{name}"), id.to_owned());
        }
    }

    /// Puts the broker's ids where their names stand.
    fn put_ids(&self, value: &mut Value) {
        each_text(value, &|text| match (text, self.ids.get(text)) {
            // A number.
            (requests::PRODUCER, Some(id)) => id.parse::<i64>().ok().map(Value::from),
            (requests::VICTIM, _) => Some(self.victim.0.clone().into()),
            (requests::VICTIM_ID, _) => Some(self.victim.1.clone()),
            (_, id) => id.cloned().map(Value::from),
        });
    }

    /// Puts names where the broker's ids stand.
    fn take_ids(&self, value: &mut Value) {
        let by_id: HashMap<&str, &str> = self.ids.iter().map(|(name, id)| (&**id, &**name)).collect();
        each_text(value, &|text| by_id.get(text).map(|name| Value::from(*name)));
    }
}

fn each_text(value: &mut Value, change: &dyn Fn(&str) -> Option<Value>) {
    match value {
        Value::String(text) => {
            if let Some(other) = change(text) {
                *value = other;
            }
        }
        Value::Array(list) => list.iter_mut().for_each(|one| each_text(one, change)),
        Value::Object(fields) => fields.values_mut().for_each(|one| each_text(one, change)),
        _ => {}
    }
}

/// The first error of a response.
fn error(value: &Value) -> Option<i64> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(key, field)| match field.as_i64() {
            Some(code) if code != 0 && (key == "errorCode" || key == "partitionErrorCode") => Some(code),
            _ => error(field),
        }),
        Value::Array(list) => list.iter().find_map(error),
        _ => None,
    }
}
