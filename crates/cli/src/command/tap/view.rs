use std::io::{BufWriter, StdoutLock, Write as _};

use milena_inspect::conversation::{Exchange, FactReader, Facts};

use super::summary::Summary;
use crate::exchange;
use crate::failure::Result;
use crate::output::{Paint, stdout};

/// What goes to stdout.
pub(crate) struct View {
    out: BufWriter<StdoutLock<'static>>,
    paint: Paint,
    json: bool,
    records: bool,
    /// The title was written.
    titled: bool,
    reader: FactReader,
    summary: Summary,
    /// Memory for a line of JSON.
    text: Vec<u8>,
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
            text: Vec::new(),
        }
    }

    pub(crate) fn facts(&mut self, exchange: &Exchange) -> Facts {
        let facts = self.reader.read(exchange);
        self.summary.count(exchange, &facts);
        facts
    }

    pub(crate) fn show(&mut self, exchange: &Exchange, facts: &Facts) -> Result {
        let sets = self.records.then(|| self.reader.records(exchange));
        if self.json {
            self.text.clear();
            exchange::write_json(exchange, facts, sets.as_deref(), &mut self.text);
            self.text.push(b'\n');
            return Ok(self.out.write_all(&self.text)?);
        }
        if !std::mem::replace(&mut self.titled, true) {
            writeln!(self.out, "{}", exchange::title(self.paint))?;
        }
        let lines = exchange::lines(exchange, facts, sets.as_deref().unwrap_or_default(), self.paint);
        Ok(self.out.write_all(lines.as_bytes())?)
    }

    pub(crate) fn flush(&mut self) -> Result {
        Ok(self.out.flush()?)
    }

    /// The end.
    pub(crate) fn summary(mut self, skipped: u64) -> Result {
        if self.json {
            serde_json::to_writer(&mut self.out, &self.summary.to_json(skipped))?;
            self.out.write_all(b"\n")?;
        } else if !self.summary.is_empty() {
            write!(self.out, "\n{}", self.summary.render())?;
            if skipped > 0 {
                writeln!(self.out, "\n{skipped} exchanges more passed too fast to be shown and counted.")?;
            }
        }
        self.flush()
    }
}
