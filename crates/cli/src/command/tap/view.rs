use std::io::{BufWriter, StdoutLock, Write as _};
use std::time::Duration;

use milena_records::{Batches, ReadOptions, Record};
use milena_tap::{Exchange, FactReader, Facts, RecordSet};
use serde_json::{Value, json};

use super::json;
use super::summary::Summary;
use crate::failure::Result;
use crate::output::{Paint, short, stdout};
use crate::record;

/// Topics in a line.
const TOPICS: usize = 3;
/// Characters of a key or value in a line.
const TEXT: usize = 60;
/// Records of one exchange that are shown.
const RECORDS: usize = 1000;

/// What goes to stdout.
pub(crate) struct View {
    out: BufWriter<StdoutLock<'static>>,
    paint: Paint,
    json: bool,
    records: bool,
    reader: FactReader,
    summary: Summary,
}

impl View {
    pub(crate) fn new(json: bool, records: bool) -> Self {
        Self {
            out: stdout(),
            paint: Paint::stdout(),
            json,
            records,
            reader: FactReader::default(),
            summary: Summary::default(),
        }
    }

    pub(crate) fn facts(&mut self, exchange: &Exchange) -> Facts {
        let facts = self.reader.read(exchange);
        self.summary.count(exchange, &facts);
        facts
    }

    pub(crate) fn show(&mut self, exchange: &Exchange, facts: &Facts) -> Result {
        let sets = if self.records { self.reader.records(exchange) } else { Vec::new() };
        if self.json {
            let records = sets.iter().flat_map(records).take(RECORDS).map(|record| match record {
                Ok((topic, partition, record)) => record::to_json(topic, partition, &record),
                Err(why) => json!({ "unreadable": why }),
            });
            let json = json::exchange(exchange, facts, records.collect());
            return self.print_json(&json);
        }
        let line = line(self.paint, exchange, facts);
        writeln!(self.out, "{line}")?;
        for found in sets.iter().flat_map(records).take(RECORDS) {
            match found {
                Ok((topic, partition, record)) => writeln!(
                    self.out,
                    "              {topic}-{partition} {}  {} = {}",
                    record.offset,
                    text(record.key.as_deref()),
                    text(record.value.as_deref()),
                )?,
                Err(why) => writeln!(self.out, "              {why}")?,
            }
        }
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> Result {
        Ok(self.out.flush()?)
    }

    /// The end.
    pub(crate) fn summary(mut self, skipped: u64) -> Result {
        if self.json {
            let json = self.summary.to_json(skipped);
            self.print_json(&json)?;
        } else if !self.summary.is_empty() {
            write!(self.out, "\n{}", self.summary.render())?;
            if skipped > 0 {
                writeln!(self.out, "\n{skipped} exchanges more passed too fast to be shown and counted.")?;
            }
        }
        self.flush()
    }

    fn print_json(&mut self, json: &Value) -> Result {
        serde_json::to_writer(&mut self.out, json)?;
        self.out.write_all(b"\n")?;
        Ok(())
    }
}

fn line(paint: Paint, exchange: &Exchange, facts: &Facts) -> String {
    let time = milena_inspect::time::format(exchange.time);
    let api = match exchange.api {
        None => "SASL token".to_owned(),
        Some(api) if api.name().is_some() => format!("{api} v{}", exchange.version),
        Some(api) => format!("key {} v{}", api.0, exchange.version),
    };
    let client = short(exchange.client_id.as_deref().unwrap_or("-"), 16);
    let answer = exchange.response.as_ref().map_or("-".to_owned(), |response| (response.len() + 4).to_string());
    let latency = exchange.latency.map_or_else(String::new, latency);
    let mut line = format!(
        "{}  #{:<3} {client:<16}  {api:<24} {:>8} > {answer:>8} B {latency:>9}",
        time.get(11..23).unwrap_or(&time),
        exchange.connection,
        exchange.request.len() + 4,
    );
    if !facts.topics.is_empty() {
        let names = facts.topics.iter().take(TOPICS).map(|topic| short(topic, 40)).collect::<Vec<_>>().join(" ");
        line += &format!("  {names}");
        if facts.topics.len() > TOPICS {
            line += &format!(" and {} more", facts.topics.len() - TOPICS);
        }
    }
    for code in &facts.errors {
        line += &format!("  {}", paint.bold(&code.to_string()));
    }
    if !facts.whole {
        line += &format!("  {}", paint.dim("(not read to its end)"));
    }
    if let Some(fault) = &exchange.fault {
        line += &format!("  {}", paint.color(Paint::CYAN, &format!("[{fault}]")));
    }
    line
}

fn latency(time: Duration) -> String {
    format!("{:.2} ms", json::millis(time))
}

type Found<'a> = std::result::Result<(&'a str, i32, Record), String>;

fn records(set: &RecordSet) -> impl Iterator<Item = Found<'_>> {
    let batches = Batches::with_options(set.bytes.clone(), ReadOptions::tolerant());
    batches.flat_map(|batch| -> Vec<Found<'_>> {
        match batch {
            Err(error) => vec![Err(error.to_string())],
            Ok(batch) => batch
                .records()
                .take(RECORDS)
                .map(|record| match record {
                    Ok(record) => Ok((set.topic.as_str(), set.partition, record.to_owned())),
                    Err(error) => Err(error.to_string()),
                })
                .collect(),
        }
    })
}

fn text(bytes: Option<&[u8]>) -> String {
    match bytes.map(|bytes| (bytes, std::str::from_utf8(bytes))) {
        None => "null".to_owned(),
        Some((_, Ok(text))) => short(text, TEXT),
        Some((bytes, Err(_))) => short(&crate::output::hex(&bytes[..bytes.len().min(TEXT)]), TEXT),
    }
}
