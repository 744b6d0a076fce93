use bytes::{Buf, Bytes, BytesMut};

use crate::error::{ConnectionError, Result};
use crate::foreign::Foreign;

/// Largest frame taken unless said otherwise: 100 MiB, the default of Kafka's `socket.request.max.bytes`.
pub const DEFAULT_MAX_FRAME: usize = 100 * 1024 * 1024;

/// Room made for the next read. A frame that claims more gets it as its bytes come, not as it claims.
const READ_STEP: usize = 64 * 1024;

/// Cuts a stream of bytes into frames: an int32 size, then that many bytes.
#[derive(Debug)]
pub struct FrameBuffer {
    buf: BytesMut,
    max_frame: usize,
    seen_any: bool,
}

impl FrameBuffer {
    /// An empty buffer that takes frames of at most `max_frame` bytes.
    pub fn new(max_frame: usize) -> Self {
        Self { buf: BytesMut::new(), max_frame, seen_any: false }
    }

    /// Changes the limit of the frames that come next.
    pub fn set_max_frame(&mut self, max_frame: usize) {
        self.max_frame = max_frame;
    }

    /// Bytes that came from the peer; copies them.
    pub fn receive(&mut self, bytes: &[u8]) {
        self.buf.extend_from_slice(bytes);
    }

    /// The buffer itself with room at its end, to read a socket into without a copy.
    pub fn input(&mut self) -> &mut BytesMut {
        let missing = match self.buf.first_chunk() {
            Some(size) => (u32::from_be_bytes(*size) as usize).saturating_add(4).saturating_sub(self.buf.len()),
            None => 0,
        };
        self.buf.reserve(missing.clamp(4096, READ_STEP.max(self.buf.len())));
        &mut self.buf
    }

    /// Bytes that are not part of a frame handed out yet.
    pub fn buffered(&self) -> usize {
        self.buf.len()
    }

    /// The next whole frame without its size; `None` until more bytes come.
    ///
    /// # Errors
    /// A size that cannot be, or is above the limit, or first bytes that belong to another protocol.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>> {
        let Some(head) = self.buf.first_chunk::<4>() else { return Ok(None) };
        let size = i32::from_be_bytes(*head);
        let limit = self.max_frame;
        let too_large = usize::try_from(size).map_or(true, |size| size > limit);
        if !self.seen_any || too_large {
            if let Some(foreign) = Foreign::detect(head) {
                return Err(ConnectionError::Foreign(foreign));
            }
        }
        let Ok(size) = usize::try_from(size) else { return Err(ConnectionError::NegativeFrame { size }) };
        if too_large {
            return Err(ConnectionError::FrameTooLarge { size, limit });
        }
        if self.buf.len() < 4 + size {
            return Ok(None);
        }
        self.seen_any = true;
        self.buf.advance(4);
        Ok(Some(self.buf.split_to(size).freeze()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_out_when_its_last_byte_is_in() {
        let mut frames = FrameBuffer::new(100);
        for byte in [0, 0, 0, 2, b'a'] {
            frames.receive(&[byte]);
            assert_eq!(frames.next_frame(), Ok(None));
        }
        frames.receive(b"b\0\0\0\0");
        assert_eq!(frames.next_frame(), Ok(Some(Bytes::from_static(b"ab"))));
        assert_eq!(frames.next_frame(), Ok(Some(Bytes::new())));
        assert_eq!(frames.next_frame(), Ok(None));
    }

    #[test]
    fn sizes_that_cannot_be_are_refused_at_once() {
        let error = |bytes: &[u8]| {
            let mut frames = FrameBuffer::new(1000);
            frames.receive(bytes);
            frames.next_frame().unwrap_err()
        };
        assert_eq!(error(&[0xff, 0xff, 0xff, 0xfe]), ConnectionError::NegativeFrame { size: -2 });
        assert_eq!(error(&[0, 0, 4, 0]), ConnectionError::FrameTooLarge { size: 1024, limit: 1000 });
    }

    #[test]
    fn other_protocols_are_named() {
        // 369296129, 352518912, 1213486160, 1195725856 and 1397966893 when read as sizes.
        for (number, foreign) in [
            (369_296_129u32, Foreign::TlsHandshake),
            (352_518_912, Foreign::TlsAlert),
            (1_213_486_160, Foreign::Http),
            (1_195_725_856, Foreign::Http),
            (1_397_966_893, Foreign::Ssh),
        ] {
            let mut frames = FrameBuffer::new(i32::MAX as usize);
            frames.receive(&number.to_be_bytes());
            assert_eq!(frames.next_frame(), Err(ConnectionError::Foreign(foreign)), "{number}");
        }
    }

    #[test]
    fn a_claimed_size_reserves_no_more_than_a_step() {
        let mut frames = FrameBuffer::new(i32::MAX as usize);
        frames.receive(&[0x7f, 0xff, 0xff, 0xff]);
        assert!(frames.input().capacity() <= 2 * READ_STEP);
    }
}
