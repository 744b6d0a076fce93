//! The low-level vocabulary of kafka-python 1.4.x, in Rust: message sets of magic 0 and 1, and the requests and responses
//! of its `SimpleClient`, as its modules `kafka.protocol`, `kafka.protocol.legacy` and `kafka.protocol.message` have them.
//!
//! For code and tests that come from there, and for brokers before 0.11. The same inputs give the same bytes as
//! kafka-python 1.4.7 writes. Anything new is better off with [`milena_records::Batches`] and the messages of
//! [`milena_messages`], which know all versions and all record formats.
//!
//! ```
//! use milena_legacy::{ProduceRequestPayload, create_message, encode_produce_request};
//!
//! let payload = ProduceRequestPayload {
//!     topic: "letters".into(),
//!     partition: 0,
//!     messages: vec![create_message(Some("to Milena".into()), None)],
//! };
//! let frame = encode_produce_request("prague", 1, &[payload], 1, 1000)?;
//! assert_eq!(frame[..8], [0, 0, 0, 82, 0, 0, 0, 0]);
//! # Ok::<(), milena_legacy::Error>(())
//! ```
//!
//! | kafka-python | here |
//! |---|---|
//! | `create_message`, `create_gzip_message`, `create_snappy_message`, `create_message_set` | functions of the same names, giving [`Message`] |
//! | `Message`, `PartialMessage`, `MessageSet` | [`Message`], [`PartialMessage`], [`MessageSet`] |
//! | `KafkaProtocol.encode_*_request` | `encode_*_request`, giving frames |
//! | `KafkaProtocol.decode_*_response`, `decode_message_set` | `decode_*_response`, [`decode_message_set`] |
//! | `kafka.structs.*Payload` | structs of the same names |
//! | `OffsetResetStrategy` | [`OffsetResetStrategy`] |
//! | `FetchRequest_v4` and all other classes of `kafka.protocol` | `Versioned<FetchRequest, 4>`: the table of [`classes`], with field names |
//!
//! # Frames
//!
//! In 1.4.7 only `encode_consumer_metadata_request` returns bytes, and takes client id and correlation id for them; the
//! others return a request object, and the connection adds size and header (`kafka.protocol.parser.KafkaProtocol`:
//! `send_request`, then `send_bytes`). Here all of them take client id and correlation id first and return what then goes
//! over the wire: int32 size, header (API key, API version, correlation id, client id), body.
//!
//! In the other direction 1.4.7 takes response objects, but for `decode_consumer_metadata_response`, which takes bytes
//! from the correlation id on. Here all of them do: a frame without its size, as `FrameBuffer` of `milena-connection`
//! gives it. The correlation id is not looked at, and bytes after the body are ignored, as in kafka-python.
//!
//! Default arguments of kafka-python, which have to be written out in Rust: produce has `acks` 1 and `timeout` 1000 ms,
//! fetch has `max_wait_time` 100 ms and `min_bytes` 4096, offset fetch has `from_kafka` false, gzip has level 9.
//!
//! # Where it differs, on purpose
//!
//! Reading:
//!
//! - An entry that is all there but cannot be read, because its size is too small or a length inside goes past its end,
//!   is an error. kafka-python takes it for a partial message and silently loses everything after it. Cut at any
//!   byte, a set gives the same result here and there.
//! - A null entry, a magic other than 0 and 1, and a record set that is null: kafka-python falls over the first two with a
//!   `TypeError` or `IndexError` (or, at magic -1 and -2, guesses), and over the last. Here the first two are errors, and
//!   a null record set is an empty one.
//! - A compressed message without a value is an error; kafka-python reads nothing out of it with gzip, and falls over it
//!   with the other codecs. Its own empty xerial stream, which it cannot read, is an empty set.
//! - Compressed payloads are read as Kafka's consumer reads them, up to 128 MiB for each message. So a negative size of a
//!   snappy block, and LZ4 blocks that depend on each other, are errors.
//! - Null where the protocol has none (topic, host, arrays) is an error and not `None`; bytes in a string that are not
//!   UTF-8 become replacement characters, as in Java, and not an exception.
//!
//! Not different, though one might wish it were: the inner messages of a wrapper of magic 1 keep their offsets relative,
//! and only one level of compression is opened.
//!
//! Writing:
//!
//! - kafka-python has two kinds of message, a tuple that `create_message` makes and a class; here there is one.
//! - Its messages show the checksum 0 until they are encoded for the first time, and after a change the old one. Here a
//!   message that was made and not read always shows the right one, unless [`Message::with_crc`] says otherwise.
//! - `encode_produce_request` gives messages of magic 1 the time of the day there, whatever timestamp they had. Here they
//!   keep their own.
//! - `encode_metadata_request` takes `None` for topics there and writes a null array, which no broker reads in version 0.
//!   Here all topics are asked for by an empty slice alone.
//! - gzip depends on the deflate in use, and Python puts the time into its header: what is inside is the same.

#[doc = include_str!("classes.md")]
pub mod classes {
    pub use milena_messages::Versioned;
}
mod create;
mod group;
mod message;
mod message_set;
mod payload;
mod request;
mod response;

pub use create::{
    ALL_CODECS, CODEC_GZIP, CODEC_NONE, CODEC_SNAPPY, Payload, create_gzip_message, create_message, create_message_set,
    create_snappy_message,
};
pub use message::Message;
pub use message_set::{
    MessageOrPartial, MessageSet, MessageSetItem, OffsetAndMessage, PartialMessage, decode_message_set,
};
pub use milena_wire::{Error, ErrorKind, Result};
pub use payload::{
    ConsumerMetadataResponse, FetchRequestPayload, FetchResponsePayload, ListOffsetRequestPayload,
    ListOffsetResponsePayload, OffsetCommitRequestPayload, OffsetCommitResponsePayload, OffsetFetchRequestPayload,
    OffsetFetchResponsePayload, OffsetRequestPayload, OffsetResetStrategy, OffsetResponsePayload,
    ProduceRequestPayload, ProduceResponsePayload,
};
pub use request::{
    encode_consumer_metadata_request, encode_fetch_request, encode_list_offset_request, encode_metadata_request,
    encode_offset_commit_request, encode_offset_fetch_request, encode_offset_request, encode_produce_request,
};
pub use response::{
    decode_consumer_metadata_response, decode_fetch_response, decode_list_offset_response, decode_metadata_response,
    decode_offset_commit_response, decode_offset_fetch_response, decode_offset_response, decode_produce_response,
};
