//! Which records of a log are meant.

use std::ops::Range;

use bytes::Bytes;
use clap::Args;
use milena_inspect::text::from_hex;
use milena_storage::{Options, Selection};

use crate::command::decode::View;
use crate::failure::{Failure, Result};

use crate::time;

/// What to read of log folders and files.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Log folders and files")]
pub(in crate::command::decode) struct Segments {
    /// Records with offsets from A up to and without B; either may be left out
    #[arg(long, value_name = "A..B", value_parser = offsets, allow_hyphen_values = true)]
    offsets: Option<Range<i64>>,

    /// Records from a time up to and without another, such as 2024-05-01T12:30..now, @1714564800000.. or -2h..-1h
    #[arg(long, value_name = "A..B", value_parser = times, allow_hyphen_values = true)]
    time: Option<Range<i64>>,

    /// Records with this key: text, or 0x and hex digits. With --topic, the key of the record, as hex or base64
    #[arg(long, value_name = "KEY", value_parser = key)]
    pub(in crate::command::decode) key: Option<Key>,

    /// A line for each batch; what is in it is not even decompressed
    #[arg(long, conflicts_with_all = ["key", "verify"])]
    headers_only: bool,

    /// Check that the files of a partition agree, and report what is wrong instead of showing the content
    #[arg(long, conflicts_with_all = ["offsets", "time", "key"])]
    pub(super) verify: bool,
}

impl Segments {
    /// Whether one of these was asked for.
    pub(in crate::command::decode) fn is_wanted(&self) -> bool {
        let Self { offsets, time, key, headers_only, verify } = self;
        offsets.is_some() || time.is_some() || key.is_some() || *headers_only || *verify
    }

    pub(super) fn options(self, view: View) -> Result<Options> {
        let all = Selection::default();
        let selection = Selection {
            offsets: self.offsets.unwrap_or(all.offsets),
            time: self.time.unwrap_or(all.time),
            key: self.key.map(|key| key.bytes),
        };
        if self.verify && view.tolerant {
            return Err(Failure::usage("--tolerant shows records, --verify shows none").hint("leave one of them out"));
        }
        Ok(Options {
            selection,
            headers_only: self.headers_only,
            tolerant: view.tolerant,
            strict: view.strict,
            ..Options::default()
        })
    }
}

fn offsets(text: &str) -> Result<Range<i64>, String> {
    range(text, |text| text.parse().ok(), "offsets, such as 100..200, 100.. or ..200")
}

fn times(text: &str) -> Result<Range<i64>, String> {
    let parse = |text: &str| text.parse().ok().or_else(|| time::parse(text).ok());
    range(
        text,
        parse,
        "times, such as 2024-05-01..2024-05-02T12:30, -2h..-1h or @1714564800000.. (milliseconds since 1970)",
    )
}

fn range(text: &str, parse: impl Fn(&str) -> Option<i64>, expected: &str) -> Result<Range<i64>, String> {
    let bound = |text: &str, open| if text.is_empty() { Some(open) } else { parse(text.trim()) };
    let bounds = text.split_once("..").and_then(|(from, to)| Some((bound(from, i64::MIN)?, bound(to, i64::MAX)?)));
    match bounds {
        Some((from, to)) if from < to => Ok(from..to),
        Some(_) => Err("nothing is between these".to_owned()),
        None => Err(format!("expected {expected}")),
    }
}

/// A key as it was given, and as the key of a record that holds text.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::command::decode) struct Key {
    pub(in crate::command::decode) given: String,
    bytes: Bytes,
}

fn key(text: &str) -> Result<Key, String> {
    let bytes = match text.strip_prefix("0x") {
        Some(digits) => from_hex(digits).map(Bytes::from)?,
        None => Bytes::copy_from_slice(text.as_bytes()),
    };
    Ok(Key { given: text.to_owned(), bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_may_be_open() {
        assert_eq!(offsets("100..200"), Ok(100..200));
        assert_eq!(offsets("100.."), Ok(100..i64::MAX));
        assert_eq!(offsets("..200"), Ok(i64::MIN..200));
        assert_eq!(times("2024-02-29T23:59:59Z..1709251200000"), Ok(1_709_251_199_000..1_709_251_200_000));
        for wrong in ["", "5", "5..5", "9..1", "a..b", "1...2"] {
            assert!(offsets(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn keys_are_text_or_hex() {
        assert_eq!(key("key-1").unwrap().bytes, "key-1");
        assert_eq!(key("0x00ff").unwrap().bytes, &b"\x00\xff"[..]);
        assert_eq!(key("").unwrap().bytes, "");
        assert!(key("0x0g").is_err());
    }
}
