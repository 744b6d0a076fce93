//! Peers that do not read, on real sockets.

use std::time::Duration;

use milena_client::{Acks, Client, ClientConfig, Codec, Error, Record};
use milena_connection::{ServerConnection, ServerConnectionConfig};
use milena_messages::api_versions::response::ApiVersion;
use milena_messages::{ApiKey, ApiVersionsResponse, MetadataRequest};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::broker::{TOPIC, metadata};

/// A broker that responds to ApiVersions and Metadata and reads nothing after that, but keeps the connection.
async fn stopped() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(until_metadata(stream, port));
        }
    });
    format!("127.0.0.1:{port}")
}

async fn until_metadata(mut stream: TcpStream, port: u16) {
    let mut machine = ServerConnection::new(ServerConnectionConfig::passing_all());
    loop {
        let mut is_last = false;
        while let Ok(Some(request)) = machine.poll() {
            match request.api_key {
                ApiKey::API_VERSIONS => {
                    let all = ApiKey::all().map(|api_key| ApiVersion {
                        api_key,
                        min_version: api_key.versions().min(),
                        max_version: api_key.versions().max(),
                        ..Default::default()
                    });
                    let response = ApiVersionsResponse { api_keys: all.collect(), ..Default::default() };
                    machine.respond(&request, &response).unwrap();
                }
                _ => {
                    let _: MetadataRequest = request.decode().unwrap();
                    machine.respond(&request, &metadata(port, true)).unwrap();
                    is_last = true;
                }
            }
        }
        for segment in machine.take_output() {
            stream.write_all(&segment).await.unwrap();
        }
        if is_last {
            std::future::pending::<()>().await;
        }
        if stream.read_buf(machine.input()).await.unwrap_or(0) == 0 {
            return;
        }
    }
}

/// The sockets of this process that are connected to a port.
#[cfg(target_os = "linux")]
fn sockets_to(port: u16) -> usize {
    let wanted = format!("0100007F:{port:04X}");
    let table = std::fs::read_to_string("/proc/self/net/tcp").unwrap();
    let inodes: Vec<String> = table
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|fields| fields[2] == wanted)
        .map(|fields| format!("socket:[{}]", fields[9]))
        .collect();
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap();
    let targets = descriptors.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    targets.filter(|target| inodes.iter().any(|inode| target.to_str() == Some(inode))).count()
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn produces_to_a_stopped_leader_end_by_their_deadline_and_leave_no_socket() {
    let address = stopped().await;
    let port: u16 = address.rsplit_once(':').unwrap().1.parse().unwrap();
    let limit = Duration::from_millis(500);
    let config = ClientConfig {
        bootstrap: vec![address],
        connect_timeout: limit,
        request_timeout: limit,
        deadline: limit,
        ..ClientConfig::default()
    };
    let client = Client::connect(config).await.unwrap();
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let client = client.clone();
        let record = Record::from_value(vec![b'v'; 900_000]);
        calls.spawn(async move { client.produce(TOPIC, 0, Acks::All, Codec::None, vec![record]).await });
    }
    // Far more than every limit together: without limits this would not end at all.
    let ended = tokio::time::timeout(Duration::from_secs(60), calls.join_all()).await.expect("every call ends");
    for result in ended {
        let error = result.unwrap_err();
        assert!(error.is_retriable(), "{error:?}");
        assert!(matches!(error, Error::Timeout { .. } | Error::Deadline { .. } | Error::Closed { .. }), "{error:?}");
    }
    drop(client);
    for _ in 0..1000 {
        if sockets_to(port) == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{} sockets are left", sockets_to(port));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropping_the_client_closes_its_sockets_although_requests_are_unwritten() {
    let address = stopped().await;
    let port: u16 = address.rsplit_once(':').unwrap().1.parse().unwrap();
    let client = Client::connect(ClientConfig { bootstrap: vec![address], ..ClientConfig::default() }).await.unwrap();
    let record = Record::from_value(vec![b'v'; 20_000_000]);
    let call = {
        let client = client.clone();
        tokio::spawn(async move { client.produce(TOPIC, 0, Acks::All, Codec::None, vec![record]).await.is_ok() })
    };
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(sockets_to(port) > 0);
    call.abort();
    drop(client);
    for _ in 0..1000 {
        if sockets_to(port) == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{} sockets are left", sockets_to(port));
}
