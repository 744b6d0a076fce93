use std::io::{BufWriter, StdoutLock, Write as _};

use milena_inspect::conversation::Line;
use milena_records::{Batches, ReadOptions, Record};
use milena_tap::{Exchange, FactReader, Facts, RecordSet};
use serde_json::{Value, json};

use super::json;
use super::summary::Summary;
use crate::exchange;
use crate::failure::Result;
use crate::output::{Paint, stdout};
use crate::record;

/// Records of one exchange that are shown.
const RECORDS: usize = 1000;

/// What goes to stdout.
pub(crate) struct View {
    out: BufWriter<StdoutLock<'static>>,
    paint: Paint,
    json: bool,
    records: bool,
    /// The title stands above.
    titled: bool,
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
            titled: false,
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
        if !std::mem::replace(&mut self.titled, true) {
            writeln!(self.out, "{}", exchange::title(self.paint))?;
        }
        writeln!(self.out, "{}", exchange::line(&line(exchange, facts), self.paint))?;
        for found in sets.iter().flat_map(records).take(RECORDS) {
            let line = match found {
                Ok((topic, partition, Record { offset, key, value, .. })) => {
                    exchange::record(topic, partition, offset, key.as_deref(), value.as_deref())
                }
                Err(why) => exchange::below(&why),
            };
            writeln!(self.out, "{line}")?;
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

fn line(exchange: &Exchange, facts: &Facts) -> Line {
    let mut notes = Vec::new();
    if exchange.api.is_none() {
        notes.push("a token of SASL".to_owned());
    }
    if !facts.whole {
        notes.push("not read to its end".to_owned());
    }
    notes.extend(exchange.fault.map(|fault| format!("fault: {fault}")));
    Line {
        time: exchange.time,
        connection: exchange.connection,
        client_id: exchange.client_id.as_ref().map(ToString::to_string),
        api: exchange.api.map(|api| (api, exchange.version)),
        sent: Some(exchange.request.len() + 4),
        received: exchange.response.as_ref().map(|response| response.len() + 4),
        latency: exchange.latency,
        topics: facts.topics.clone(),
        errors: facts.errors.clone(),
        notes,
    }
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
