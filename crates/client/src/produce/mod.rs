mod acks;
mod batch;
mod report;
mod send;

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use milena_records::{Codec, Record};

use crate::client::Client;
use crate::error::{Error, Result};
pub use acks::Acks;
pub use report::{BatchReport, ProduceOutcome, ProduceReport};
use send::Destination;

impl Client {
    /// Appends records to a partition, as one batch or, if they are large, as several in their order. Gives where the first
    /// batch went.
    ///
    /// A record without a timestamp (-1) gets the time of this machine, as with Kafka's own producer, unless
    /// [`ClientConfig::stamp_records`](crate::ClientConfig::stamp_records) is off. The format follows the broker: record
    /// batches from 0.11 on, message sets of magic 1 with 0.10 and of magic 0 before; those have no headers.
    ///
    /// A batch has at most [`ClientConfig::max_batch_bytes`](crate::ClientConfig::max_batch_bytes). One that is too large
    /// for the topic is halved until it fits. It is sent again when the leader moved, a connection could not be opened, or
    /// the broker reports a passing condition, all within the deadline. When the broker may have appended it without a
    /// confirmation, the error is given back, unless
    /// [`ClientConfig::resend_unanswered`](crate::ClientConfig::resend_unanswered) is on. With [`Acks::None`] this returns as
    /// soon as the bytes are with the socket, and no loss will ever show.
    ///
    /// # Errors
    /// No records; [`Error::PartlyWritten`] when only some records were written, which [`Client::produce_report`] tells
    /// apart; a codec that this build or the broker lacks ([`Error::Unsupported`] for zstd before Produce 7); a record that
    /// is too large, refused, or has headers where the format has none; the broker's refusal; the deadline.
    pub async fn produce(
        &self,
        topic: &str,
        partition: i32,
        acks: Acks,
        codec: Codec,
        records: Vec<Record>,
    ) -> Result<ProduceOutcome> {
        if records.is_empty() {
            return Err(Error::Invalid("there are no records to produce".to_owned()));
        }
        self.produce_report(topic, partition, acks, codec, records).await.into_result()
    }

    /// As [`Client::produce`], and says of each record what became of it. A record that cannot be written does not keep the
    /// others from being written. After an error that concerns all records, such as no leader within the deadline, the rest
    /// is not tried; a batch of which nobody knows whether it was written does not end the call.
    pub async fn produce_report(
        &self,
        topic: &str,
        partition: i32,
        acks: Acks,
        codec: Codec,
        mut records: Vec<Record>,
    ) -> ProduceReport {
        if self.core.config.stamp_records {
            stamp(&mut records);
        }
        let core = Arc::clone(&self.core);
        Destination { core, topic, partition, acks, codec }.send(&records).await
    }
}

fn stamp(records: &mut [Record]) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    let now = i64::try_from(now).unwrap_or(-1);
    for record in records.iter_mut().filter(|record| record.timestamp == -1) {
        record.timestamp = now;
    }
}
