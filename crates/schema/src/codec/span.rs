use std::ops::Range;

use bytes::Bytes;
use milena_wire::Reader;

use super::note::{Annotated, Note, NoteContent};

/// A run of bytes that means one thing.
#[derive(Clone, Debug, PartialEq)]
pub struct Span<'a> {
    /// The bytes; empty for a struct, whose fields have spans of their own.
    pub range: Range<usize>,
    /// 0 for the message, 1 for its fields.
    pub depth: usize,
    /// What they mean.
    pub meaning: Meaning<'a>,
}

/// What a run of bytes means.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaning<'a> {
    /// A field or element; of what holds others only the bytes in front of the first: a count, or a marker of null.
    Note(&'a Note),
    /// How many tagged fields follow.
    TagCount(u32),
    /// The head of a tagged field.
    Tag {
        /// Its tag.
        tag: u32,
        /// Bytes of its value.
        size: u32,
    },
    /// Bytes that no field claims.
    Other,
}

impl Annotated {
    /// The bytes of the message from first to last, without a gap or an overlap, and what each run of them means.
    /// `bytes` are those that were annotated.
    pub fn spans(&self, bytes: &Bytes) -> Vec<Span<'_>> {
        let mut walk = Walk { notes: &self.notes, bytes, spans: Vec::new() };
        walk.note(0);
        walk.spans
    }
}

struct Walk<'a, 'b> {
    notes: &'a [Note],
    bytes: &'b Bytes,
    spans: Vec<Span<'a>>,
}

impl<'a> Walk<'a, '_> {
    /// One note with all that is inside of it. Gives the index of the next.
    fn note(&mut self, index: usize) -> usize {
        let notes = self.notes;
        let Some(note) = notes.get(index) else { return index };
        let inner = |index: usize| notes.get(index).filter(|inner| inner.depth > note.depth);
        let own = match inner(index + 1) {
            Some(first) if first.tag.is_none() => note.range.start..first.range.start,
            None if note.content != NoteContent::Struct => note.range.clone(),
            _ => note.range.start..note.range.start,
        };
        let mut cursor = own.end;
        self.spans.push(Span { range: own, depth: note.depth, meaning: Meaning::Note(note) });
        let mut next = index + 1;
        let mut counted = false;
        while let Some(field) = inner(next) {
            if field.tag.is_some() {
                if !counted {
                    cursor = self.tag_count(cursor, field.range.start, note.depth + 1);
                    counted = true;
                }
                self.tag(cursor..field.range.start, note.depth + 1);
            }
            cursor = field.range.end;
            next = self.note(next);
        }
        if note.content == NoteContent::Struct && !counted {
            cursor = self.tag_count(cursor, note.range.end, note.depth + 1);
        }
        self.push(cursor..note.range.end, note.depth + 1, Meaning::Other);
        next
    }

    fn tag_count(&mut self, start: usize, end: usize, depth: usize) -> usize {
        let mut reader = self.reader(start..end);
        match reader.uvarint() {
            Ok(count) => {
                let end = start + reader.position();
                self.push(start..end, depth, Meaning::TagCount(count));
                end
            }
            Err(_) => start,
        }
    }

    fn tag(&mut self, range: Range<usize>, depth: usize) {
        let mut reader = self.reader(range.clone());
        let meaning = match (reader.uvarint(), reader.uvarint()) {
            (Ok(tag), Ok(size)) if reader.remaining() == 0 => Meaning::Tag { tag, size },
            _ => Meaning::Other,
        };
        self.push(range, depth, meaning);
    }

    fn push(&mut self, range: Range<usize>, depth: usize, meaning: Meaning<'a>) {
        if !range.is_empty() {
            self.spans.push(Span { range, depth, meaning });
        }
    }

    /// A reader of these bytes; of none if they are not there.
    fn reader(&self, range: Range<usize>) -> Reader {
        let there = range.start <= range.end && range.end <= self.bytes.len();
        Reader::new(if there { self.bytes.slice(range) } else { Bytes::new() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;

    #[test]
    fn the_tags_of_an_api_versions_response_stand_apart() {
        // ApiVersionsResponse v3: no error, no APIs, no throttle time, one tagged field: tag 1, 8 bytes, epoch 5.
        let bytes = Bytes::from_static(&[0, 0, 1, 0, 0, 0, 0, 1, 1, 8, 0, 0, 0, 0, 0, 0, 0, 5]);
        let annotated = Spec::kafka().message("ApiVersionsResponse").unwrap().decode_annotated(bytes.clone(), 3);
        let spans = annotated.spans(&bytes);
        let tail: Vec<_> = spans[spans.len() - 3..].iter().map(|span| (span.range.clone(), &span.meaning)).collect();
        assert_eq!(tail[0], (7..8, &Meaning::TagCount(1)));
        assert_eq!(tail[1], (8..10, &Meaning::Tag { tag: 1, size: 8 }));
        assert_eq!(tail[2].0, 10..18);
    }

    #[test]
    fn spans_cover_every_byte_of_every_message() {
        for message in &Spec::kafka().messages {
            for version in message.versions.iter() {
                let bytes = message.encode(&message.sample_json(version, 7).unwrap(), version).unwrap();
                let annotated = message.decode_annotated(bytes.clone(), version);
                let mut at = 0;
                for span in annotated.spans(&bytes) {
                    assert_eq!(span.range.start, at, "{} version {version}: {span:?}", message.name);
                    assert_ne!(span.meaning, Meaning::Other, "{} version {version}: {span:?}", message.name);
                    at = span.range.end;
                }
                assert_eq!(at, bytes.len(), "{} version {version}", message.name);
            }
        }
    }
}
