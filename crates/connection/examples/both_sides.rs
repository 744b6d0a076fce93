//! A client and a server that talk without a socket.
//!
//!     cargo run -p milena-connection --example both_sides

use milena_connection::{
    ClientConnection, ClientConnectionConfig, ClientEvent, ServerConnection, ServerConnectionConfig,
};
use milena_messages::{ApiKey, MetadataRequest, MetadataResponse, VersionRange};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut client = ClientConnection::new(ClientConnectionConfig::default());
    let mut server =
        ServerConnection::new(ServerConnectionConfig::serving([(ApiKey::METADATA, VersionRange::new(0, 12))]));

    let sent = client.send_at(&MetadataRequest::default(), 12, None)?;
    for segment in client.take_output() {
        server.receive(&segment);
    }

    let request = server.poll()?.expect("a whole request came in");
    assert_eq!(request.api_key, ApiKey::METADATA);
    server.respond(&request, &MetadataResponse::default())?;
    for segment in server.take_output() {
        client.receive(&segment);
    }

    let Some(ClientEvent::Response(response)) = client.poll()? else { panic!("a whole response came in") };
    assert_eq!(response.correlation_id, sent);
    assert_eq!(response.decode::<MetadataResponse>()?.controller_id, -1);
    Ok(())
}
