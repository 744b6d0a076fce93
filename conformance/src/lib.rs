//! Is every codec of milena equal to Apache Kafka's, byte for byte?
//!
//! `vectors/` holds what Kafka's own classes wrote, read and refused, for every version of every message; the Java
//! program in `oracle/` writes it. Here the typed and the schema codec are compared with it. What they do otherwise on
//! purpose stands in `deviations.md`; a difference that is not listed there is a failure, and so is a listed one that
//! no longer occurs.
//!
//! | room | what |
//! |---|---|
//! | [`run`] | a folder of vectors against both codecs, giving a [`Report`] |
//! | [`rebuild`] | writes the vectors again, with Maven and Java |
//! | [`Vector`], [`read_vectors`] | the vectors themselves |
//! | [`differences`], [`Difference`] | one vector against both codecs |
//! | [`RecordVector`], [`read_record_vectors`], [`record_differences`] | the same for record sets |
//! | [`Refusal`], [`read_refusals`], [`refusal_outcome`] | the error responses of every API |
//! | [`our_sets`] | what milena writes for Kafka to read |
//! | [`Deviations`] | the table of `deviations.md` |
//! | [`run_traffic`], [`read_traffic`], [`Conversation`] | what real clients and brokers said to each other |
//! | [`Oddities`] | the table of `traffic/oddities.md` |

mod check;
mod deviation;
mod rebuild;
mod records;
mod refusal;
mod report;
mod traffic;
mod typed;
mod vector;

pub use check::{Codec, Difference, Found, differences};
pub use deviation::{Deviation, Deviations};
pub use rebuild::{RELEASES, Release, rebuild};
pub use records::{
    Ours, Outcomes, RecordVector, RecordsReport, our_sets, read_record_vectors, read_set, record_differences, rewrite,
};
pub use refusal::{REFUSAL_DIFFERENCES, Refusal, RefusalOutcome, read_refusals, refusal_outcome};
pub use report::{MessageReport, Missing, Report, run};
pub use traffic::{
    Conversation, Direction, Exchange, Frame, Oddities, Oddity, Recording, Strange, TrafficReport, read_traffic,
    run_traffic,
};
pub use typed::{Outcome, reencode, transcode, typed_default};
pub use vector::{Expected, Transcoded, Vector, VectorKind, from_hex, read_vectors, to_hex};

/// Anything that keeps vectors from being read or written.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Error(pub(crate) String);

impl Error {
    pub(crate) fn new(what: impl std::fmt::Display, error: impl std::fmt::Display) -> Self {
        Self(format!("{what}: {error}"))
    }
}
