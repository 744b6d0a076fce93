use std::fmt;

use bytes::Bytes;

/// One tagged field that the reader did not know: the tag and its raw value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTag {
    /// The number of the field.
    pub tag: u32,
    /// The value as it came, without tag and size.
    pub data: Bytes,
}

/// The tagged fields of one struct that no version we know defines (KIP-482), kept so that a round trip loses nothing.
///
/// One pointer wide, and empty in almost every message. Written back in ascending order of tags; a list that is not
/// ascending can be read, as in Kafka, but not written.
#[derive(Clone, Default, PartialEq, Eq)]
#[expect(clippy::box_collection, reason = "every struct of every message holds one: 8 bytes instead of 24")]
pub struct UnknownTags(Option<Box<Vec<UnknownTag>>>);

impl UnknownTags {
    /// Appends a tag.
    pub fn push(&mut self, tag: u32, data: Bytes) {
        self.0.get_or_insert_default().push(UnknownTag { tag, data });
    }

    /// The tags in the order they came.
    pub fn iter(&self) -> std::slice::Iter<'_, UnknownTag> {
        self.as_slice().iter()
    }

    /// The tags in the order they came.
    pub fn as_slice(&self) -> &[UnknownTag] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }
}

impl fmt::Debug for UnknownTags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<'a> IntoIterator for &'a UnknownTags {
    type Item = &'a UnknownTag;
    type IntoIter = std::slice::Iter<'a, UnknownTag>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<UnknownTag> for UnknownTags {
    fn from_iter<I: IntoIterator<Item = UnknownTag>>(tags: I) -> Self {
        let tags: Vec<_> = tags.into_iter().collect();
        Self((!tags.is_empty()).then(|| Box::new(tags)))
    }
}
