//! Records from the lines of stdin.

use std::io::{self, Read};

use bytes::{Buf as _, Bytes, BytesMut};
use milena_client::{Header, Record};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::{record, time};

/// The format of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum LineFormat {
    /// A value, after a key if there is a separator
    Lines,
    /// JSON objects, as `milena consume --json` writes them
    Json,
}

/// How a line becomes a record.
pub(super) struct Reading {
    pub(super) format: LineFormat,
    pub(super) key_separator: Option<Vec<u8>>,
    pub(super) null: Option<String>,
    pub(super) crlf: bool,
    pub(super) headers: Vec<Header>,
}

impl Reading {
    /// The record of a line, and the partition that it names.
    pub(super) fn record(&self, line: &Bytes) -> Result<(Record, Option<i32>), String> {
        let (mut record, partition) = match self.format {
            LineFormat::Json => record::from_json(line)?,
            LineFormat::Lines => (self.plain(line), None),
        };
        record.headers.extend(self.headers.iter().cloned());
        Ok((record, partition))
    }

    fn plain(&self, line: &Bytes) -> Record {
        let line = match line.strip_suffix(b"\r") {
            Some(without) if self.crlf => line.slice(..without.len()),
            _ => line.clone(),
        };
        let separator = self.key_separator.as_deref().unwrap_or_default();
        let at = match separator {
            [] => None,
            separator => line.windows(separator.len()).position(|window| window == separator),
        };
        let (key, value) = match at {
            Some(at) => (self.or_null(line.slice(..at)), line.slice(at + separator.len()..)),
            None => (None, line),
        };
        Record { key, value: self.or_null(value), timestamp: time::now(), ..Record::default() }
    }

    fn or_null(&self, bytes: Bytes) -> Option<Bytes> {
        (self.null.as_deref().map(str::as_bytes) != Some(&*bytes)).then_some(bytes)
    }
}

/// Bytes read at once.
const CHUNK: usize = 64 * 1024;

/// The longest line: brokers accept requests up to 100 MiB unless configured otherwise.
const MAX_LINE: usize = 100 << 20;
pub(super) const TOO_LONG: &str = "the line is longer than 100 MiB, the most that brokers accept";

/// A part of stdin.
pub(super) enum Input {
    /// Whole lines.
    Lines(Bytes),
    /// A line that is too long; it is left out.
    LongLine,
    /// Stdin cannot be read any further.
    Failed(io::Error),
}

/// The parts of stdin, read by a thread of its own so that connections stay alive meanwhile.
pub(super) fn inputs() -> Receiver<Input> {
    let (sender, receiver) = channel(4);
    std::thread::spawn(move || {
        if let Err(error) = read(&mut io::stdin().lock(), MAX_LINE, &sender) {
            // A receiver that is gone needs no error.
            let _ = sender.blocking_send(Input::Failed(error));
        }
    });
    receiver
}

/// Sends blocks that end with a line feed, the last one perhaps without.
fn read(input: &mut impl Read, max_line: usize, sender: &Sender<Input>) -> io::Result<()> {
    let mut pending = BytesMut::new();
    // Whether the line that is being read is too long.
    let mut skips = false;
    loop {
        let before = pending.len();
        pending.resize(before + CHUNK, 0);
        let read = match input.read(&mut pending[before..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                pending.truncate(before);
                continue;
            }
            Err(error) => return Err(error),
            Ok(read) => read,
        };
        pending.truncate(before + read);
        if skips {
            let end = pending.iter().position(|byte| *byte == b'\n');
            pending.advance(end.map_or(pending.len(), |end| end + 1));
            skips = end.is_none();
        }
        // What was there before has no line feed, and is empty after a line that was skipped.
        let found = pending[before..].iter().rposition(|byte| *byte == b'\n');
        let part = match found {
            Some(last) => Input::Lines(pending.split_to(before + last + 1).freeze()),
            None if read == 0 && pending.is_empty() => return Ok(()),
            None if read == 0 => Input::Lines(pending.split().freeze()),
            None if pending.len() > max_line => {
                pending.clear();
                skips = true;
                Input::LongLine
            }
            None => continue,
        };
        if sender.blocking_send(part).is_err() {
            // Writing has ended.
            return Ok(());
        }
    }
}

