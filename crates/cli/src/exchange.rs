//! Exchanges and their records, in lines and as JSON: the same whether they pass a tap or were captured.

use milena_inspect::conversation::{Exchange, Facts, Line, LinePart, RecordSet};
use milena_records::{Batches, ReadOptions, Record};
use serde_json::{Value, json};

use crate::output::{Paint, hex, line_width, short};
use crate::record;

/// Characters of a key or value that are shown on a terminal.
const WIDTH: usize = 60;

/// Records of one exchange that are shown.
const RECORDS: usize = 1000;

/// The title of the lines.
pub(crate) fn title(paint: Paint) -> String {
    paint.bold(&Line::title())
}

/// An exchange, and below it its records.
pub(crate) fn lines(exchange: &Exchange, facts: &Facts, sets: &[RecordSet], paint: Paint) -> String {
    let mut text = Line::new(exchange, facts).render(line_width(), |part, text| match part {
        LinePart::Errors => paint.bold(text),
        LinePart::Notes => paint.color(Paint::CYAN, text),
        _ => text.to_owned(),
    });
    text.push('\n');
    for found in sets.iter().flat_map(records).take(RECORDS) {
        text.push_str(&match found {
            Ok((topic, partition, Record { offset, key, value, .. })) => {
                record_line(topic, partition, offset, key.as_deref(), value.as_deref())
            }
            Err(why) => below(&format!("({why})")),
        });
        text.push('\n');
    }
    text
}

/// Writes an exchange as [`Exchange::write_json`] does, with its records in `records` when there are sets of them.
pub(crate) fn write_json(exchange: &Exchange, facts: &Facts, sets: Option<&[RecordSet]>, out: &mut Vec<u8>) {
    exchange.write_json(facts, out);
    let Some(sets) = sets else { return };
    let records = sets.iter().flat_map(records).take(RECORDS).map(|record| match record {
        Ok((topic, partition, record)) => record::to_json(topic, partition, &record),
        Err(why) => json!({ "error": why }),
    });
    // One more member of the object.
    out.pop();
    out.extend_from_slice(b",\"records\":");
    out.extend_from_slice(records.collect::<Value>().to_string().as_bytes());
    out.push(b'}');
}

type Found<'a> = Result<(&'a str, i32, Record), String>;

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

fn record_line(topic: &str, partition: i32, offset: i64, key: Option<&[u8]>, value: Option<&[u8]>) -> String {
    below(&format!("{}-{partition} @ {offset}  {} = {}", fit(topic), text(key), text(value)))
}

/// Something below an exchange.
fn below(text: &str) -> String {
    // Where the client stands.
    format!("{:18}{text}", "")
}

fn text(bytes: Option<&[u8]>) -> String {
    match bytes.map(|bytes| std::str::from_utf8(bytes).map_err(|_| bytes)) {
        None => "null".to_owned(),
        Some(Ok(text)) => format!("{:?}", fit(text)),
        Some(Err(bytes)) => format!("0x{}", fit(&hex(bytes))),
    }
}

/// Text as it fits into a terminal; whole where there is none.
fn fit(text: &str) -> String {
    short(text, if line_width().is_some() { WIDTH } else { usize::MAX })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_an_empty_text_and_bytes_differ() {
        let line = record_line("letters", 3, 17, None, Some(b""));
        assert_eq!(line.trim_start(), "letters-3 @ 17  null = \"\"");
        let line = record_line("letters", 3, 17, Some(b"null"), Some(&[0xff, 0x00]));
        assert_eq!(line.trim_start(), "letters-3 @ 17  \"null\" = 0xff00");
    }
}
