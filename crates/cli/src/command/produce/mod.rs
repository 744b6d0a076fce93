mod partitioner;
mod source;

use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use clap::{Args, ValueEnum};
use milena_client::{Acks, Client, Codec, Header, Record};
use serde_json::json;
use tokio::time::{Instant, timeout_at};

use super::position::partitions_of;
use crate::failure::{Failure, Result};
use crate::network::{Network, block_on, duration};
use crate::output::{self, Progress};
use partitioner::Partitioner;
use source::{LineFormat, Reading};

const EXAMPLES: &str = r#"Examples:
  echo 'Dear Milena' | milena produce --topic letters
  milena produce --topic letters --key-separator : --codec zstd < letters.txt
  milena produce --topic letters --input json < records.jsonl
  milena consume --topic letters --json | milena produce --topic copies --input json

A line is a record: its value, or with --key-separator a key and a value. With --input json a line
is an object, and what it leaves out is null:
  {"key": "k", "value": "v", "headers": [{"key": "h", "value": "1"}], "timestamp": 1714564800000}
Bytes that are no text stand in keyBase64 and valueBase64. Null and empty differ: an empty line is
an empty value, and --null '' or a JSON null makes it null."#;

/// Write records to a topic, one for each line of stdin
///
/// Lines are collected into batches, and a batch leaves when it is full or its first record has waited long enough. Records
/// with a key go to the partition that Kafka's own producer would choose, others a batch at a time to each partition in
/// turn. How many were written is said on stderr.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Produce {
    /// The topic
    #[arg(long, short, value_name = "TOPIC")]
    topic: String,

    /// Only this partition; several with commas
    #[arg(long, short, value_name = "N", value_delimiter = ',')]
    partition: Vec<i32>,

    /// What lines are
    #[arg(long, short, value_name = "FORMAT", default_value = "lines")]
    input: LineFormat,

    /// What stands between key and value of a line; a line without it has no key
    #[arg(long, short, value_name = "TEXT")]
    key_separator: Option<String>,

    /// The text that stands for null, as a key or as a value
    #[arg(long, value_name = "TEXT")]
    null: Option<String>,

    /// A header for every record; may be given several times
    #[arg(long, short = 'H', value_name = "KEY=VALUE", value_parser = header)]
    header: Vec<Header>,

    /// How batches are compressed: none, gzip, snappy, lz4 or zstd
    #[arg(long, value_name = "CODEC", default_value = "none")]
    codec: Codec,

    /// Who has to have a batch before it counts as written
    #[arg(long, value_name = "WHO", default_value = "all")]
    acks: Confirm,

    /// Most records of a batch
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,

    /// Longest wait for a batch to become full
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = duration)]
    linger: Duration,

    /// Print JSON: a line for each batch that was written
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    network: Network,
}

/// Who confirms.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Confirm {
    /// Nobody; losses do not show
    #[value(name = "0", alias = "none")]
    None,
    /// The leader of the partition
    #[value(name = "1", alias = "leader")]
    Leader,
    /// All replicas in sync
    #[value(name = "all", alias = "-1")]
    All,
}

fn header(text: &str) -> std::result::Result<Header, String> {
    let (key, value) = text.split_once('=').ok_or("a header is KEY=VALUE")?;
    Ok(Header::new(key.to_owned(), value.to_owned()))
}

/// Bytes after which a batch is full whatever its records: brokers take a little over a megabyte.
const BATCH_BYTES: usize = 512 * 1024;

impl Produce {
    pub(crate) fn run(self) -> Result {
        block_on(async {
            let client = self.network.connect().await?;
            let all = partitions_of(&client, &self.topic, &[]).await?;
            let partitions = partitions_of(&client, &self.topic, &self.partition).await?;
            let mut writer = Writer {
                produce: &self,
                client,
                all,
                partitioner: Partitioner::new(partitions),
                batches: BTreeMap::new(),
                records: 0,
                bytes: 0,
                written: 0,
                progress: Progress::new(!std::io::stdin().is_terminal()),
            };
            let result = writer.copy().await;
            drop(std::mem::replace(&mut writer.progress, Progress::new(false)));
            if writer.written > 0 || result.is_ok() {
                eprintln!("{}", writer.summary());
            }
            result
        })
    }
}