/// The lines of a block, without their line feeds.
pub(super) fn lines(mut block: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || {
        if block.is_empty() {
            return None;
        }
        let end = block.iter().position(|byte| *byte == b'\n');
        let line = block.split_to(end.unwrap_or(block.len()));
        if end.is_some() {
            let _ = block.split_to(1);
        }
        Some(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(separator: Option<&str>, null: Option<&str>, crlf: bool) -> Reading {
        Reading {
            format: LineFormat::Lines,
            key_separator: separator.map(|separator| separator.as_bytes().to_vec()),
            null: null.map(str::to_owned),
            crlf,
            headers: Vec::new(),
        }
    }

    fn key_and_value(reading: &Reading, line: &'static str) -> (Option<Bytes>, Option<Bytes>) {
        let record = reading.record(&Bytes::from_static(line.as_bytes())).unwrap().0;
        (record.key, record.value)
    }

    #[test]
    fn null_and_empty_differ() {
        let read = |separator, null, line| key_and_value(&reading(separator, null, false), line);
        assert_eq!(read(None, None, "a:b"), (None, Some("a:b".into())));
        assert_eq!(read(Some(":"), None, "a:b:c"), (Some("a".into()), Some("b:c".into())));
        assert_eq!(read(Some(":"), None, "a:"), (Some("a".into()), Some("".into())));
        assert_eq!(read(Some(":"), None, "a"), (None, Some("a".into())));
        assert_eq!(read(Some(":"), Some(""), "a:"), (Some("a".into()), None));
        assert_eq!(read(Some(" => "), Some("NULL"), "NULL => x"), (None, Some("x".into())));
        assert_eq!(read(None, None, ""), (None, Some("".into())));
    }

    #[test]
    fn a_carriage_return_is_removed_only_on_request() {
        assert_eq!(key_and_value(&reading(None, None, false), "a\r"), (None, Some("a\r".into())));
        assert_eq!(key_and_value(&reading(None, None, true), "a\r\r"), (None, Some("a\r".into())));
    }

    /// Gives its bytes in pieces of this size.
    struct Pieces<'a>(&'a [u8], usize);

    impl Read for Pieces<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(self.0.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }

    /// The lines of an input that comes in pieces of this size; `None` for one that is too long.
    fn read_all(bytes: &[u8], piece: usize, max_line: usize) -> Vec<Option<Bytes>> {
        let (sender, mut receiver) = channel(1000);
        read(&mut Pieces(bytes, piece), max_line, &sender).unwrap();
        drop(sender);
        let mut found = Vec::new();
        while let Some(part) = receiver.blocking_recv() {
            match part {
                Input::Lines(block) => found.extend(lines(block).map(Some)),
                Input::LongLine => found.push(None),
                Input::Failed(error) => panic!("{error}"),
            }
        }
        found
    }

    #[test]
    fn lines_come_whole_from_pieces_of_any_size() {
        let expected = ["one", "", "two\r", "three"].map(|line| Some(Bytes::from(line)));
        for size in 1..8 {
            assert_eq!(read_all(b"one\n\ntwo\r\nthree", size, 1 << 20), expected, "pieces of {size}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_left_out_and_the_others_are_read() {
        let text = format!("one\n{}\ntwo\n{}", "x".repeat(50), "y".repeat(50));
        let expected = [Some("one".into()), None, Some("two".into()), None];
        for size in 1..8 {
            assert_eq!(read_all(text.as_bytes(), size, 10), expected, "pieces of {size}");
        }
    }
}
