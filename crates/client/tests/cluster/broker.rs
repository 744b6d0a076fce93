//! A scripted broker on a real socket: the test says, request by request, what it does.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use milena_client::{Client, ClientConfig};
use milena_connection::{IncomingRequest, ServerConnection, ServerConnectionConfig};
use milena_messages::api_versions::response::ApiVersion;
use milena_messages::fetch::response::{FetchableTopicResponse, PartitionData};
use milena_messages::list_offsets::request::ListOffsetsPartition;
use milena_messages::list_offsets::response::{ListOffsetsPartitionResponse, ListOffsetsTopicResponse};
use milena_messages::metadata::response::{MetadataResponseBroker, MetadataResponsePartition, MetadataResponseTopic};
use milena_messages::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, Bytes, ErrorCode, FetchRequest, FetchResponse, ListOffsetsRequest,
    ListOffsetsResponse, MetadataRequest, MetadataResponse, Request, Uuid, VersionRange,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

pub(crate) const TOPIC: &str = "letters";
pub(crate) const TOPIC_ID: Uuid = Uuid::from_bytes([7; 16]);

type Write = Box<dyn FnOnce(&mut ServerConnection, &IncomingRequest) + Send>;
type Script = Box<dyn FnMut(usize, &IncomingRequest) -> Act + Send>;

/// What the broker does about a request.
pub(crate) enum Act {
    Respond(Write),
    /// Keeps the connection open and never responds.
    Silence,
    /// Ends its own direction of the connection alone.
    HalfClose,
    /// Responds to Metadata with a change of what it would say otherwise.
    Metadata(Edit),
}

type Edit = Box<dyn FnOnce(&mut MetadataResponse) + Send>;

/// Responds to ListOffsets with these ends, and with nothing for times.
pub(crate) fn ends(request: &IncomingRequest, earliest: i64, latest: i64) -> Act {
    let asked: ListOffsetsRequest = request.decode().unwrap();
    let partition = |asked: &ListOffsetsPartition| ListOffsetsPartitionResponse {
        partition_index: asked.partition_index,
        offset: match asked.timestamp {
            -2 => earliest,
            -1 => latest,
            _ => -1,
        },
        old_style_offsets: vec![if asked.timestamp == -2 { earliest } else { latest }],
        ..Default::default()
    };
    let mut topic = ListOffsetsTopicResponse { name: TOPIC.into(), ..Default::default() };
    topic.partitions = asked.topics.iter().flat_map(|topic| &topic.partitions).map(partition).collect();
    if request.api_version > 0 {
        topic.partitions.iter_mut().for_each(|partition| partition.old_style_offsets.clear());
    } else {
        topic.partitions.iter_mut().for_each(|partition| partition.offset = -1);
    }
    respond_with::<ListOffsetsRequest>(ListOffsetsResponse { topics: vec![topic], ..Default::default() })
}

/// Responds to Fetch with one partition.
pub(crate) fn fetched(high_watermark: i64, records: Bytes) -> Act {
    let data = PartitionData { high_watermark, records: Some(records), ..Default::default() };
    let topic = FetchableTopicResponse {
        topic: TOPIC.into(),
        topic_id: TOPIC_ID,
        partitions: vec![data],
        ..Default::default()
    };
    respond_with::<FetchRequest>(FetchResponse { responses: vec![topic], ..Default::default() })
}

/// Every API as this build knows it, except one with other versions.
pub(crate) fn versions_with(api: ApiKey, versions: VersionRange) -> Vec<(ApiKey, VersionRange)> {
    ApiKey::all().map(|one| (one, if one == api { versions } else { one.versions() })).collect()
}

pub(crate) fn respond_with<R: Request>(response: R::Response) -> Act
where
    R::Response: Send + 'static,
{
    Act::Respond(Box::new(move |machine, request| machine.respond(request, &response).unwrap()))
}

/// A broker with node id 1 that leads `letters`, partitions 0 and 1.
pub(crate) struct Broker {
    pub(crate) address: String,
    seen: Arc<Mutex<Vec<ApiKey>>>,
    connections: Arc<AtomicUsize>,
}

impl Broker {
    /// Responds to ApiVersions and Metadata by itself. The script gets every request, and how many of that API came before.
    pub(crate) async fn start(script: impl FnMut(usize, &IncomingRequest) -> Act + Send + 'static) -> Self {
        Self::with_versions(ApiKey::all().map(|api| (api, api.versions())).collect(), script).await
    }

