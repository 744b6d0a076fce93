//! Bytes of one direction, with holes, to frames.

use bytes::{Bytes, BytesMut};
use milena_connection::DEFAULT_MAX_FRAME;

use super::stream::Piece;

/// What is kept of a frame for which there is no room.
const PREFIX: usize = 4096;

/// Room that is made for a frame beforehand; more comes as its bytes do.
const ROOM: usize = 64 * 1024;

/// What happens to what a [`Framer`] finds.
pub(super) trait Sink {
    /// Where in these bytes, which are the payload of a segment or its end, a frame begins.
    fn find(&mut self, bytes: &[u8]) -> Option<usize>;
    /// Whether a frame of that size can be.
    fn can_be(&self, size: usize) -> bool;
    /// A frame; `missing` bytes of its end were not seen.
    fn frame(&mut self, bytes: Bytes, missing: usize);
    /// Between two frames there are bytes that are not known, and bytes that make no frame.
    fn gap(&mut self, gap: Lost);
}

/// What lies between two frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Lost {
    /// Bytes that passed and were not captured.
    pub(super) missing: u64,
    /// Bytes that were captured and passed over.
    pub(super) passed: u64,
    /// More is missing; how much is not known.
    pub(super) unknown: bool,
}

/// Cuts one direction of a connection into frames. A frame with a hole in it comes out as what was before the hole; when
/// the hole goes over its end, reading goes on where a frame is recognised.
#[derive(Debug, Default)]
pub(super) struct Framer {
    /// The next byte is the first of a frame, or one of the frame that is being read.
    synced: bool,
    /// The frame that is being read, with its size in front.
    buf: BytesMut,
    /// Bytes of it that will be passed over, because something is missing in front of them.
    skip: usize,
    lost: Lost,
}

impl Framer {
    /// The first byte of the connection comes next.
    pub(super) fn begin(&mut self) {
        *self = Self { synced: true, ..Self::default() };
    }

    /// Bytes of a frame that is not whole.
    pub(super) fn held(&self) -> usize {
        self.buf.len()
    }

    pub(super) fn take(&mut self, piece: Piece<'_>, sink: &mut impl Sink) {
        match piece {
            Piece::Data(bytes) => self.data(bytes, sink),
            Piece::Hole(size) => self.hole(size, sink),
            Piece::Break => {
                self.lose(self.held() as u64, 0);
                self.lost.unknown = true;
            }
        }
    }

    /// Keeps no more than the start of the frame that is being read.
    pub(super) fn shed(&mut self) {
        let Some(rest) = self.rest() else { return };
        if self.buf.len() > PREFIX && rest > 0 {
            self.skip = rest;
            self.cut_to(PREFIX);
        }
    }

    /// The connection is at its end.
    pub(super) fn finish(&mut self, sink: &mut impl Sink) {
        match self.rest() {
            Some(_) => self.cut_frame(sink),
            None => self.lose(self.held() as u64, 0),
        }
        self.report(sink);
    }

    fn data(&mut self, mut data: &[u8], sink: &mut impl Sink) {
        while !data.is_empty() {
            if !self.synced {
                let Some(at) = sink.find(data) else {
                    self.lost.passed += data.len() as u64;
                    return;
                };
                self.lost.passed += at as u64;
                data = &data[at..];
                self.report(sink);
                self.synced = true;
            }
            if self.skip > 0 {
                let step = self.skip.min(data.len());
                data = &data[step..];
                self.skip -= step;
                if self.skip == 0 {
                    self.cut_frame(sink);
                }
                continue;
            }
            data = self.collect(data, sink);
        }
    }

    /// Takes bytes up to the end of the size or of the frame.
    fn collect<'a>(&mut self, data: &'a [u8], sink: &mut impl Sink) -> &'a [u8] {
        if self.buf.is_empty() {
            // Most frames come in one segment.
            if let Some(size) = size_of(data).filter(|size| sink.can_be(*size)) {
                if let Some(frame) = data.get(4..4 + size) {
                    sink.frame(Bytes::copy_from_slice(frame), 0);
                    return &data[4 + size..];
                }
            }
        }
        let wanted = match size_of(&self.buf) {
            Some(size) => 4 + size - self.buf.len(),
            None => 4 - self.buf.len(),
        };
        let (taken, rest) = data.split_at(wanted.min(data.len()));
        self.buf.extend_from_slice(taken);
        let Some(size) = size_of(&self.buf) else {
            // Four bytes that are no size.
            if self.buf.len() >= 4 {
                self.lose(4, 0);
            }
            return rest;
        };
        if !sink.can_be(size) {
            self.lose(self.held() as u64, 0);
        } else if self.buf.len() == 4 + size {
            let mut frame = std::mem::take(&mut self.buf).freeze();
            sink.frame(frame.split_off(4), 0);
        } else if self.buf.len() == 4 {
            self.buf.reserve(size.min(ROOM));
        }
        rest
    }

    fn hole(&mut self, size: u64, sink: &mut impl Sink) {
        if !self.synced {
            self.lost.missing += size;
            return;
        }
        match self.rest().map(|rest| rest as u64) {
            // The frame ends after the hole, so the next one is known to begin there.
            Some(rest) if size <= rest => {
                self.skip = (rest - size) as usize;
                if self.skip == 0 {
                    self.cut_frame(sink);
                } else {
                    self.cut_to(usize::MAX);
                }
            }
            Some(rest) => {
                self.cut_frame(sink);
                self.lose(0, size - rest);
            }
            None => self.lose(self.held() as u64, size),
        }
    }

    /// Bytes of the frame that are to come; `None` when that is not known, or between frames.
    fn rest(&self) -> Option<usize> {
        match self.skip {
            0 => size_of(&self.buf).map(|size| 4 + size - self.buf.len()),
            skip => Some(skip),
        }
    }

    /// From now on what is in `buf` is all that there will be of the frame, and the memory fits it.
    fn cut_to(&mut self, length: usize) {
        let length = length.min(self.buf.len());
        self.buf = BytesMut::from(&self.buf[..length]);
    }

    /// Gives a frame of which the end is missing.
    fn cut_frame(&mut self, sink: &mut impl Sink) {
        self.skip = 0;
        let buf = std::mem::take(&mut self.buf);
        if let (Some(size), Some(frame)) = (size_of(&buf), buf.get(4..)) {
            sink.frame(Bytes::copy_from_slice(frame), size - frame.len());
        }
    }

    fn lose(&mut self, passed: u64, missing: u64) {
        self.buf = BytesMut::new();
        self.skip = 0;
        self.synced = false;
        self.lost.passed += passed;
        self.lost.missing += missing;
    }

    fn report(&mut self, sink: &mut impl Sink) {
        let lost = std::mem::take(&mut self.lost);
        if lost != Lost::default() {
            sink.gap(lost);
        }
    }
}

/// The size that stands in front of a frame, if it can be one.
fn size_of(bytes: &[u8]) -> Option<usize> {
    let size = i32::from_be_bytes(*bytes.first_chunk()?);
    usize::try_from(size).ok().filter(|size| *size <= DEFAULT_MAX_FRAME)
}
