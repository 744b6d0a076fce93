//! Text in columns for very many rows: cells are written into one buffer, and no row takes an allocation.

use std::io::{self, Write};

use crate::output::{push_hex, short, size};
use crate::time;

/// Rows in one sheet, so that long files take no memory to speak of.
const ROWS: usize = 1000;

/// Bytes that are shown of what is not text.
const HEX_BYTES: usize = 16;

/// Bytes of text from which on rows are written: uncut values may be large.
const MAX_TEXT: usize = 1 << 20;

/// Columns grow no wider than that; longer cells move what comes after them to the right.
const MAX_WIDTH: usize = 120;

/// Rows that are not written yet. Their columns are as wide as the widest cell; numbers are aligned to the right.
pub(crate) struct Sheet {
    titles: &'static [&'static str],
    text: Vec<u8>,
    cells: Vec<Cell>,
    start: usize,
    line: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Cell {
    /// Where it ends in the text.
    end: usize,
    /// Its characters.
    width: usize,
}

impl Sheet {
    /// Titles of the columns; one that begins with `>` is aligned to the right.
    pub(crate) fn new(titles: &'static [&'static str]) -> Self {
        Self { titles, text: Vec::new(), cells: Vec::new(), start: 0, line: Vec::new() }
    }

    /// The titles, as they were given.
    pub(crate) fn titles(&self) -> &'static [&'static str] {
        self.titles
    }

    /// Whether it should be written before the next row.
    pub(crate) fn is_full(&self) -> bool {
        self.cells.len() >= ROWS * self.titles.len() || self.text.len() >= MAX_TEXT
    }

    /// The next cell, which holds what `write` appends. It has to be UTF-8.
    pub(crate) fn cell(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.text);
        let width = characters(self.text.get(self.start..).unwrap_or_default());
        self.start = self.text.len();
        self.cells.push(Cell { end: self.start, width });
    }

    /// The next cell.
    pub(crate) fn text(&mut self, text: &str) {
        self.cell(|cell| cell.extend_from_slice(text.as_bytes()));
    }

    /// Writes a line of titles and a line for each row, two spaces in, and is empty then. Without rows it writes nothing.
    pub(crate) fn write(&mut self, out: &mut impl Write) -> io::Result<()> {
        if self.cells.is_empty() {
            return Ok(());
        }
        let is_right = |title: &str| title.starts_with('>');
        let mut widths: Vec<usize> = self.titles.iter().map(|title| title.trim_start_matches('>').len()).collect();
        for row in self.cells.chunks(self.titles.len()) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.width.min(MAX_WIDTH));
            }
        }
        let mut line = Line::new(&mut self.line);
        for (title, width) in self.titles.iter().zip(&widths) {
            let text = title.trim_start_matches('>');
            line.cell(text.as_bytes(), text.len(), *width, is_right(title));
        }
        line.end(out)?;
        let mut start = 0;
        for row in self.cells.chunks(self.titles.len()) {
            let mut line = Line::new(&mut self.line);
            for ((cell, title), width) in row.iter().zip(self.titles).zip(&widths) {
                let text = self.text.get(start..cell.end).unwrap_or_default();
                line.cell(text, cell.width, *width, is_right(title));
                start = cell.end;
            }
            line.end(out)?;
        }
        self.text.clear();
        self.cells.clear();
        self.start = 0;
        Ok(())
    }
}

struct Line<'a> {
    text: &'a mut Vec<u8>,
    /// Spaces before the next cell. They are written with it, so that no line ends with spaces.
    gap: usize,
}

impl<'a> Line<'a> {
    fn new(text: &'a mut Vec<u8>) -> Self {
        text.clear();
        Self { text, gap: 2 }
    }

    fn cell(&mut self, cell: &[u8], characters: usize, width: usize, is_right: bool) {
        let room = width.saturating_sub(characters);
        if is_right {
            self.gap += room;
        }
        if !cell.is_empty() {
            self.text.resize(self.text.len() + self.gap, b' ');
            self.text.extend_from_slice(cell);
            self.gap = 0;
        }
        self.gap += if is_right { 2 } else { room + 2 };
    }

    fn end(self, out: &mut impl Write) -> io::Result<()> {
        self.text.push(b'\n');
        out.write_all(self.text)
    }
}

/// Characters of UTF-8: all bytes but those that continue one.
fn characters(text: &[u8]) -> usize {
    text.iter().filter(|byte| **byte & 0xc0 != 0x80).count()
}

/// Appends a number.
pub(crate) fn push_number(out: &mut Vec<u8>, number: i64) {
    if number < 0 {
        out.push(b'-');
    }
    push_digits(out, number.unsigned_abs(), 1);
}

fn push_digits(out: &mut Vec<u8>, mut number: u64, least: usize) {
    let mut digits = [b'0'; 20];
    let mut at = digits.len();
    while number > 0 {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
    }
    out.extend_from_slice(&digits[at.min(digits.len() - least)..]);
}

