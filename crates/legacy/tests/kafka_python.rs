//! The vocabulary of kafka-python, compared with kafka-python 1.4.7 itself: `kafka_python/vectors.json` is what
//! `kafka_python/generate.py` printed, run as its head says. Bytes are equal both ways, but for the bytes of gzip, which
//! depend on the deflate in use and on the time: there, what is inside is.

#![expect(clippy::unwrap_used, reason = "vectors that cannot be read fail the test")]

#[path = "legacy/create.rs"]
mod create;
#[path = "legacy/message.rs"]
mod message;
#[path = "legacy/message_set.rs"]
mod message_set;
#[path = "legacy/request.rs"]
mod request;
#[path = "legacy/response.rs"]
mod response;
#[path = "legacy/vector.rs"]
mod vector;
