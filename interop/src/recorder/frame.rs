//! Frames out of a stream of bytes: a size of four bytes, and so many more.

/// Far above any frame of a recording; a size beyond it means that these are no frames.
const MAX: usize = 64 << 20;

/// Collects the bytes of one direction until a frame is whole.
#[derive(Debug, Default)]
pub(crate) struct Frames {
    bytes: Vec<u8>,
    foreign: bool,
}

impl Frames {
    /// Takes more bytes and gives every frame that is whole now, without its size.
    ///
    /// Bytes that are no frames are not kept; nothing comes of that direction any more.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let mut whole = Vec::new();
        if self.foreign {
            return whole;
        }
        self.bytes.extend_from_slice(bytes);
        let mut rest = &self.bytes[..];
        while let Some((size, after)) = rest.split_first_chunk::<4>() {
            let size = usize::try_from(i32::from_be_bytes(*size)).unwrap_or(usize::MAX);
            if size > MAX {
                self.foreign = true;
                self.bytes.clear();
                return whole;
            }
            let Some((frame, next)) = after.split_at_checked(size) else { break };
            whole.push(frame.to_vec());
            rest = next;
        }
        self.bytes = rest.to_vec();
        whole
    }

    /// Whether the bytes were something else.
    pub(crate) fn is_foreign(&self) -> bool {
        self.foreign
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_come_whole_however_their_bytes_come() {
        let stream = [0, 0, 0, 2, 7, 8, 0, 0, 0, 0, 0, 0, 0, 1, 9];
        for cut in 0..stream.len() {
            let mut frames = Frames::default();
            let mut found = frames.push(&stream[..cut]);
            found.extend(frames.push(&stream[cut..]));
            assert_eq!(found, [vec![7, 8], vec![], vec![9]], "cut at {cut}");
        }
    }

    #[test]
    fn other_protocols_are_no_frames() {
        let mut frames = Frames::default();
        assert!(frames.push(b"GET / HTTP/1.1\r\n").is_empty());
        assert!(frames.is_foreign());
        assert!(frames.push(&[0, 0, 0, 0]).is_empty());
    }
}
