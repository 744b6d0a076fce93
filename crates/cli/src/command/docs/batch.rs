//! The page about the content of fields of type records: batches, and the messages of older formats.

use std::ops::Range;

use bytes::Bytes;
use maud::{Markup, html};
use milena_records::{BatchBuilder, LegacyMessage, Record, Result as RecordsResult};
use milena_wire::{Reader, Result};

use super::message::table;
use super::site::{NEWLINE, Site};
use crate::example::{Example, Line, Role};

/// The first second of 2026, in milliseconds since 1970.
const NOW: i64 = 1_767_225_600_000;

/// Kafka's names of fixed fields, with their types.
type Fields = [(&'static str, &'static str)];

const BATCH: &Fields = &[
    ("baseOffset", "int64"),
    ("batchLength", "int32"),
    ("partitionLeaderEpoch", "int32"),
    ("magic", "int8"),
    ("crc", "uint32"),
    ("attributes", "int16"),
    ("lastOffsetDelta", "int32"),
    ("baseTimestamp", "int64"),
    ("maxTimestamp", "int64"),
    ("producerId", "int64"),
    ("producerEpoch", "int16"),
    ("baseSequence", "int32"),
    ("recordsCount", "int32"),
];

const MESSAGE: &Fields = &[
    ("offset", "int64"),
    ("messageSize", "int32"),
    ("crc", "uint32"),
    ("magic", "int8"),
    ("attributes", "int8"),
    ("timestamp", "int64"),
];

pub(super) fn page(site: &Site<'_>) -> String {
    let body = html! {
        p.kind { "Records" }
        h1 { "Record batches" }
        p.lead {
            "What producers send, logs keep and consumers fetch. The format is the same in a request, in a response and in a "
            "file."
        }
        p {
            "A field of type " code { "records" } " holds batches, one after the other, up to its end. In a Fetch response the "
            "last one may be cut. Offset, length and magic are at the same place in all formats, so a reader can tell them "
            "apart: magic 2 since Kafka 0.11, 1 since 0.10, and 0 before."
        } (NEWLINE)
        (section("batch", "Batch, magic 2", batch()))
        ul {
            li {
                code { "batchLength" } " counts the bytes after itself. The checksum is CRC-32C over everything from "
                code { "attributes" } " on, so a broker can set offset and leader epoch without a new checksum."
            }
            li {
                code { "attributes" } ": bits 0 to 2 are the codec (0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd). Bit 3: the broker "
                "set the timestamps. Bit 4: the batch belongs to a transaction. Bit 5: it holds control records. Bit 6: "
                code { "baseTimestamp" } " is the time from which tombstones may be removed."
            }
            li { "With a codec, all records after " code { "recordsCount" } " are compressed together." }
            li {
                "The numbers in a record are signed " a href="encodings.html#varints" { "varints" } ". Offset and timestamp are "
                "differences from those of the batch. A length of −1 is null, which the key of a header cannot be."
            }
            li {
                code { "producerId" } ", " code { "producerEpoch" } " and " code { "baseSequence" } " are −1 unless the producer "
                "is idempotent."
            }
            li { "The content of control records is described under " a href="records.html" { "Records" } "." }
        } (NEWLINE)
        (section("magic-1", "Message, magic 1", message(1)))
        (section("magic-0", "Message, magic 0", message(0)))
        p {
            "The checksum is CRC-32 over everything from " code { "magic" } " on. A compressed message is a wrapper: its value "
            "is a compressed run of whole messages. Offsets inside it are absolute in magic 0. In magic 1 they count from 0, and "
            "the wrapper has the offset of its last message. zstd is newer than both formats and not allowed in them."
        } (NEWLINE)
    };
    site.page("Record batches", "records.html", &body)
}

/// The example, or nothing if it does not come out as it went in; a test checks that it does.
fn section(id: &str, title: &str, example: Option<Example>) -> Markup {
    html! {
        h2 id=(id) { (title) } (NEWLINE)
        @if let Some(example) = example { (table(&example)) }
    }
}