    pub(crate) async fn with_versions(
        versions: Vec<(ApiKey, VersionRange)>,
        script: impl FnMut(usize, &IncomingRequest) -> Act + Send + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let script: Arc<Mutex<(Script, HashMap<ApiKey, usize>)>> =
            Arc::new(Mutex::new((Box::new(script), HashMap::new())));
        let kept = Arc::clone(&seen);
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::Relaxed);
                let (script, seen, versions) = (Arc::clone(&script), Arc::clone(&kept), versions.clone());
                tokio::spawn(serve(stream, port, versions, move |request| {
                    seen.lock().unwrap().push(request.api_key);
                    let mut script = script.lock().unwrap();
                    let (script, counts) = &mut *script;
                    let count = counts.entry(request.api_key).or_default();
                    let nth = *count;
                    *count += 1;
                    script(nth, request)
                }));
            }
        });
        Self { address: format!("127.0.0.1:{port}"), seen, connections }
    }

    pub(crate) fn config(&self) -> ClientConfig {
        ClientConfig { bootstrap: vec![self.address.clone()], ..ClientConfig::default() }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.config()).await.unwrap()
    }

    /// How many connections were opened.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// How many requests of an API came in.
    pub(crate) fn seen(&self, api: ApiKey) -> usize {
        self.seen.lock().unwrap().iter().filter(|seen| **seen == api).count()
    }
}

/// The Metadata that a broker at that port gives.
pub(crate) fn metadata(port: u16, with_topic: bool) -> MetadataResponse {
    let partition = |partition_index| MetadataResponsePartition {
        partition_index,
        leader_id: 1,
        leader_epoch: 3,
        ..Default::default()
    };
    let topic = MetadataResponseTopic {
        name: Some(TOPIC.into()),
        topic_id: TOPIC_ID,
        partitions: vec![partition(0), partition(1)],
        ..Default::default()
    };
    let unknown = MetadataResponseTopic {
        name: Some(TOPIC.into()),
        error_code: ErrorCode::UNKNOWN_TOPIC_OR_PARTITION,
        ..Default::default()
    };
    MetadataResponse {
        brokers: vec![MetadataResponseBroker {
            node_id: 1,
            host: "127.0.0.1".into(),
            port: port.into(),
            ..Default::default()
        }],
        controller_id: 1,
        topics: vec![if with_topic { topic } else { unknown }],
        ..Default::default()
    }
}

async fn serve(
    mut stream: TcpStream,
    port: u16,
    versions: Vec<(ApiKey, VersionRange)>,
    mut script: impl FnMut(&IncomingRequest) -> Act,
) {
    let mut machine = ServerConnection::new(ServerConnectionConfig::serving(versions.iter().copied()));
    loop {
        while let Ok(Some(request)) = machine.poll() {
            let act = match (request.api_key, script(&request)) {
                (ApiKey::API_VERSIONS, _) => {
                    let entry = |(api_key, range): &(ApiKey, VersionRange)| ApiVersion {
                        api_key: *api_key,
                        min_version: range.min(),
                        max_version: range.max(),
                        ..Default::default()
                    };
                    let api_keys = versions.iter().map(entry).collect();
                    respond_with::<ApiVersionsRequest>(ApiVersionsResponse { api_keys, ..Default::default() })
                }
                (ApiKey::METADATA, Act::Silence) => respond_with::<MetadataRequest>(metadata(port, true)),
                (_, act) => act,
            };
            match act {
                Act::Respond(write) => write(&mut machine, &request),
                Act::Silence => {}
                Act::HalfClose => stream.shutdown().await.unwrap(),
                Act::Metadata(edit) => {
                    let mut response = metadata(port, true);
                    edit(&mut response);
                    machine.respond(&request, &response).unwrap();
                }
            }
        }
        for segment in machine.take_output() {
            if stream.write_all(&segment).await.is_err() {
                return;
            }
        }
        match stream.read_buf(machine.input()).await {
            Ok(count) if count > 0 => {}
            _ => return,
        }
    }
}

/// Not a broker: sends these bytes to every client after its first request, and closes.
pub(crate) async fn not_a_broker(bytes: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut asked = [0; 1000];
            let _ = stream.read(&mut asked).await;
            let _ = stream.write_all(bytes).await;
        }
    });
    address
}

/// An address where nobody listens.
pub(crate) async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    listener.local_addr().unwrap().to_string()
}
