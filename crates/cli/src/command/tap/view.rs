use milena_inspect::conversation::{Exchange, FactReader, Facts};

use super::summary::Summary;
use crate::exchange;
use crate::failure::Result;
use crate::output::Paint;

/// Makes the text for stdout.
pub(crate) struct View {
    paint: Paint,
    json: bool,
    records: bool,
    /// The title was written.
    titled: bool,
    reader: FactReader,
    summary: Summary,
}

impl View {
    pub(crate) fn new(json: bool, records: bool) -> Self {
        Self {
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

    /// The lines of an exchange.
    pub(crate) fn show(&mut self, exchange: &Exchange, facts: &Facts) -> Vec<u8> {
        let sets = self.records.then(|| self.reader.records(exchange));
        let mut text = Vec::new();
        if self.json {
            exchange::write_json(exchange, facts, sets.as_deref(), &mut text);
            text.push(b'\n');
            return text;
        }
        if !std::mem::replace(&mut self.titled, true) {
            text.extend(exchange::title(self.paint).bytes());
            text.push(b'\n');
        }
        text.extend(exchange::lines(exchange, facts, sets.as_deref().unwrap_or_default(), self.paint).bytes());
        text
    }

    /// The summary. `unshown` exchanges were not looked at, or not printed.
    pub(crate) fn summary(self, unshown: u64) -> Result<Vec<u8>> {
        let mut text = Vec::new();
        if self.json {
            serde_json::to_writer(&mut text, &self.summary.to_json(unshown))?;
            text.push(b'\n');
        } else if !self.summary.is_empty() {
            text.extend(format!("\n{}", self.summary.render()).bytes());
            if unshown > 0 {
                text.extend(format!("\n{unshown} more exchanges passed too fast to be shown and counted.\n").bytes());
            }
        }
        Ok(text)
    }
}
