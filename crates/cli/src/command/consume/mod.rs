mod printer;
mod reader;
mod template;

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use milena_client::{Client, Error, FetchOptions, Isolation, RangeOptions, Start};
use tokio::sync::mpsc::channel;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::position::{From, To};
use super::topic::{Numbers, Partitions, TopicName, no_leader, numbers};
use crate::failure::{Failure, Result};
use crate::network::{Network, block_on};
use printer::Printer;
use reader::{Reader, Wanted, follow};
use template::Template;

const EXAMPLES: &str = r"Examples:
  milena consume letters                           all records up to now, one value per line
  milena consume letters --json | jq .key
  milena consume letters --from -10 --format '{partition}:{offset} {key} => {value}'
  milena consume letters --from latest --to never
  milena consume letters --from -2h --to -1h       by time
  milena consume letters --partition 0-2 --from 2024-05-01T14:00+02:00 --count 100

--json prints one record per line, in the form that `milena produce --input json` reads. A key or
value that is not text is in keyBase64 or valueBase64; null is null, also as a timestamp. A template
has the placeholders {topic}, {partition}, {offset}, {timestamp}, {time}, {key}, {value} and
{headers}, and the escapes \n, \t, \r, \0, \xHH, \\, \{ and \}; a line feed ends each record.

Times: 2024-05-01, 2024-05-01T12:30:59.250Z, with a zone such as +02:00, now, -90s, -30m, -1h, -2d,
-1w (so long ago), or @ and milliseconds since 1970. Without a zone a time is UTC.";

/// Read the records of a topic, from one place to another
///
/// Reads each partition in turn up to the end that it has when reading starts; --to never waits for new records instead,
/// also while brokers are away. Prints what can be read; if a partition cannot, names it and exits with 1. Stores nothing
/// on the broker: joins no group and commits no offset.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Consume {
    #[command(flatten)]
    topic: TopicName,

    /// Only these partitions: numbers and ranges, such as 0,4-7
    #[arg(long, short, value_name = "N", value_delimiter = ',', value_parser = numbers, allow_hyphen_values = true)]
    partition: Vec<Numbers>,

    /// Where to start: earliest, latest, an offset, -N for the last N records of each partition, or a time
    #[arg(long, value_name = "PLACE", default_value = "earliest", allow_hyphen_values = true)]
    from: From,

    /// Where to stop: end, never, before an offset, or before the first record at or after a time; at the end if that comes
    /// first
    #[arg(long, value_name = "PLACE", default_value = "end", allow_hyphen_values = true)]
    to: To,

    /// Stop after this many records
    #[arg(long, short = 'n', value_name = "N", allow_negative_numbers = true)]
    count: Option<u64>,

    /// Output for each record: text with placeholders such as {key} and {value}
    #[arg(long, value_name = "TEMPLATE", default_value = "{value}", value_parser = Template::parse)]
    format: Template,

    /// Text that stands for null, and for a missing timestamp
    #[arg(long, value_name = "TEXT", default_value = "")]
    null: String,

    /// Skip records of transactions that are open or were aborted
    #[arg(long)]
    committed: bool,

    /// Skip what cannot be read, with a line on stderr, instead of stopping there
    #[arg(long)]
    skip_corrupt: bool,

    /// Print JSON: one line per record
    #[arg(long, conflicts_with_all = ["format", "null"])]
    json: bool,

    #[command(flatten)]
    network: Network,
}

/// How long partitions that are ready wait for the others, so that they are printed in order.
const PATIENCE: Duration = Duration::from_secs(2);

impl Consume {
    pub(crate) fn run(self) -> Result {
        if let (From::Start(Start::Offset(from)), To::Offset(to)) = (self.from, self.to) {
            if from > to {
                return Err(Failure::usage(format!("--from {from} is after --to {to}")));
            }
        }
        let mut printer = Printer::new(&self);
        let result = block_on(self.read(&mut printer));
        // Records that were read are printed even if the next could not be read.
        printer.flush()?;
        result
    }

