use milena_schema::{MessageSpec, Spec};
use serde_json::{Map, Value, json};

use crate::example::{Example, Line, Role};
use crate::failure::{Failure, Result};
use crate::table::{Table, wrap_all};

/// Bytes in a line; more go below.
const HEX_BYTES: usize = 8;

/// An example in columns, in lines of at most `width` characters.
pub(super) fn text(message: &MessageSpec, version: i16, width: usize) -> Result<String> {
    let example = example(message, version)?;
    let columns = columns(&example);
    let fits = columns.lines().all(|line| line.chars().count() <= width);
    Ok(if fits { columns } else { narrow(&example, width) })
}

/// Each thing that can be said about bytes in a column of its own.
fn columns(example: &Example) -> String {
    let mut table = Table::new(&[">BYTES", "HEX", "FIELD", "TYPE", "VALUE"]);
    for line in &example.lines {
        let (range, name) = (range(line), name(line));
        let field = format!("{:1$}{name}", "", 2 * line.depth);
        let hex = example.hex(line);
        let mut chunks = hex.chunks(HEX_BYTES).map(|chunk| chunk.join(" "));
        table.row(vec![range, chunks.next().unwrap_or_default(), field, line.ty.clone(), line.value.clone()]);
        for chunk in chunks {
            table.row(vec![String::new(), chunk]);
        }
    }
    table.render()
}

/// Name, type and value in one column, one after the other and wrapped.
fn narrow(example: &Example, width: usize) -> String {
    let ranges = example.lines.iter().map(|line| range(line).len()).max().unwrap_or_default().max(5);
    let room = width.saturating_sub(ranges + 2 + 3 * HEX_BYTES + 1).max(20);
    let mut table = Table::new(&[">BYTES", "HEX", "FIELD, TYPE, VALUE"]);
    for line in &example.lines {
        let hex = example.hex(line);
        let chunks: Vec<String> = hex.chunks(HEX_BYTES).map(|chunk| chunk.join(" ")).collect();
        let value = if line.value.is_empty() { String::new() } else { format!(" = {}", line.value) };
        let said = format!("{} {}{value}", name(line), line.ty);
        let indent = 2 * line.depth;
        let texts = wrap_all(&said, room.saturating_sub(indent + 2).max(12));
        for index in 0..chunks.len().max(texts.len()) {
            let range = if index == 0 { range(line) } else { String::new() };
            let hex = chunks.get(index).cloned().unwrap_or_default();
            let more = if index == 0 { indent } else { indent + 2 };
            let text = texts.get(index).map_or(String::new(), |text| format!("{:more$}{text}", ""));
            table.row(vec![range, hex, text]);
        }
    }
    table.render()
}

fn range(line: &Line) -> String {
    match line.range.is_empty() {
        true => String::new(),
        false => format!("{}..{}", line.range.start, line.range.end),
    }
}

fn name(line: &Line) -> String {
    match line.role {
        Role::Frame => format!("({})", line.name),
        _ => line.name.clone(),
    }
}

/// An object with `message` and `version`, and what [`Example::to_json`] gives.
pub(super) fn to_json(message: &MessageSpec, version: i16) -> Result<Value> {
    let mut json = Map::new();
    json.insert("message".to_owned(), json!(message.name));
    json.insert("version".to_owned(), json!(version));
    if let Value::Object(example) = example(message, version)?.to_json() {
        json.extend(example);
    }
    Ok(Value::Object(json))
}

fn example(message: &MessageSpec, version: i16) -> Result<Example> {
    Example::of(Spec::kafka(), message, version).map_err(Failure::failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_fits_80_columns() {
        for message in &Spec::kafka().messages {
            let text = text(message, message.versions.max(), 80).unwrap();
            for line in text.lines() {
                assert!(line.chars().count() <= 80, "{}: {line}", message.name);
            }
        }
    }
}
