//! A first look at the cluster, before any client comes.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use bytes::Bytes;
use milena_connection::{FrameBuffer, frame_request};
use milena_messages::{ByteString, Message as _, MetadataRequest, MetadataResponse};
use milena_transport::{Address, Segments, Stream};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::hub::{Hub, Upstream, itself};

/// A broker of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Node {
    /// Its id.
    pub id: i32,
    /// Where the cluster says that it is.
    pub advertised: Address,
    /// Where clients reach it by way of the tap. `None` when they go there by themselves, or the cluster advertises the tap
    /// already.
    pub local: Option<Address>,
}

/// Why a tap is of no use as it stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// No broker of those to ask first takes a connection. That may change.
    #[error("{0}")]
    Unreachable(String),
    /// The tap would connect to itself.
    #[error("{0}")]
    Itself(String),
}

impl Hub {
    /// Asks the cluster for its brokers, and opens a listener for each in the order of their ids. None when the cluster does
    /// not say, as one does that wants SASL first.
    pub(crate) async fn probe(self: &Arc<Self>) -> Result<Vec<Node>, ProbeError> {
        for bootstrap in &self.config.bootstrap {
            if self.advertises_us(bootstrap).await {
                return Err(ProbeError::Itself(itself(bootstrap)));
            }
        }
        let limit = self.config.connect_timeout;
        let mut found = Vec::new();
        // Version 0 is for Kafka before 0.10, which closes the connection at any other.
        for version in [1, 0] {
            let dialled = timeout(limit, self.dial(Upstream::Bootstrap)).await;
            let (_, stream) = dialled
                .map_err(|_| ProbeError::Unreachable(format!("no broker took the connection within {limit:?}")))?
                .map_err(ProbeError::Unreachable)?;
            if let Ok(Some(response)) = timeout(limit, self.ask(stream, version)).await {
                found = response.brokers;
                break;
            }
        }
        found.sort_by_key(|broker| broker.node_id);
        let mut nodes: Vec<Node> = Vec::new();
        let count = found.len();
        for broker in found {
            let Ok(advertised) = Address::new(&broker.host, broker.port) else { continue };
            // With one broker, its clients come here and go on to it. With several, nobody knows which this one is.
            if self.advertises_us(&advertised).await && count > 1 {
                return Err(ProbeError::Itself(format!(
                    "the cluster advertises broker {} at {}",
                    broker.node_id,
                    itself(&advertised)
                )));
            }
            let local = self.local(&broker.host, broker.port, IpAddr::V4(Ipv4Addr::LOCALHOST));
            let local = local.and_then(|(host, port)| Address::new(&host, i32::from(port)).ok());
            nodes.push(Node { id: broker.node_id, advertised, local });
        }
        Ok(nodes)
    }

    /// The brokers of the cluster; `None` when the connection ends without a response.
    async fn ask(&self, mut stream: Stream, version: i16) -> Option<MetadataResponse> {
        let request = MetadataRequest { topics: Some(Vec::new()), ..Default::default() };
        let client_id = ByteString::from_static("milena-tap");
        let frame = frame_request(&request, version, 0, Some(&client_id)).ok()?;
        frame.into_iter().collect::<Segments>().write_all(&mut stream).await.ok()?;
        let mut frames = FrameBuffer::new(self.config.max_frame);
        let frame: Bytes = loop {
            if let Some(frame) = frames.next_frame().ok()? {
                break frame;
            }
            if stream.read_buf(frames.input()).await.ok()? == 0 {
                return None;
            }
        };
        // The correlation id comes first.
        MetadataResponse::from_bytes(frame.slice(frame.len().min(4)..), version).ok()
    }
}