    async fn read(&self, printer: &mut Printer<'_>) -> Result {
        if printer.is_full() {
            return Ok(());
        }
        let client = self.network.connect().await?;
        let partitions = Partitions::look_up(&client, self.topic.as_str(), &self.partition).await?;
        match self.to {
            To::Never => self.follow(&client, &partitions.wanted, printer).await,
            _ => self.read_each(&client, &partitions, printer).await,
        }
    }

    /// Reads one partition after the other. Those that cannot be read do not keep the others from being printed.
    async fn read_each(&self, client: &Client, partitions: &Partitions, printer: &mut Printer<'_>) -> Result {
        let (topic, mut failures) = (self.topic.as_str(), Vec::new());
        let mut opening = JoinSet::new();
        for &partition in &partitions.wanted {
            if partitions.leaderless.contains(&partition) {
                failures.push(no_leader(topic, partition));
                continue;
            }
            // All ends are looked up before the first record is printed, so that they are of one moment.
            let (client, wanted) = (client.clone(), self.wanted(partition, 1));
            opening.spawn(async move { (wanted.partition, Reader::open(&client, &wanted).await) });
        }
        let mut ready = BTreeMap::new();
        let patience = Instant::now() + PATIENCE;
        loop {
            while let Ok(Some(opened)) = timeout_at(patience, opening.join_next()).await {
                let (partition, reader) = opened.map_err(Failure::failed)?;
                ready.insert(partition, reader);
            }
            let next = match ready.pop_first() {
                Some(next) => next,
                None => match printer.wait(opening.join_next()).await? {
                    Some(opened) => opened.map_err(Failure::failed)?,
                    None => break,
                },
            };
            if let Err(failure) = self.print_all(next, printer).await? {
                failures.push(failure);
            }
            if printer.is_full() {
                break;
            }
        }
        Failure::several(failures)
    }

    /// Prints a partition. The outer error is one of stdout, the inner one of the partition.
    async fn print_all(
        &self,
        (partition, reader): (i32, Result<Reader, Error>),
        printer: &mut Printer<'_>,
    ) -> Result<Result> {
        let mut reader = match reader {
            Ok(reader) => reader,
            Err(error) => return Ok(Err(reader::failure(self.topic.as_str(), partition, None, error))),
        };
        let result = loop {
            match printer.wait(reader.next()).await? {
                Err(error) => break Err(reader.failure(error)),
                Ok(None) => break Ok(()),
                Ok(Some(record)) => printer.print(reader.partition, &record)?,
            }
            if printer.is_full() {
                break Ok(());
            }
        };
        reader.report_skipped();
        Ok(result)
    }

    /// Reads partitions without end, all at the same time: none may wait for another.
    async fn follow(&self, client: &Client, partitions: &[i32], printer: &mut Printer<'_>) -> Result {
        let (sender, mut receiver) = channel(1024);
        for partition in partitions {
            let wanted = self.wanted(*partition, partitions.len());
            tokio::spawn(follow(client.clone(), wanted, sender.clone()));
        }
        drop(sender);
        let mut result = Ok(());
        while let Some(next) = printer.wait(receiver.recv()).await? {
            match next {
                Ok((partition, record)) => printer.print(partition, &record)?,
                // The others go on, perhaps for days, so this is reported now.
                Err(failure) => {
                    failure.report();
                    result = Err(Failure::reported());
                }
            }
            if printer.is_full() {
                break;
            }
        }
        result
    }

    fn wanted(&self, partition: i32, side_by_side: usize) -> Wanted {
        let fetch = FetchOptions {
            // Fetches of one connection wait for each other.
            max_wait: Duration::from_millis((500 / side_by_side.max(1) as u64).max(20)),
            isolation: if self.committed { Isolation::ReadCommitted } else { Isolation::ReadUncommitted },
            ..FetchOptions::default()
        };
        // Outages are waited out, but not silently.
        let patience = (self.to == To::Never).then_some(self.network.timeout());
        Wanted {
            topic: self.topic.as_str().to_owned(),
            partition,
            places: (self.from, self.to),
            options: RangeOptions { fetch, skip_corrupt: self.skip_corrupt, patience, ..RangeOptions::default() },
        }
    }
}
