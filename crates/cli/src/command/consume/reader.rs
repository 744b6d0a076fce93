use std::time::Duration;

use milena_client::{Client, Error, RangeOptions, RangeReader, Record, Report};
use milena_messages::ErrorCode;
use tokio::sync::mpsc::Sender;
use tokio::time::{Instant, sleep};

use crate::command::position::{From, To, part};
use crate::failure::{Failure, Result};

/// Between two attempts during an outage.
const PAUSE: Duration = Duration::from_millis(500);

/// Reads one partition.
pub(super) struct Reader {
    topic: String,
    pub(super) partition: i32,
    range: RangeReader,
    /// Records to pass over before the first that is wanted.
    skip: u64,
}

/// What to read of a partition.
#[derive(Clone)]
pub(super) struct Wanted {
    pub(super) topic: String,
    pub(super) partition: i32,
    pub(super) places: (From, To),
    pub(super) options: RangeOptions,
}

impl Reader {
    /// Looks up where to begin and where to stop.
    pub(super) async fn open(client: &Client, wanted: &Wanted) -> Result<Self, Error> {
        let Wanted { topic, partition, places, options } = wanted;
        let part = part(client, topic, *partition, *places, options).await?;
        let range = client.fetch_range(topic, *partition, part.start, part.stop, options.clone()).await?;
        let reader = Self { topic: topic.clone(), partition: *partition, range, skip: part.skip };
        if let (To::Offset(stop), Some(end)) = (places.1, reader.range.end()) {
            if end < stop {
                eprintln!("note: {reader} ends at offset {end}, before {stop}");
            }
        }
        Ok(reader)
    }

    /// The next record, or `None` at the end. After an error, the next call tries the same again.
    pub(super) async fn next(&mut self) -> Result<Option<Record>, Error> {
        while let Some(record) = self.range.next().await? {
            match self.skip.checked_sub(1) {
                Some(left) => self.skip = left,
                None => return Ok(Some(record)),
            }
        }
        Ok(None)
    }

    /// An error of [`Reader::next`], and from where on nothing was read.
    pub(super) fn failure(&self, error: Error) -> Failure {
        failure(&self.topic, self.partition, Some(self.range.position()), error)
    }

    /// Reports what could not be read and was left out.
    pub(super) fn report_skipped(&self) {
        for error in self.range.skipped() {
            eprintln!("note: skipped: {}", Report(error));
        }
    }
}

impl std::fmt::Display for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// The failure to read a partition, from an offset on if it is known.
pub(super) fn failure(topic: &str, partition: i32, position: Option<i64>, error: Error) -> Failure {
    let names_it = matches!(
        error,
        Error::OffsetOutOfRange { .. }
            | Error::NoLeader { .. }
            | Error::Records { .. }
            | Error::Truncated { .. }
            | Error::Stalled { .. }
    );
    let failure = Failure::from(error);
    match position {
        _ if names_it => failure,
        Some(position) => failure.preface(format!("{topic}-{partition} from offset {position} on: ")),
        None => failure.preface(format!("{topic}-{partition}: ")),
    }
}

/// Reads a partition for as long as it exists and anybody wants its records. Outages are waited out, with a note.
pub(super) async fn follow(client: Client, mut wanted: Wanted, sender: Sender<Result<(i32, Record)>>) {
    // Otherwise the client would wait without a note.
    wanted.options.patience = Some(client.config().deadline);
    let mut outage = Outage {
        name: format!("{}-{}", wanted.topic, wanted.partition),
        since: None,
        patience: client.config().deadline,
    };
    let mut reader = loop {
        match Reader::open(&client, &wanted).await {
            Ok(reader) => break reader,
            Err(error) if outage.may_pass(&error) => sleep(PAUSE).await,
            Err(error) => {
                // Without a receiver printing has ended.
                let _ = sender.send(Err(failure(&wanted.topic, wanted.partition, None, error))).await;
                return;
            }
        }
    };
    loop {
        let next = match reader.next().await {
            Ok(None) => return,
            Ok(Some(record)) => Ok((wanted.partition, record)),
            Err(error) if outage.may_pass(&error) => {
                sleep(PAUSE).await;
                continue;
            }
            Err(error) => Err(reader.failure(error)),
        };
        outage.is_over();
        let failed = next.is_err();
        if sender.send(next).await.is_err() || failed {
            return;
        }
    }
}

/// The time in which a partition cannot be read.
struct Outage {
    name: String,
    since: Option<Instant>,
    /// How long a topic may be unknown: a broker that starts does not know its topics at once.
    patience: Duration,
}

impl Outage {
    /// Whether to wait until the error passes.
    fn may_pass(&mut self, error: &Error) -> bool {
        let since = *self.since.get_or_insert_with(|| {
            if error.is_retriable() {
                eprintln!("note: waiting for {}: {}", self.name, Report(error));
            }
            Instant::now()
        });
        let unknown = [ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, ErrorCode::UNKNOWN_TOPIC_ID];
        let is_unknown = error.code().is_some_and(|code| unknown.contains(&code));
        error.is_retriable() && (!is_unknown || since.elapsed() < self.patience)
    }

    fn is_over(&mut self) {
        if self.since.take().is_some() {
            eprintln!("note: {} can be read again", self.name);
        }
    }
}
