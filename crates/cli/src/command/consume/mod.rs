mod template;

use std::future::poll_fn;
use std::io::{BufWriter, IsTerminal as _, StdoutLock, Write as _};
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use clap::Args;
use milena_client::{Client, FetchOptions, Isolation, RangeOptions, RangeReader, Record, Stop};
use tokio::sync::mpsc::{Sender, channel};

use super::position::{From, partitions_of, stop};
use crate::failure::{Failure, Result};
use crate::network::{Network, block_on};
use crate::output::{self, Progress};
use crate::record;
use template::Template;

const EXAMPLES: &str = r"Examples:
  milena consume --topic letters                   all there is now, one value a line
  milena consume --topic letters --json | jq .key
  milena consume --topic letters --from -10 --format '{partition}:{offset} {key} => {value}'
  milena consume --topic letters --from latest --to never
  milena consume --topic letters --partition 0 --from 2024-05-01T12:00:00Z --count 100

--json prints a record a line, in the form that `milena produce --input json` takes. A key or value
that is no text stands there as keyBase64 or valueBase64, and null as null. A template has the
places {topic}, {partition}, {offset}, {timestamp}, {time}, {key}, {value} and {headers}, and the
escapes \n, \t, \r, \0, \\, \{ and \}; a line feed ends each record.";

/// Read the records of a topic, from one place to another
///
/// Reads to the end as it is at the start, partition after partition, and then ends for sure; --to never waits for new
/// records instead. Nothing is stored on the broker: no group is joined and no offset committed.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Consume {
    /// The topic
    #[arg(long, short, value_name = "TOPIC")]
    topic: String,

    /// Only this partition; several with commas
    #[arg(long, short, value_name = "N", value_delimiter = ',')]
    partition: Vec<i32>,

    /// Where to begin: earliest, latest, an offset, -N for the last N, a time, or @ and milliseconds
    #[arg(long, value_name = "PLACE", default_value = "earliest", allow_hyphen_values = true)]
    from: From,

    /// Where to stop: end, never, or before an offset
    #[arg(long, value_name = "PLACE", default_value = "end", value_parser = stop)]
    to: Stop,

    /// Stop after so many records
    #[arg(long, short = 'n', value_name = "N")]
    count: Option<u64>,

    /// What a record looks like: a text with places such as {key} and {value}
    #[arg(long, value_name = "TEMPLATE", default_value = "{value}", value_parser = Template::parse)]
    format: Template,

    /// The text that stands for null
    #[arg(long, value_name = "TEXT", default_value = "")]
    null: String,

    /// Leave out records of transactions that are open or were aborted
    #[arg(long)]
    committed: bool,

    /// Leave out what cannot be read, with a line on stderr, instead of stopping there
    #[arg(long)]
    skip_corrupt: bool,

    /// Print JSON: a line for each record
    #[arg(long, conflicts_with_all = ["format", "null"])]
    json: bool,

    #[command(flatten)]
    network: Network,
}

impl Consume {
    pub(crate) fn run(self) -> Result {
        let mut printer = Printer {
            consume: &self,
            out: output::stdout(),
            left: self.count.unwrap_or(u64::MAX),
            printed: 0,
            progress: Progress::new(!std::io::stdout().is_terminal()),
        };
        let result = block_on(self.read(&mut printer));
        // Records that were read show even if the next could not be.
        printer.out.flush()?;
        result
    }

    async fn read(&self, printer: &mut Printer<'_>) -> Result {
        if printer.left == 0 {
            return Ok(());
        }
        let client = self.network.connect().await?;
        let partitions = partitions_of(&client, &self.topic, &self.partition).await?;
        if self.to == Stop::Never && partitions.len() > 1 {
            return self.read_side_by_side(&client, &partitions, printer).await;
        }
        // All ends are taken before the first record is printed, so that the whole is one moment's.
        let mut readers = Vec::new();
        for partition in partitions {
            readers.push((partition, self.reader(&client, partition, 1).await?));
        }
        for (partition, mut reader) in readers {
            while let Some(record) = printer.next(&mut reader).await? {
                if printer.print(partition, &record)? {
                    return Ok(());
                }
            }
            self.tell_skipped(&reader);
        }
        Ok(())
    }

    /// With no end each partition has to be waited for, and none may wait for another.
    async fn read_side_by_side(&self, client: &Client, partitions: &[i32], printer: &mut Printer<'_>) -> Result {
        let (sender, mut receiver) = channel(1024);
        for partition in partitions {
            let reader = self.reader(client, *partition, partitions.len()).await?;
            tokio::spawn(forward(*partition, reader, sender.clone()));
        }
        drop(sender);
        loop {
            let next = match receiver.try_recv() {
                Ok(next) => Some(next),
                Err(_) => {
                    printer.out.flush()?;
                    receiver.recv().await
                }
            };
            let Some(next) = next else { return Ok(()) };
            let (partition, record) = next?;
            if printer.print(partition, &record)? {
                return Ok(());
            }
        }
    }

    async fn reader(&self, client: &Client, partition: i32, side_by_side: usize) -> Result<RangeReader> {
        let fetch = FetchOptions {
            // Fetches of one connection wait for each other.
            max_wait: Duration::from_millis((500 / side_by_side.max(1) as u64).max(20)),
            isolation: if self.committed { Isolation::ReadCommitted } else { Isolation::ReadUncommitted },
            ..FetchOptions::default()
        };
        let start = self.from.start(client, &self.topic, partition).await?;
        let options = RangeOptions { fetch, skip_corrupt: self.skip_corrupt, ..RangeOptions::default() };
        Ok(client.fetch_range(&self.topic, partition, start, self.to, options).await?)
    }

    fn tell_skipped(&self, reader: &RangeReader) {
        for error in reader.skipped() {
            eprintln!("note: left out: {error}");
        }
    }
}

async fn forward(partition: i32, mut reader: RangeReader, sender: Sender<Result<(i32, Record)>>) {
    loop {
        let next = match reader.next().await {
            Ok(None) => return,
            Ok(Some(record)) => Ok((partition, record)),
            Err(error) => Err(Failure::from(error)),
        };
        let failed = next.is_err();
        if sender.send(next).await.is_err() || failed {
            return;
        }
    }
}

struct Printer<'a> {
    consume: &'a Consume,
    out: BufWriter<StdoutLock<'static>>,
    left: u64,
    printed: u64,
    progress: Progress,
}

impl Printer<'_> {
    /// The next record. What was printed leaves before anybody waits.
    async fn next(&mut self, reader: &mut RangeReader) -> Result<Option<Record>> {
        let mut next = pin!(reader.next());
        let ready = poll_fn(|context| Poll::Ready(next.as_mut().poll(context))).await;
        match ready {
            Poll::Ready(record) => Ok(record?),
            Poll::Pending => {
                self.out.flush()?;
                Ok(next.await?)
            }
        }
    }

    /// Prints a record. Says whether it was the last that is wanted.
    fn print(&mut self, partition: i32, record: &Record) -> Result<bool> {
        let consume = self.consume;
        match consume.json {
            true => writeln!(self.out, "{}", record::to_json(&consume.topic, partition, record))?,
            false => consume.format.write(&mut self.out, &consume.topic, partition, record, &consume.null)?,
        }
        self.left -= 1;
        self.printed += 1;
        self.progress.tell(self.printed, "records");
        Ok(self.left == 0)
    }
}
