//! Fields beside their bytes, in columns.

use std::ops::Range;

use milena_inspect::Part;
use milena_schema::{Note, NoteContent};

use crate::output::{Paint, size};
use crate::table::Table;
use crate::value::value;

/// Bytes that are shown before the rest is left out.
const HEX_BYTES: usize = 8;

/// One line.
#[derive(Default)]
pub(super) struct Row {
    pub(super) range: String,
    pub(super) hex: String,
    pub(super) field: String,
    pub(super) ty: String,
    pub(super) value: String,
}

impl Row {
    /// A number that stands in front of a message, in so many bytes.
    pub(super) fn number(start: usize, name: &str, number: i64, bytes: usize) -> Self {
        Self {
            range: format!("{start}..{}", start + bytes),
            hex: hex(number.to_be_bytes().get(8 - bytes.min(8)..).unwrap_or_default()),
            field: name.to_owned(),
            ty: int_type(bytes).to_owned(),
            value: number.to_string(),
        }
    }
}

/// A number of so many bytes; one byte is a varint wherever this is asked.
pub(super) fn int_type(bytes: usize) -> &'static str {
    match bytes {
        1 => "uvarint",
        2 => "int16",
        4 => "int32",
        _ => "int64",
    }
}

/// A line for each note, and for the bytes between them.
pub(super) fn rows(part: &Part, notes: &[Note], rows: &mut Vec<Row>) {
    let failed = notes.iter().rposition(|note| note.content == NoteContent::Failed);
    Walk { part, notes, failed, rows }.note(0);
    let end = notes.first().map_or(0, |note| note.range.end);
    let is_body = !part.message.name.ends_with("Header");
    let name = match failed {
        Some(_) => "(not read)",
        None if is_body => "(left over)",
        None => return,
    };
    if end < part.bytes.len() {
        let value = size(part.bytes.len() - end);
        rows.push(Row { value, ..between(part, end..part.bytes.len(), 0, name) });
    }
}

struct Walk<'a> {
    part: &'a Part,
    notes: &'a [Note],
    failed: Option<usize>,
    rows: &'a mut Vec<Row>,
}

impl Walk<'_> {
    /// One note with all that is inside of it. Gives the index of the next.
    fn note(&mut self, index: usize) -> usize {
        let Some(note) = self.notes.get(index) else { return index };
        let inner = self.notes.get(index + 1).filter(|inner| inner.depth > note.depth);
        // Of what holds others only the bytes in front of the first are its own: a count, a marker of null.
        let own = match inner {
            Some(inner) if inner.tag.is_none() => note.range.start..inner.range.start,
            None if note.content != NoteContent::Struct => note.range.clone(),
            _ => note.range.start..note.range.start,
        };
        let mut cursor = own.end;
        self.rows.push(self.row(index, note, own));

        let mut next = index + 1;
        let mut tags = false;
        while let Some(inner) = self.notes.get(next).filter(|inner| inner.depth > note.depth) {
            if inner.tag.is_some() {
                let name = if tags { "(tag, size)" } else { "(count of tags; tag, size)" };
                tags = true;
                self.gap(cursor..inner.range.start, note.depth + 1, name);
            }
            cursor = inner.range.end;
            next = self.note(next);
        }
        if note.content == NoteContent::Struct {
            self.gap(cursor..note.range.end, note.depth + 1, "(count of tags)");
        }
        next
    }

    fn gap(&mut self, range: Range<usize>, depth: usize, name: &str) {
        if !range.is_empty() {
            self.rows.push(between(self.part, range, depth, name));
        }
    }

    fn row(&self, index: usize, note: &Note, own: Range<usize>) -> Row {
        let Part { base, version, bytes, .. } = self.part;
        let range = format!("{}..{}", note.range.start + base, note.range.end + base);
        let value = match self.failed {
            Some(failed) if failed == index => "<-- cannot be read".to_owned(),
            _ => value(note),
        };
        if note.depth == 0 {
            return Row { range, field: format!("{} version {version}", note.name), value, ..Row::default() };
        }
        Row {
            range,
            hex: hex(bytes.get(own).unwrap_or_default()),
            field: indent(note.depth, &note.name),
            ty: match note.tag {
                Some(tag) => format!("{}, tag {tag}", note.ty),
                None => note.ty.clone(),
            },
            value,
        }
    }
}

/// A name below others.
pub(super) fn indent(depth: usize, name: &str) -> String {
    format!("{:1$}{name}", "", 2 * depth)
}

/// Bytes that belong to no field.
fn between(part: &Part, range: Range<usize>, depth: usize, name: &str) -> Row {
    Row {
        range: format!("{}..{}", part.base + range.start, part.base + range.end),
        hex: hex(part.bytes.get(range).unwrap_or_default()),
        field: indent(depth, name),
        ..Row::default()
    }
}

/// The first bytes, in pairs of digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    let shown: Vec<String> = bytes.iter().take(HEX_BYTES).map(|byte| format!("{byte:02x}")).collect();
    let more = if bytes.len() > HEX_BYTES { " …" } else { "" };
    format!("{}{more}", shown.join(" "))
}

/// The table of all lines.
pub(super) fn render(rows: &[Row]) -> String {
    let mut table = Table::new(&[">BYTES", "HEX", "FIELD", "TYPE", "VALUE"]);
    for Row { range, hex, field, ty, value } in rows {
        table.row(vec![range.clone(), hex.clone(), field.clone(), ty.clone(), value.clone()]);
    }
    let paint = Paint::stdout();
    table.render_painted(paint, |column, cell| match column {
        0 | 3 => paint.dim(cell),
        1 => paint.color(Paint::CYAN, cell),
        4 => paint.color(Paint::GREEN, cell),
        _ => cell.to_owned(),
    })
}