/// Appends a time in milliseconds since 1970, or `-` for none.
pub(crate) fn push_time(out: &mut Vec<u8>, millis: i64) {
    const DAY: i64 = 86_400_000;
    // The year 9999 ends there.
    const LONGER: i64 = 253_402_300_800_000;
    if millis == -1 {
        return out.push(b'-');
    }
    if !(0..LONGER).contains(&millis) {
        return out.extend_from_slice(time::format(millis).as_bytes());
    }
    let (year, month, day) = milena_inspect::time::date(millis / DAY);
    let rest = millis % DAY;
    let parts = [
        (year, 4, b'-'),
        (month, 2, b'-'),
        (day, 2, b'T'),
        (rest / 3_600_000, 2, b':'),
        (rest / 60_000 % 60, 2, b':'),
        (rest / 1000 % 60, 2, b'.'),
        (rest % 1000, 3, b'Z'),
    ];
    for (number, digits, after) in parts {
        push_digits(out, number.unsigned_abs(), digits);
        out.push(after);
    }
}

/// Appends text as text in quotes, other bytes as hex, and null apart from empty. Text of more than `width` characters is
/// cut, and so are other bytes unless `width` is the largest number.
pub(crate) fn push_bytes(out: &mut Vec<u8>, bytes: Option<&[u8]>, width: usize) {
    let Some(bytes) = bytes else { return out.extend_from_slice(b"null") };
    let is_plain = bytes.iter().fold(true, |all, byte| all & matches!(byte, 0x20..=0x7e));
    if is_plain {
        let shown = if bytes.len() > width { bytes.get(..width.saturating_sub(1)).unwrap_or_default() } else { bytes };
        out.push(b'"');
        let mut rest = shown;
        while let Some(at) = rest.iter().position(|byte| matches!(byte, b'"' | b'\\')) {
            let (plain, escaped) = rest.split_at(at);
            out.extend_from_slice(plain);
            out.push(b'\\');
            out.extend(escaped.first());
            rest = escaped.get(1..).unwrap_or_default();
        }
        out.extend_from_slice(rest);
        if shown.len() < bytes.len() {
            out.extend_from_slice("…".as_bytes());
        }
        return out.push(b'"');
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.contains(char::is_control) => {
            out.extend_from_slice(format!("{:?}", short(text, width)).as_bytes());
        }
        _ => {
            out.extend_from_slice(b"0x");
            let is_cut = bytes.len() > HEX_BYTES && width < usize::MAX;
            push_hex(out, if is_cut { bytes.get(..HEX_BYTES).unwrap_or_default() } else { bytes });
            if is_cut {
                out.extend_from_slice(format!("… ({})", size(bytes.len())).as_bytes());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::Table;

    fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_sheet_is_a_table_two_spaces_in() {
        let rows = [["1", "Fetch", "a"], ["18", "", "b"], ["7", "ž", ""], ["", "", ""]];
        let (mut sheet, mut table) = (Sheet::new(&[">KEY", "NAME", ""]), Table::new(&[">KEY", "NAME", ""]));
        for row in rows {
            row.iter().for_each(|cell| sheet.text(cell));
            table.row(row.iter().map(|cell| (*cell).to_owned()).collect());
        }
        let mut out = Vec::new();
        sheet.write(&mut out).unwrap();
        let expected: String =
            table.render().lines().map(|line| format!("  {line}").trim_end().to_owned() + "\n").collect();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
        let mut out = Vec::new();
        sheet.write(&mut out).unwrap();
        assert_eq!(out, b"", "it is empty now");
    }

    #[test]
    fn numbers_and_times_are_as_they_are_formatted() {
        for number in [0, 1, 9, 10, 1_234_567, -1, -17, i64::MAX, i64::MIN] {
            assert_eq!(text(|out| push_number(out, number)), number.to_string());
        }
        assert_eq!(text(|out| push_time(out, -1)), "-");
        for millis in
            [0, 1, 59_999, 1_709_251_199_250, 253_402_300_799_999, 253_402_300_800_000, -2, i64::MAX, i64::MIN]
        {
            assert_eq!(text(|out| push_time(out, millis)), time::format(millis));
        }
    }

    #[test]
    fn bytes_are_text_where_they_can_be() {
        let shown = |bytes: &[u8]| text(|out| push_bytes(out, Some(bytes), 5));
        assert_eq!(text(|out| push_bytes(out, None, 5)), "null");
        assert_eq!(shown(b""), r#""""#);
        assert_eq!(shown(b"abcde"), r#""abcde""#);
        assert_eq!(shown(b"abcdef"), r#""abcd…""#);
        assert_eq!(shown(br#"a"\b"#), r#""a\"\\b""#);
        assert_eq!(shown("žluť".as_bytes()), "\"žluť\"");
        assert_eq!(shown("žluťoučký".as_bytes()), "\"žluť…\"");
        assert_eq!(shown(b"a\nb"), "0x610a62");
        assert_eq!(shown(&[0xff; 20]), format!("0x{}… (20 bytes)", "ff".repeat(16)));
        let whole = |bytes: &[u8]| text(|out| push_bytes(out, Some(bytes), usize::MAX));
        assert_eq!(whole(&[0xff; 20]), format!("0x{}", "ff".repeat(20)));
        assert_eq!(whole("ž".repeat(300).as_bytes()), format!("{:?}", "ž".repeat(300)));
    }
}
