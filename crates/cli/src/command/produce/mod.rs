mod batch;
mod partitioner;
mod report;
mod source;
mod writer;

use std::time::Duration;

use clap::{Args, ValueEnum};
use milena_client::{ClientConfig, Codec, Header};

use super::topic::{Numbers, Partitions, TopicName, numbers};
use crate::escape::unescape;
use crate::failure::Result;
use crate::network::{Network, block_on, duration};
use source::LineFormat;
use writer::Writer;

const EXAMPLES: &str = r#"Examples:
  echo 'Dear Milena' | milena produce letters
  milena produce letters --key-separator '\t' --codec zstd < letters.tsv
  milena produce letters --input json < records.jsonl
  milena consume letters --json | milena produce copies --input json --repartition

Each line is a record: its value, or with --key-separator a key and a value. With --input json each
line is an object, and key and value are null where they are missing:
  {"key": "k", "value": "v", "headers": [{"key": "h", "value": "1"}], "timestamp": 1714564800000}
Bytes that are not text are in keyBase64 and valueBase64. Null and empty differ: an empty line is
an empty value, and --null '' or a JSON null makes it null. Without a timestamp in its line a record
gets the time of this machine; a timestamp of null means that the record has none.

A line that is refused is reported on stderr with its number; the other lines are written, and the
exit code is 1. If a partition cannot be written to in time, milena stops and says which lines were
not written. Lines that may have been written, because a broker did not respond, are named too."#;

/// Write records to a topic, one for each line of stdin
///
/// Collects lines into batches, and sends a batch when it is full or its first record has waited long enough. Records with
/// a key go to the partition that Kafka's own producer would choose; the others go, one batch at a time, to each partition
/// that has a leader. Reports on stderr how many records were written.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Produce {
    #[command(flatten)]
    topic: TopicName,

    /// Only to these partitions: numbers and ranges, such as 0,4-7
    #[arg(long, short, value_name = "N", value_delimiter = ',', value_parser = numbers, allow_hyphen_values = true)]
    partition: Vec<Numbers>,

    /// Choose partitions by key, also for JSON lines that name one
    #[arg(long)]
    repartition: bool,

    /// Format of the lines
    #[arg(long, short, value_name = "FORMAT", default_value = "lines")]
    input: LineFormat,

    /// Text between the key and the value of a line, with escapes such as \t; a line without it has no key
    #[arg(long, short, value_name = "TEXT", value_parser = separator, allow_hyphen_values = true)]
    key_separator: Option<Separator>,

    /// Text that stands for null, as a key or as a value
    #[arg(long, value_name = "TEXT")]
    null: Option<String>,

    /// Remove a carriage return at the end of each line
    #[arg(long)]
    crlf: bool,

    /// A header for every record; may be given several times
    #[arg(long, short = 'H', value_name = "KEY=VALUE", value_parser = header)]
    header: Vec<Header>,

    /// Compression of batches: none, gzip, snappy, lz4 or zstd
    #[arg(long, value_name = "CODEC", default_value = "none")]
    codec: Codec,

    /// Which replicas must have a batch before it counts as written
    #[arg(long, value_name = "WHICH", default_value = "all")]
    acks: Confirm,

    /// Send a batch again that may have been written already, so that its records may be there twice
    #[arg(long)]
    resend: bool,

    /// Most records in a batch
    #[arg(long, value_name = "N", default_value_t = 1000, allow_negative_numbers = true)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    batch: u32,

    /// Longest wait for a batch to become full
    #[arg(long, value_name = "TIME", default_value = "50ms", value_parser = duration)]
    linger: Duration,

    /// Print JSON: one line for each batch that was written
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    network: Network,
}

/// Which replicas confirm a batch.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Confirm {
    /// None; losses are not noticed
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

/// Bytes between key and value; a type of its own, because clap takes `Vec` for several values.
#[derive(Clone, Debug)]
struct Separator(Vec<u8>);

fn separator(text: &str) -> std::result::Result<Separator, String> {
    let bytes = unescape(text)?;
    match bytes.as_slice() {
        [] => Err("without text there is nothing to look for".to_owned()),
        bytes if bytes.contains(&b'\n') => Err("a line feed ends a line, so no line contains one".to_owned()),
        _ => Ok(Separator(bytes)),
    }
}

impl Produce {
    pub(crate) fn run(self) -> Result {
        block_on(async {
            let configure = |config: &mut ClientConfig| {
                config.resend_unanswered = self.resend;
                // Records get a time when their line is read, and some are to have none.
                config.stamp_records = false;
            };
            let client = self.network.connect_with(configure).await?;
            let partitions = Partitions::look_up(&client, self.topic.as_str(), &self.partition).await?;
            Writer::new(&self, client, partitions).run().await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_separator_has_escapes_and_can_be_found() {
        assert_eq!(separator(r"\t").unwrap().0, b"\t");
        assert_eq!(separator(r"\x1f=").unwrap().0, b"\x1f=");
        for wrong in ["", r"\n", r"\", r"\d"] {
            assert!(separator(wrong).is_err(), "{wrong}");
        }
    }
}
