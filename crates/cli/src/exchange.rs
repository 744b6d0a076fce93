//! Exchanges and their records in lines, for eyes: the same whether they pass or were captured.

use milena_inspect::conversation::Line;

use crate::output::{Paint, hex, short};

/// Characters of a key or value.
const WIDTH: usize = 60;

/// What stands above the lines.
pub(crate) fn title(paint: Paint) -> String {
    paint.bold(&Line::title())
}

/// An exchange.
pub(crate) fn line(line: &Line, paint: Paint) -> String {
    line.render(|error| paint.bold(error), |notes| paint.color(Paint::CYAN, notes))
}

/// A record below its exchange.
pub(crate) fn record(topic: &str, partition: i32, offset: i64, key: Option<&[u8]>, value: Option<&[u8]>) -> String {
    below(&format!("{}-{partition} @ {offset}  {} = {}", short(topic, WIDTH), text(key), text(value)))
}

/// Something below an exchange.
pub(crate) fn below(text: &str) -> String {
    // Where the client stands.
    format!("{:22}{text}", "")
}

fn text(bytes: Option<&[u8]>) -> String {
    match bytes.map(|bytes| std::str::from_utf8(bytes).map_err(|_| bytes)) {
        None => "null".to_owned(),
        Some(Ok(text)) => format!("{:?}", short(text, WIDTH)),
        Some(Err(bytes)) => format!("0x{}", short(&hex(&bytes[..bytes.len().min(WIDTH)]), WIDTH)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_null_an_empty_text_and_bytes_differ() {
        let line = record("letters", 3, 17, None, Some(b""));
        assert_eq!(line.trim_start(), "letters-3 @ 17  null = \"\"");
        let line = record("letters", 3, 17, Some(b"null"), Some(&[0xff, 0x00]));
        assert_eq!(line.trim_start(), "letters-3 @ 17  \"null\" = 0xff00");
    }
}
