use std::collections::BTreeMap;
use std::io::{IsTerminal as _, Write as _};

use bytes::Bytes;
use milena_client::{Acks, Client, Record};
use serde_json::json;
use tokio::sync::mpsc::Receiver;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::batch::{Batch, Destination, Sent, size};
use super::partitioner::Partitioner;
use super::report::Report;
use super::source::{self, Input, LineFormat, Reading};
use super::{Confirm, Produce};
use crate::command::topic::Partitions;
use crate::failure::{Failure, Result};
use crate::output::{self, Progress};

/// Bytes after which a batch is full whatever its records: brokers take a little over a megabyte unless configured
/// otherwise.
const BATCH_BYTES: usize = 512 * 1024;

/// Collects records into batches and writes them.
pub(super) struct Writer<'a> {
    produce: &'a Produce,
    client: Client,
    all: Vec<i32>,
    partitioner: Partitioner,
    /// What is collected, by partition.
    batches: BTreeMap<i32, Batch>,
    records: u32,
    bytes: usize,
    /// When what is collected has waited long enough.
    due: Option<Instant>,
    lines: u64,
    written: u64,
    report: Report,
    progress: Progress,
}

impl<'a> Writer<'a> {
    pub(super) fn new(produce: &'a Produce, client: Client, partitions: Partitions) -> Self {
        Self {
            produce,
            client,
            all: partitions.all,
            partitioner: Partitioner::new(partitions.wanted, &partitions.leaderless),
            batches: BTreeMap::new(),
            records: 0,
            bytes: 0,
            due: None,
            lines: 0,
            written: 0,
            report: Report::default(),
            progress: Progress::new(!std::io::stdin().is_terminal()),
        }
    }

    /// Writes all of stdin, and says how much that was.
    pub(super) async fn run(mut self) -> Result {
        let copied = self.copy().await;
        drop(std::mem::replace(&mut self.progress, Progress::new(false)));
        if self.written > 0 || copied.is_ok() {
            eprintln!("{}", self.summary());
        }
        match self.report.failure(self.lines, *copied.as_ref().unwrap_or(&true)) {
            None => copied.map(drop),
            Some(failure) => {
                if let Err(error) = copied {
                    error.report();
                }
                Err(failure)
            }
        }
    }

    /// Whether all lines were read.
    async fn copy(&mut self) -> Result<bool> {
        let reading = Reading {
            format: self.produce.input,
            key_separator: self.produce.key_separator.as_ref().map(|separator| separator.0.clone()),
            null: self.produce.null.clone(),
            crlf: self.produce.crlf,
            headers: self.produce.header.clone(),
        };
        let mut inputs = source::inputs();
        loop {
            let input = self.input(&mut inputs).await?;
            if !self.report.goes_on() {
                return Ok(false);
            }
            let block = match input {
                None => break,
                Some(Input::Lines(block)) => block,
                Some(Input::LongLine) => {
                    self.lines += 1;
                    self.report.bad_line(self.lines, source::TOO_LONG);
                    continue;
                }
                Some(Input::Failed(error)) => {
                    // What came before is good.
                    self.flush().await?;
                    return Err(Failure::failed(format!("cannot read stdin after line {}: {error}", self.lines)));
                }
            };
            for line in source::lines(block) {
                self.line(&reading, &line).await?;
                if !self.report.goes_on() {
                    return Ok(false);
                }
            }
        }
        self.flush().await?;
        Ok(true)
    }

    /// The next part of stdin, or `None` at the end. What is collected is written when it has waited long enough.
    async fn input(&mut self, inputs: &mut Receiver<Input>) -> Result<Option<Input>> {
        if let Some(due) = self.due {
            match timeout_at(due, inputs.recv()).await {
                Ok(input) => return Ok(input),
                Err(_) => self.flush().await?,
            }
        }
        Ok(inputs.recv().await)
    }