/// A batch of one record.
pub(super) fn batch() -> Option<Example> {
    fn build() -> RecordsResult<Bytes> {
        let record = Record::new("prague", "Dear Milena").with_timestamp(NOW).with_header("lang", "en");
        let mut builder = BatchBuilder::new();
        builder.push(&record)?;
        builder.build()
    }
    let mut walk = Walk::new(build().ok()?);
    walk.title("Batch");
    walk.fixed(BATCH).ok()?;
    walk.title("Record");
    walk.record().ok()?;
    walk.finish()
}

/// A message of the formats before batches.
pub(super) fn message(magic: i8) -> Option<Example> {
    let key = Some(&b"prague"[..]);
    let value = Some(&b"Dear Milena"[..]);
    let mut bytes = Vec::new();
    LegacyMessage { magic, timestamp: NOW, key, value, ..LegacyMessage::default() }.write(&mut bytes).ok()?;
    let mut walk = Walk::new(bytes.into());
    walk.title("Message");
    walk.fixed(if magic == 0 { &MESSAGE[..5] } else { MESSAGE }).ok()?;
    for name in ["key", "value"] {
        let length = walk.number(&format!("{name} length"), "int32", |reader| Ok(i64::from(reader.i32()?))).ok()?;
        walk.text(name, length).ok()?;
    }
    walk.finish()
}

/// Reads bytes field by field and notes each down.
struct Walk {
    bytes: Bytes,
    reader: Reader,
    lines: Vec<Line>,
}

impl Walk {
    fn new(bytes: Bytes) -> Self {
        Self { reader: Reader::new(bytes.clone()), bytes, lines: Vec::new() }
    }

    fn line(&mut self, range: Range<usize>, name: &str, ty: &str, value: String, role: Role) {
        let (name, ty) = (name.to_owned(), ty.to_owned());
        self.lines.push(Line { range, depth: 1, name, ty, value, role });
    }

    fn title(&mut self, name: &str) {
        let at = self.reader.position();
        self.line(at..at, name, "", String::new(), Role::Title);
    }

    fn number(&mut self, name: &str, ty: &str, read: impl FnOnce(&mut Reader) -> Result<i64>) -> Result<i64> {
        let start = self.reader.position();
        let number = read(&mut self.reader)?;
        self.line(start..self.reader.position(), name, ty, number.to_string(), Role::Field);
        Ok(number)
    }

    fn fixed(&mut self, fields: &Fields) -> Result<()> {
        for (name, ty) in fields {
            self.number(name, ty, |reader| match *ty {
                "int8" => Ok(i64::from(reader.i8()?)),
                "int16" => Ok(i64::from(reader.i16()?)),
                "int32" => Ok(i64::from(reader.i32()?)),
                "uint32" => Ok(i64::from(reader.u32()?)),
                _ => reader.i64(),
            })?;
        }
        Ok(())
    }

    fn varint(&mut self, name: &str) -> Result<i64> {
        self.number(name, "varint", |reader| Ok(i64::from(reader.varint()?)))
    }

    /// So many bytes; none if the length says null.
    fn text(&mut self, name: &str, length: i64) -> Result<()> {
        let start = self.reader.position();
        for _ in 0..length {
            self.reader.i8()?;
        }
        let range = start..self.reader.position();
        let text = String::from_utf8_lossy(self.bytes.get(range.clone()).unwrap_or_default()).into_owned();
        self.line(range, name, "bytes", format!("{text:?}"), Role::Field);
        Ok(())
    }

    fn record(&mut self) -> Result<()> {
        self.varint("length")?;
        self.fixed(&[("attributes", "int8")])?;
        self.number("timestampDelta", "varlong", Reader::varlong)?;
        self.varint("offsetDelta")?;
        for name in ["key", "value"] {
            let length = self.varint(&format!("{name} length"))?;
            self.text(name, length)?;
        }
        for _ in 0..self.varint("header count")? {
            for name in ["header key", "header value"] {
                let length = self.varint(&format!("{name} length"))?;
                self.text(name, length)?;
            }
        }
        Ok(())
    }

    /// All of it, if nothing is left.
    fn finish(self) -> Option<Example> {
        (self.reader.remaining() == 0).then_some(Example { bytes: self.bytes, lines: self.lines })
    }
}
