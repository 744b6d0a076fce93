use std::ops::Range;

use bytes::Bytes;
use milena_wire::{Error, Reader, Result, UnknownTags, varint};

use super::JSON_LIMITS;
use super::plan::Plan;
use super::scan::Scalar;
use super::walk::{Place, Visit, Walker};
use crate::model::{Field, MessageSpec, StructSpec, Type};

/// Finds a few fields in the messages of one version, and steps over all others by their sizes.
///
/// Made once by [`MessageSpec::finder`] for the fields that the caller wants, it takes a small part of the time of
/// [`MessageSpec::scan`]: text is not looked at, records are stepped over by their length.
///
/// ```
/// use milena_schema::{Entity, Scalar, Spec};
///
/// let message = Spec::kafka().message("MetadataResponse")?;
/// let finder = message.finder(0, |_, field| field.entity == Some(Entity::TopicName))?;
/// // No brokers; a topic without an error and without partitions.
/// let bytes = b"\0\0\0\0\0\0\0\x01\0\0\0\x07letters\0\0\0\0";
/// let mut topics = Vec::new();
/// finder.walk(&bytes[..].into(), 0, |found| topics.push((found.value, found.range)))?;
/// assert_eq!(topics, [(Scalar::Text("letters".into()), 10..19)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Finder<'a> {
    message: &'a MessageSpec,
    version: i16,
    plan: Plan,
    exact_tags: bool,
}

/// A field that was found. Nulls are not.
#[derive(Debug)]
pub struct Found<'a, 'w> {
    /// Its layout.
    pub field: &'a Field,
    /// Its value, or one element of it where it is an array.
    pub value: Scalar,
    /// Its bytes, with the length in front of text and bytes.
    pub range: Range<usize>,
    /// Whether a length in front is a varint.
    pub flexible: bool,
    /// The sizes of the tagged fields around it, outermost first.
    pub tags: &'w [TagSize],
}

/// The size in front of the value of a tagged field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagSize {
    /// The bytes of the size, a varint.
    pub at: Range<usize>,
    /// The size that it states.
    pub size: u32,
}

impl MessageSpec {
    /// A finder of the fields of a version that `wanted` names; it is asked about each field with the struct around it.
    ///
    /// # Errors
    /// A version that the message lacks.
    pub fn finder(&self, version: i16, wanted: impl Fn(&StructSpec, &Field) -> bool) -> Result<Finder<'_>> {
        self.check_version(version)?;
        Ok(Finder { message: self, version, plan: Plan::new(self, version, &wanted), exact_tags: false })
    }
}

impl<'a> Finder<'a> {
    /// Whether the version has any of the fields.
    pub fn finds_anything(&self) -> bool {
        self.plan.is_wanted()
    }

    /// The same, but a walk ends after the last place where a wanted field can be.
    #[must_use]
    pub fn until_last(mut self) -> Self {
        self.plan.truncate();
        self
    }

    /// The same, but a tagged field that holds wanted fields and is not as long as its size says is refused. Kafka does not
    /// look at that size; who changes the message has to.
    #[must_use]
    pub fn with_exact_tags(mut self) -> Self {
        self.exact_tags = true;
        self
    }

    /// Walks over the message that begins at byte `start` of `bytes`, and shows the wanted fields in the order of the wire.
    /// Ranges, and the offsets of errors, count from the start of `bytes`. Gives the count of bytes after the walk.
    ///
    /// # Errors
    /// The bytes are no such message; what was shown before the error was there.
    pub fn walk(&self, bytes: &Bytes, start: usize, see: impl FnMut(Found<'a, '_>)) -> Result<usize> {
        if start > bytes.len() {
            return Err(Error::malformed(bytes.len(), format!("a message at byte {start} of {}", bytes.len())));
        }
        let mut reader = Reader::with_limits(bytes.slice(start..), JSON_LIMITS);
        let visit = Find { bytes, start, exact_tags: self.exact_tags, tags: Vec::new(), see };
        let mut walker = Walker { message: self.message, version: self.version, visit };
        walker.structure(&mut reader, &self.plan).map_err(|error| self.message.named(error.shift(start)))?;
        Ok(reader.remaining())
    }
}

struct Find<'b, F> {
    bytes: &'b Bytes,
    start: usize,
    exact_tags: bool,
    tags: Vec<TagSize>,
    see: F,
}

impl<'a, F: FnMut(Found<'a, '_>)> Visit<'a> for Find<'_, F> {
    type Value = ();
    type Struct = ();
    type Array = ();

    fn memory(_: usize) -> usize {
        size_of::<u64>()
    }

    fn scalar(&mut self, field: &'a Field, _: &Type, value: Scalar, Place { range, flexible }: Place) {
        let range = self.start + range.start..self.start + range.end;
        (self.see)(Found { field, value, range, flexible, tags: &self.tags });
    }

    fn tagged(&mut self, start: usize) {
        let end = self.start + start;
        // The size ends here. Of a varint all bytes but the last have the highest bit, and another varint is in front.
        let more = self.bytes[..end - 1].iter().rev().take_while(|byte| **byte >= 0x80).count();
        let at = end - 1 - more..end;
        let size = varint::read_u32(&self.bytes[at.clone()]).map_or(0, |(size, _)| size);
        self.tags.push(TagSize { at, size });
    }

    fn tagged_done(&mut self, end: usize) -> Result<()> {
        match self.tags.pop() {
            Some(TagSize { at, size }) if self.exact_tags && self.start + end - at.end != size as usize => {
                let there = self.start + end - at.end;
                Err(Error::malformed(at.start - self.start, format!("size {size} of a tagged field of {there} bytes")))
            }
            _ => Ok(()),
        }
    }

    fn begin(&mut self, _: usize) {}
    fn member(&mut self, (): &mut (), _: &'a StructSpec, _: usize, (): (), _: usize) {}
    fn end(&mut self, (): (), _: &'a StructSpec, _: UnknownTags) {}
    fn open(&mut self, _: usize) {}
    fn push(&mut self, (): &mut (), (): (), _: usize) {}
    fn close(&mut self, (): ()) {}
    fn null(&mut self) {}
}