struct Writer<'a> {
    produce: &'a Produce,
    client: Client,
    all: Vec<i32>,
    partitioner: Partitioner,
    /// What is collected, by partition.
    batches: BTreeMap<i32, Vec<Record>>,
    records: u32,
    bytes: usize,
    written: usize,
    progress: Progress,
}

impl Writer<'_> {
    async fn copy(&mut self) -> Result {
        let reading = Reading {
            format: self.produce.input,
            key_separator: self.produce.key_separator.clone(),
            null: self.produce.null.clone(),
            headers: self.produce.header.clone(),
        };
        let mut lines = source::lines();
        let mut number = 0_u64;
        let mut due = None;
        loop {
            let line = match due {
                None => lines.recv().await,
                Some(due) => match timeout_at(due, lines.recv()).await {
                    Ok(line) => line,
                    Err(_) => {
                        self.flush().await?;
                        lines.recv().await
                    }
                },
            };
            let Some(line) = line else { break };
            let line = line?;
            number += 1;
            if self.produce.input == LineFormat::Json && line.trim_ascii().is_empty() {
                continue;
            }
            let added = reading.record(&line).and_then(|(record, partition)| self.add(record, partition));
            if let Err(what) = added {
                // What came before is good.
                self.flush().await?;
                return Err(Failure::failed(format!("line {number}: {what}")));
            }
            if self.records >= self.produce.batch || self.bytes >= BATCH_BYTES {
                self.flush().await?;
            }
            due = match self.records {
                0 => None,
                1 => Some(Instant::now() + self.produce.linger),
                _ => due,
            };
        }
        self.flush().await
    }

    fn add(&mut self, record: Record, named: Option<i32>) -> std::result::Result<(), String> {
        let partition = match named {
            // An option says more than a line that was written somewhere else.
            Some(partition) if self.produce.partition.is_empty() => partition,
            _ => self.partitioner.partition(&record),
        };
        if !self.all.contains(&partition) {
            let count = self.all.len();
            return Err(format!("{} has no partition {partition}, it has {count}", self.produce.topic));
        }
        let headers =
            record.headers.iter().map(|header| header.key.len() + header.value.as_ref().map_or(0, |v| v.len()));
        let data = [&record.key, &record.value].into_iter().flatten().map(|bytes| bytes.len());
        self.bytes += 16 + data.chain(headers).sum::<usize>();
        self.records += 1;
        self.batches.entry(partition).or_default().push(record);
        Ok(())
    }

    async fn flush(&mut self) -> Result {
        (self.records, self.bytes) = (0, 0);
        self.partitioner.turn();
        let acks = match self.produce.acks {
            Confirm::None => Acks::None,
            Confirm::Leader => Acks::Leader,
            Confirm::All => Acks::All,
        };
        let topic = &self.produce.topic;
        for (partition, records) in std::mem::take(&mut self.batches) {
            let count = records.len();
            let outcome = self.client.produce(topic, partition, acks, self.produce.codec, records).await?;
            self.written += count;
            self.progress.tell(self.written as u64, "records");
            if self.produce.json {
                let json = json!({
                    "topic": topic,
                    "partition": partition,
                    "baseOffset": outcome.base_offset,
                    "records": count,
                });
                let mut out = output::stdout();
                writeln!(out, "{json}")?;
                out.flush()?;
            }
        }
        Ok(())
    }

    fn summary(&self) -> String {
        let records = if self.written == 1 { "record" } else { "records" };
        let sent = if matches!(self.produce.acks, Confirm::None) { "sent" } else { "wrote" };
        format!("{sent} {} {records} to {}", self.written, self.produce.topic)
    }
}
