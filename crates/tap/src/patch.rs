//! Bytes of a frame that become others.

use std::ops::Range;

use bytes::Bytes;
use milena_schema::TagSize;
use milena_wire::varint;

/// Changes to one frame. What is not named in them stays as it is, byte for byte.
#[derive(Debug, Default)]
pub(crate) struct Patches {
    patches: Vec<(Range<usize>, Bytes)>,
    tags: Vec<TagChange>,
}

/// A tagged field that grew or shrank.
#[derive(Debug)]
struct TagChange {
    tag: TagSize,
    /// The tagged field around it, as an index.
    around: Option<usize>,
    grown: isize,
}

impl Patches {
    pub(crate) fn is_empty(&self) -> bool {
        self.patches.is_empty()
    }

    /// Puts other bytes in a place. Places do not overlap and come in their order.
    pub(crate) fn put(&mut self, at: Range<usize>, bytes: Bytes) {
        self.patches.push((at, bytes));
    }

    /// Puts other bytes in a place inside of tagged fields, the outermost first, and makes their sizes right.
    pub(crate) fn put_inside(&mut self, tags: &[TagSize], at: Range<usize>, bytes: Bytes) {
        let mut around = None;
        for tag in tags {
            let known = self.tags.iter().rposition(|change| change.tag.at == tag.at);
            around = Some(known.unwrap_or_else(|| {
                self.tags.push(TagChange { tag: tag.clone(), around, grown: 0 });
                self.tags.len() - 1
            }));
        }
        if let Some(innermost) = around {
            self.tags[innermost].grown += bytes.len() as isize - at.len() as isize;
        }
        self.put(at, bytes);
    }

    /// The frame with its changes, in pieces to be written one after the other. What did not change is not copied.
    pub(crate) fn apply(mut self, frame: &Bytes) -> Vec<Bytes> {
        // Inner tags come after those around them.
        for index in (0..self.tags.len()).rev() {
            let TagChange { tag, around, grown } = &self.tags[index];
            if *grown == 0 {
                continue;
            }
            let mut size = Vec::new();
            varint::write_u32(&mut size, tag.size.saturating_add_signed(*grown as i32));
            let all = *grown + size.len() as isize - tag.at.len() as isize;
            if let Some(around) = *around {
                self.tags[around].grown += all;
            }
            let at = self.tags[index].tag.at.clone();
            self.patches.push((at, size.into()));
        }
        self.patches.sort_by_key(|(at, _)| at.start);
        let mut pieces = Vec::with_capacity(2 * self.patches.len() + 1);
        let mut done = 0;
        for (at, bytes) in self.patches {
            pieces.push(frame.slice(done..at.start));
            pieces.push(bytes);
            done = at.end;
        }
        pieces.push(frame.slice(done..));
        pieces.retain(|piece| !piece.is_empty());
        pieces
    }
}
