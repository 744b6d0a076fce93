use crate::output::Paint;

/// Columns grow no wider than that; longer cells move what comes after them to the right.
const MAX_WIDTH: usize = 120;

/// Text in columns, as wide as their widest cell; numbers to the right.
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

struct Column {
    title: String,
    right: bool,
}

impl Table {
    /// Titles of the columns; one that begins with `>` is aligned to the right.
    pub(crate) fn new(titles: &[&str]) -> Self {
        let column = |title: &&str| match title.strip_prefix('>') {
            Some(title) => Column { title: title.to_owned(), right: true },
            None => Column { title: (*title).to_owned(), right: false },
        };
        Self { columns: titles.iter().map(column).collect(), rows: Vec::new() }
    }

    /// Another row; its cells in the order of the columns.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// A line of titles and a line per row.
    pub(crate) fn render(&self) -> String {
        self.render_with(|_, cell| cell.to_owned())
    }

    /// The same with colours: `paint` gets the number of the column and a cell, and may add escape codes. The titles are dim.
    pub(crate) fn render_painted(&self, colours: Paint, paint: impl Fn(usize, &str) -> String) -> String {
        let painted = self.render_with(paint);
        match painted.split_once('\n') {
            // Titles are painted like their columns, so they are rendered again.
            Some((_, rows)) => format!("{}\n{rows}", colours.dim(self.render().lines().next().unwrap_or_default())),
            None => painted,
        }
    }

    fn render_with(&self, paint: impl Fn(usize, &str) -> String) -> String {
        let titles: Vec<String> = self.columns.iter().map(|column| column.title.clone()).collect();
        let lines = || std::iter::once(&titles).chain(&self.rows);
        let widths: Vec<usize> = (0..self.columns.len())
            .map(|index| {
                lines()
                    .filter_map(|row| row.get(index))
                    .map(|cell| cell.chars().count())
                    .max()
                    .unwrap_or(0)
                    .min(MAX_WIDTH)
            })
            .collect();
        let mut text = String::new();
        for row in lines() {
            let mut gap = 0;
            for (index, ((cell, column), width)) in row.iter().zip(&self.columns).zip(&widths).enumerate() {
                let room = width.saturating_sub(cell.chars().count());
                let before = if column.right { room } else { 0 };
                // No line ends with spaces.
                if !cell.is_empty() {
                    text.extend(std::iter::repeat_n(' ', gap + before));
                    text.push_str(&paint(index, cell));
                    gap = 0;
                } else {
                    gap += before;
                }
                gap += room - before + 2;
            }
            text.push('\n');
        }
        text
    }
}

/// Breaks lines that are longer than `width` between words. What follows is indented a little more than the line.
pub(crate) fn fold(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let content = line.trim_start();
        let indent = line.chars().count() - content.chars().count();
        if line.chars().count() <= width {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        // The first line keeps its columns: only what comes after it is wrapped again.
        let mut rest = line;
        if let Some(at) = break_before(rest, width) {
            out.push_str(rest[..at].trim_end());
            out.push('\n');
            rest = rest[at..].trim_start();
        }
        let indent = indent + 4;
        for line in wrap(rest, width.saturating_sub(indent).max(20)) {
            out.extend(std::iter::repeat_n(' ', indent));
            out.push_str(&line);
            out.push('\n');
        }
    }
    out
}

/// The last place where a line can break to be at most `width` characters long.
fn break_before(line: &str, width: usize) -> Option<usize> {
    let start = line.len() - line.trim_start().len();
    let mut found = None;
    let mut before_space = false;
    for (count, (at, c)) in line.char_indices().enumerate() {
        if c == ' ' && !before_space && at > start && count <= width {
            found = Some(at);
        }
        before_space = c == ' ';
    }
    found
}

/// Breaks text between words into lines of at most `width` characters; a longer word is broken too.
pub(crate) fn wrap_all(text: &str, width: usize) -> Vec<String> {
    let pieces = wrap(text, width).into_iter().flat_map(|line| {
        let chars: Vec<char> = line.chars().collect();
        let pieces: Vec<String> = chars.chunks(width.max(1)).map(|piece| piece.iter().collect()).collect();
        if pieces.is_empty() { vec![String::new()] } else { pieces }
    });
    pieces.collect()
}

/// Breaks text between words into lines of at most `width` characters; a longer word has a line of its own.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length > width {
            lines.push(String::new());
            used = 0;
        }
        if let Some(line) = lines.last_mut() {
            if used > 0 {
                line.push(' ');
                used += 1;
            }
            line.push_str(word);
            used += length;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(&[">KEY", "NAME"]);
        table.row(vec!["1".into(), "Fetch".into()]);
        table.row(vec!["18".into(), "ž".into()]);
        assert_eq!(table.render(), "KEY  NAME\n  1  Fetch\n 18  ž\n");
    }

    #[test]
    fn colours_take_no_room() {
        let mut table = Table::new(&[">KEY", "", "NAME"]);
        table.row(vec!["1".into(), String::new(), "Fetch".into()]);
        table.row(vec!["1000".into(), "x".into(), String::new()]);
        let painted = table.render_with(|column, cell| format!("<{column}{cell}>"));
        assert_eq!(painted, " <0KEY>     <2NAME>\n   <01>     <2Fetch>\n<01000>  <1x>\n");
        assert_eq!(table.render(), " KEY     NAME\n   1     Fetch\n1000  x\n");
    }

    #[test]
    fn long_lines_fold_with_an_indent_and_keep_their_columns() {
        assert_eq!(
            fold("ab  cd\n  one   two three four five six\n", 16),
            "ab  cd\n  one   two\n      three four five six\n"
        );
        let text = "  name    type   tag 0, default null, and a long explanation after it";
        assert_eq!(fold(text, 40), "  name    type   tag 0, default null,\n      and a long explanation after it\n");
        assert_eq!(wrap_all("a incomprehensible b", 5), ["a", "incom", "prehe", "nsibl", "e", "b"]);
    }

    #[test]
    fn text_breaks_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("incomprehensible", 4), ["incomprehensible"]);
        assert_eq!(wrap("", 4), [""]);
    }
}
