use milena_schema::{MessageSpec, Spec};
use serde_json::{Map, Value, json};

use crate::example::{Example, Role};
use crate::failure::{Failure, Result};
use crate::table::Table;

/// Bytes in a line; more go below.
const HEX_BYTES: usize = 8;

/// An example in columns.
pub(super) fn text(message: &MessageSpec, version: i16) -> Result<String> {
    let example = example(message, version)?;
    let mut table = Table::new(&[">BYTES", "HEX", "FIELD", "TYPE", "VALUE"]);
    for line in &example.lines {
        let range = match line.range.is_empty() {
            true => String::new(),
            false => format!("{}..{}", line.range.start, line.range.end),
        };
        let name = match line.role {
            Role::Frame => format!("({})", line.name),
            _ => line.name.clone(),
        };
        let field = format!("{:1$}{name}", "", 2 * line.depth);
        let hex = example.hex(line);
        let mut chunks = hex.chunks(HEX_BYTES).map(|chunk| chunk.join(" "));
        table.row(vec![range, chunks.next().unwrap_or_default(), field, line.ty.clone(), line.value.clone()]);
        for chunk in chunks {
            table.row(vec![String::new(), chunk]);
        }
    }
    Ok(table.render())
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
