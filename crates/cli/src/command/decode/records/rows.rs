//! Records as rows.

use milena_inspect::record::control_json;
use milena_records::{Batch, RecordRef};
use serde_json::Value;

use crate::output::{line_width, short};
use crate::sheet::{Sheet, push_bytes, push_number, push_time};

/// Titles of the columns.
pub(in crate::command::decode) const TITLES: &[&str] = &[">OFFSET", "TIMESTAMP", "KEY", "VALUE", "HEADERS"];

/// Characters of a value that are shown.
#[derive(Clone, Copy)]
pub(in crate::command::decode) struct Widths {
    pub(in crate::command::decode) key: usize,
    pub(in crate::command::decode) value: usize,
}

impl Widths {
    /// As stdout wants it: values are cut to fit a terminal, and whole everywhere else.
    pub(in crate::command::decode) fn stdout() -> Self {
        match line_width() {
            Some(_) => Self { key: 30, value: 60 },
            None => Self { key: usize::MAX, value: usize::MAX },
        }
    }
}

/// Adds a record.
pub(in crate::command::decode) fn push(sheet: &mut Sheet, batch: &Batch, record: &RecordRef, widths: Widths) {
    sheet.cell(|cell| push_number(cell, record.offset));
    sheet.cell(|cell| push_time(cell, record.timestamp));
    if batch.is_control() {
        let (key, value) = control(&control_json(record), widths);
        sheet.text(&key);
        sheet.text(&value);
    } else {
        sheet.cell(|cell| push_bytes(cell, record.key, widths.key));
        sheet.cell(|cell| push_bytes(cell, record.value, widths.value));
    }
    sheet.cell(|cell| headers(cell, record, widths));
}

/// A control record: its type, and what comes with it.
fn control(control: &Value, widths: Widths) -> (String, String) {
    let name = control["type"].as_str().unwrap_or_default().to_owned();
    let rest = control.as_object().into_iter().flatten().filter(|(name, _)| *name != "type");
    let rest: Vec<String> = rest.map(|(name, value)| format!("{name}: {value}")).collect();
    (name, short(&rest.join(", "), widths.value.max(100)))
}

fn headers(cell: &mut Vec<u8>, record: &RecordRef, widths: Widths) {
    for (index, header) in record.headers().enumerate() {
        if index > 0 {
            cell.extend_from_slice(b", ");
        }
        let key = header.key_str();
        // A key that could be taken for what is between headers is quoted.
        let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "-_./".contains(c));
        let key = if plain { short(&key, widths.key) } else { short(&format!("{key:?}"), widths.key) };
        cell.extend_from_slice(key.as_bytes());
        cell.push(b'=');
        push_bytes(cell, header.value, widths.key);
    }
}
