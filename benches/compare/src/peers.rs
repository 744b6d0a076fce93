//! One interface for all rivals.

use bytes::{Bytes, BytesMut};

use crate::measure::{Subject, subject};

/// A crate that reads and writes messages of type `T`, each in the way that its documentation shows.
pub trait Peer<T> {
    const NAME: &'static str;
    fn decode(bytes: &Bytes, version: i16) -> T;
    fn encode(value: &T, version: i16) -> Bytes;
}

/// The two works of one peer at one message.
pub struct Codec {
    pub decode: Option<Subject<'static>>,
    pub encode: Option<Subject<'static>>,
}

/// Checks that the peer reads these bytes to a value that it writes as the same bytes, and sets up its works.
pub fn codec<P: Peer<T>, T: 'static>(bytes: &Bytes, version: i16) -> Codec {
    let value = P::decode(bytes, version);
    assert!(P::encode(&value, version) == bytes, "{} writes other bytes", P::NAME);
    let bytes = bytes.clone();
    Codec {
        decode: Some(subject(P::NAME, move || P::decode(&bytes, version))),
        encode: Some(subject(P::NAME, move || P::encode(&value, version))),
    }
}

pub struct KafkaProtocol;

impl<T: kafka_protocol::protocol::Decodable + kafka_protocol::protocol::Encodable> Peer<T> for KafkaProtocol {
    const NAME: &'static str = "kafka-protocol";

    fn decode(bytes: &Bytes, version: i16) -> T {
        T::decode(&mut bytes.clone(), version).expect("bytes that kafka-protocol reads")
    }

    fn encode(value: &T, version: i16) -> Bytes {
        let mut buffer = BytesMut::new();
        value.encode(&mut buffer, version).expect("a value that kafka-protocol writes");
        buffer.freeze()
    }
}

#[cfg(feature = "kafka-wire")]
pub struct KafkaWire;

#[cfg(feature = "kafka-wire")]
impl<T: kafka_wire_core::KafkaDecode + kafka_wire_core::KafkaEncode> Peer<T> for KafkaWire {
    const NAME: &'static str = "kafka-wire";

    fn decode(bytes: &Bytes, version: i16) -> T {
        let version = kafka_wire_core::ApiVersion::new(version);
        T::decode_from_bytes(bytes.clone(), version, kafka_wire_core::DecodeLimits::default())
            .expect("bytes that kafka-wire reads")
    }

    fn encode(value: &T, version: i16) -> Bytes {
        value.encode_to_bytes(kafka_wire_core::ApiVersion::new(version)).expect("a value that kafka-wire writes")
    }
}

#[cfg(feature = "krabka")]
pub struct Krabka;

#[cfg(feature = "krabka")]
impl<T: for<'a> krabka_protocol::Decode<'a> + krabka_protocol::Encode> Peer<T> for Krabka {
    const NAME: &'static str = "krabka-protocol";

    fn decode(bytes: &Bytes, version: i16) -> T {
        T::decode(&mut bytes.clone(), version).expect("bytes that krabka-protocol reads")
    }

    fn encode(value: &T, version: i16) -> Bytes {
        let mut buffer = BytesMut::with_capacity(value.encoded_len(version));
        value.encode(&mut buffer, version).expect("a value that krabka-protocol writes");
        buffer.freeze()
    }
}

/// As [`codec`] for a type of krabka-protocol that borrows its strings from the bytes.
#[cfg(feature = "krabka")]
macro_rules! krabka_borrowed {
    ($bytes:expr, $version:expr, $type:ty) => {{
        use krabka_protocol::DecodeBorrow as _;
        let bytes = $bytes.clone();
        crate::peers::Codec {
            decode: Some(crate::measure::subject("krabka-protocol, borrowed", move || {
                let value =
                    <$type>::decode_borrow(&mut &bytes[..], $version).expect("bytes that krabka-protocol reads");
                // The value borrows: it can't leave.
                std::hint::black_box(&value);
            })),
            encode: None,
        }
    }};
}
#[cfg(feature = "krabka")]
pub(crate) use krabka_borrowed;

#[cfg(feature = "odradek")]
pub struct Odradek;

#[cfg(feature = "odradek")]
macro_rules! odradek {
    ($($module:ident :: $type:ident)*) => {$(
        impl Peer<odradek_protocol::messages::$module::$type> for Odradek {
            const NAME: &'static str = "odradek-protocol";

            fn decode(bytes: &Bytes, version: i16) -> odradek_protocol::messages::$module::$type {
                odradek_protocol::messages::$module::$type::decode(&mut bytes.clone(), version)
                    .expect("bytes that odradek-protocol reads")
            }

            fn encode(value: &odradek_protocol::messages::$module::$type, version: i16) -> Bytes {
                let mut buffer = BytesMut::new();
                value.encode(&mut buffer, version).expect("a value that odradek-protocol writes");
                buffer.freeze()
            }
        }
    )*};
}

#[cfg(feature = "odradek")]
odradek! {
    api_versions_response::ApiVersionsResponse
    fetch_response::FetchResponse
    join_group_response::JoinGroupResponse
    metadata_response::MetadataResponse
    offset_fetch_response::OffsetFetchResponse
    produce_request::ProduceRequest
    request_header::RequestHeader
}
