//! Reads Kafka's bytes without knowing what they are beforehand: a request as it stands on the wire.
//!
//!     cargo run -p milena --features schema --example decode

use milena::connection::read_request_header;
use milena::messages::{ApiKey, Message, MetadataRequest};
use milena::schema::Spec;
use milena::wire::Bytes;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Metadata version 1 of a client that calls itself "milena", without the size in front: topics are null, which asks
    // for all of them.
    let frame = Bytes::from_static(b"\0\x03\0\x01\0\0\0\x07\0\x06milena\xff\xff\xff\xff");

    let (header, body) = read_request_header(frame)?;
    println!("{} version {}, from {:?}", header.request_api_key, header.request_api_version, header.client_id);
    assert_eq!(header.request_api_key, ApiKey::METADATA);

    // Typed, when the program knows which message it wants ...
    let request = MetadataRequest::from_bytes_exact(body.clone(), header.request_api_version)?;
    println!("{}", request.display(header.request_api_version));

    // ... and by the spec, when any message may come.
    let spec = Spec::kafka().request(header.request_api_key.0).ok_or("no release has that API")?;
    println!("{}", spec.decode(body, header.request_api_version)?.json);
    Ok(())
}
