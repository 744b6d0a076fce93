//! Records out of lines.

use std::io::{self, BufRead as _, BufReader};

use bytes::Bytes;
use milena_client::{Header, Record};
use tokio::sync::mpsc::{Receiver, channel};

use crate::failure::{Failure, Result};
use crate::record;

/// What lines are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum LineFormat {
    /// A value, with a key in front when there is a separator
    Lines,
    /// JSON objects, as `milena consume --json` writes them
    Json,
}

/// How a line becomes a record.
pub(super) struct Reading {
    pub(super) format: LineFormat,
    pub(super) key_separator: Option<String>,
    pub(super) null: Option<String>,
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
        let separator = self.key_separator.as_deref().unwrap_or_default().as_bytes();
        let at = match separator {
            [] => None,
            separator => line.windows(separator.len()).position(|window| window == separator),
        };
        match at {
            Some(at) => Record {
                key: self.or_null(line.slice(..at)),
                value: self.or_null(line.slice(at + separator.len()..)),
                ..Record::default()
            },
            None => Record { value: self.or_null(line.clone()), ..Record::default() },
        }
    }

    fn or_null(&self, bytes: Bytes) -> Option<Bytes> {
        (self.null.as_deref().map(str::as_bytes) != Some(&*bytes)).then_some(bytes)
    }
}

/// The lines of stdin, without their ends, read by a thread of its own so that connections stay alive meanwhile.
pub(super) fn lines() -> Receiver<Result<Bytes>> {
    let (sender, receiver) = channel(4096);
    std::thread::spawn(move || {
        let mut input = BufReader::with_capacity(64 * 1024, io::stdin().lock());
        loop {
            let mut line = Vec::new();
            let line = match input.read_until(b'\n', &mut line) {
                Ok(0) => break,
                Ok(_) => {
                    if line.last() == Some(&b'\n') {
                        line.pop();
                    }
                    if line.last() == Some(&b'\r') {
                        line.pop();
                    }
                    Ok(Bytes::from(line))
                }
                Err(error) => Err(Failure::failed(format!("cannot read stdin: {error}"))),
            };
            let failed = line.is_err();
            if sender.blocking_send(line).is_err() || failed {
                break;
            }
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(separator: Option<&str>, null: Option<&str>, line: &'static str) -> Record {
        let reading = Reading {
            format: LineFormat::Lines,
            key_separator: separator.map(str::to_owned),
            null: null.map(str::to_owned),
            headers: Vec::new(),
        };
        reading.record(&Bytes::from_static(line.as_bytes())).unwrap().0
    }

    #[test]
    fn null_and_empty_differ() {
        assert_eq!(read(None, None, "a:b"), Record::from_value("a:b"));
        assert_eq!(read(Some(":"), None, "a:b:c"), Record::new("a", "b:c"));
        assert_eq!(read(Some(":"), None, "a:"), Record::new("a", ""));
        assert_eq!(read(Some(":"), None, "a"), Record::from_value("a"));
        assert_eq!(read(Some(":"), Some(""), "a:").value, None);
        assert_eq!(read(Some(" => "), Some("NULL"), "NULL => x"), Record::from_value("x"));
        assert_eq!(read(None, None, "").value, Some(Bytes::new()));
    }
}
