//! Records from the lines of stdin.

use std::io::{self, Read};

use bytes::{Bytes, BytesMut};
use milena_client::{Header, Record};
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::failure::{Failure, Result};
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
    pub(super) fn record(&self, line: &Bytes) -> std::result::Result<(Record, Option<i32>), String> {
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

/// The longest line: brokers take requests up to 100 MiB unless configured otherwise.
const MAX_LINE: usize = 100 << 20;

/// Blocks of whole lines from stdin, read by a thread of its own so that connections stay alive meanwhile.
pub(super) fn blocks() -> Receiver<Result<Bytes>> {
    let (sender, receiver) = channel(4);
    std::thread::spawn(move || {
        if let Err(error) = read(&mut io::stdin().lock(), MAX_LINE, &sender) {
            // A receiver that is gone needs no error.
            let _ = sender.blocking_send(Err(error));
        }
    });
    receiver
}

/// Sends blocks that end with a line feed, the last one perhaps without.
fn read(input: &mut impl Read, max_line: usize, sender: &Sender<Result<Bytes>>) -> Result {
    let mut pending = BytesMut::new();
    loop {
        let before = pending.len();
        pending.resize(before + CHUNK, 0);
        let read = match input.read(&mut pending[before..]) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(Failure::failed(format!("cannot read stdin: {error}"))),
            Ok(0) => {
                pending.truncate(before);
                if !pending.is_empty() {
                    // As below.
                    let _ = sender.blocking_send(Ok(pending.freeze()));
                }
                return Ok(());
            }
            Ok(read) => read,
        };
        pending.truncate(before + read);
        if let Some(last) = pending[before..].iter().rposition(|byte| *byte == b'\n') {
            let block = pending.split_to(before + last + 1).freeze();
            if sender.blocking_send(Ok(block)).is_err() {
                // Writing has ended.
                return Ok(());
            }
        } else if pending.len() > max_line {
            return Err(Failure::failed(format!(
                "a line is longer than {} MiB, the most a broker takes",
                max_line >> 20
            )));
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

    #[test]
    fn lines_come_whole_from_pieces_of_any_size() {
        for size in 1..8 {
            let (sender, mut receiver) = channel(100);
            read(&mut Pieces(b"one\n\ntwo\r\nthree", size), 1 << 20, &sender).unwrap();
            drop(sender);
            let mut found = Vec::new();
            while let Some(block) = receiver.blocking_recv() {
                found.extend(lines(block.unwrap()));
            }
            assert_eq!(found, ["one", "", "two\r", "three"], "pieces of {size}");
        }
    }

    #[test]
    fn a_line_without_end_is_refused() {
        let (sender, _receiver) = channel(100);
        let error = read(&mut io::repeat(b'x'), 1 << 20, &sender).unwrap_err();
        assert!(error.message().contains("longer than 1 MiB"), "{}", error.message());
    }
}