    async fn line(&mut self, reading: &Reading, line: &Bytes) -> Result {
        self.lines += 1;
        if self.produce.input == LineFormat::Json && line.trim_ascii().is_empty() {
            return Ok(());
        }
        let placed = reading.record(line).and_then(|(record, partition)| {
            let partition = self.partition(&record, partition)?;
            Ok((record, partition))
        });
        let (record, partition) = match placed {
            Ok(placed) => placed,
            Err(what) => {
                self.report.bad_line(self.lines, &what);
                return Ok(());
            }
        };
        if self.records > 0 && self.bytes + size(&record) > BATCH_BYTES {
            self.flush().await?;
            if !self.report.goes_on() {
                // This line was not touched.
                self.lines -= 1;
                return Ok(());
            }
        }
        self.bytes += size(&record);
        self.records += 1;
        self.due.get_or_insert_with(|| Instant::now() + self.produce.linger);
        self.batches.entry(partition).or_default().push(self.lines, record);
        if self.records >= self.produce.batch || self.bytes >= BATCH_BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    fn partition(&self, record: &Record, named: Option<i32>) -> std::result::Result<i32, String> {
        match named {
            // Options decide over a line that was read somewhere else.
            Some(partition) if self.produce.partition.is_empty() && !self.produce.repartition => {
                if self.all.contains(&partition) {
                    return Ok(partition);
                }
                let (topic, count) = (self.produce.topic.as_str(), self.all.len());
                Err(format!(
                    "{topic} has no partition {partition}, it has {count}; --repartition chooses partitions by key instead"
                ))
            }
            _ => Ok(self.partitioner.partition(record)),
        }
    }

    /// Writes what is collected, to all partitions at the same time.
    async fn flush(&mut self) -> Result {
        (self.records, self.bytes, self.due) = (0, 0, None);
        self.partitioner.turn();
        let mut sending = JoinSet::new();
        for (partition, batch) in std::mem::take(&mut self.batches) {
            let destination = self.destination(partition);
            sending.spawn(async move { destination.send(batch).await });
        }
        let mut all = Vec::new();
        while let Some(sent) = sending.join_next().await {
            all.push(sent.map_err(Failure::failed)?);
        }
        all.sort_by_key(|sent| sent.partition);
        let failed = all.iter().any(|sent| !sent.lost.is_empty());
        for sent in all {
            self.sent(sent)?;
        }
        if failed && self.report.goes_on() {
            self.look_for_leaders().await;
        }
        Ok(())
    }

    fn destination(&self, partition: i32) -> Destination {
        let acks = match self.produce.acks {
            Confirm::None => Acks::None,
            Confirm::Leader => Acks::Leader,
            Confirm::All => Acks::All,
        };
        let (client, topic) = (self.client.clone(), self.produce.topic.as_str().to_owned());
        Destination { client, topic, partition, acks, codec: self.produce.codec }
    }

    fn sent(&mut self, sent: Sent) -> Result {
        let topic = self.produce.topic.as_str();
        for written in &sent.written {
            self.written += written.records as u64;
            if self.produce.json {
                let json = json!({
                    "topic": topic,
                    "partition": sent.partition,
                    "baseOffset": written.base_offset,
                    "records": written.records,
                });
                let mut out = output::stdout();
                writeln!(out, "{json}")?;
                out.flush()?;
            }
        }
        self.progress.show(self.written, "records");
        for lost in sent.lost {
            self.report.lost(topic, sent.partition, lost);
        }
        Ok(())
    }

    /// After a failure another broker may lead, or none.
    async fn look_for_leaders(&mut self) {
        // A failure here shows again when the next batch is written.
        let Ok(cluster) = self.client.metadata(Some(&[self.produce.topic.as_str()])).await else { return };
        if let Some(topic) = cluster.topic(self.produce.topic.as_str()) {
            let leaderless = topic.partitions.iter().filter(|partition| partition.leader.is_none());
            self.partitioner.set_leaderless(&leaderless.map(|partition| partition.index).collect::<Vec<_>>());
        }
    }

    fn summary(&self) -> String {
        let records = if self.written == 1 { "record" } else { "records" };
        let sent = if matches!(self.produce.acks, Confirm::None) { "sent" } else { "wrote" };
        format!("{sent} {} {records} to {}", self.written, self.produce.topic.as_str())
    }
}
