use bytes::Bytes;
use milena_messages::ApiKey;

/// Key, version and correlation id.
const SHORTEST_HEADER: usize = 8;

/// A frame, not looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins in the input, with its size if that is there.
    pub start: usize,
    /// The size that stands in front. It is more than there is when the frame was cut off.
    pub size: Option<i32>,
    /// Header and body.
    pub bytes: Bytes,
}

impl Piece {
    /// Where header and body begin in the input.
    pub fn base(&self) -> usize {
        self.start + if self.size.is_some() { 4 } else { 0 }
    }
}

/// Cuts bytes into frames.
///
/// Sizes count as such when they divide the input without a rest. If they do not, the input is one frame without size if
/// `is_frame` says that it can be, and a frame that was cut off otherwise.
pub fn split(bytes: &Bytes, is_frame: impl Fn(&[u8]) -> bool) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let rest = bytes.slice(start..);
        let size = rest.first_chunk().map(|size| i32::from_be_bytes(*size));
        let length = size.and_then(|size| usize::try_from(size).ok()).filter(|length| *length <= rest.len() - 4);
        let (Some(size), Some(length)) = (size, length) else { break };
        pieces.push(Piece { start, size: Some(size), bytes: rest.slice(4..4 + length) });
        start += 4 + length;
    }
    if start == bytes.len() {
        return pieces;
    }
    if is_frame(bytes) {
        return vec![Piece { start: 0, size: None, bytes: bytes.clone() }];
    }
    // What follows the whole frames was cut off, or the first one was.
    let rest = bytes.slice(start..);
    match rest.first_chunk() {
        Some(size) => {
            let size = i32::from_be_bytes(*size);
            pieces.push(Piece { start, size: Some(size), bytes: rest.slice(4..) });
        }
        None => pieces.push(Piece { start, size: None, bytes: rest }),
    }
    pieces
}

/// Whether bytes begin with the key and a version of an API, as a request without its size does.
pub fn is_request(bytes: &[u8]) -> bool {
    let Some([a, b, c, d]) = bytes.first_chunk() else { return false };
    let (api, version) = (ApiKey(i16::from_be_bytes([*a, *b])), i16::from_be_bytes([*c, *d]));
    bytes.len() >= SHORTEST_HEADER && api.versions().contains(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(bytes: &'static [u8]) -> Vec<(usize, Option<i32>, usize)> {
        let pieces = split(&Bytes::from_static(bytes), is_request);
        pieces.iter().map(|piece| (piece.base(), piece.size, piece.bytes.len())).collect()
    }

    #[test]
    fn sizes_that_fit_divide_the_input() {
        assert_eq!(cut(&[0, 0, 0, 1, 9]), [(4, Some(1), 1)]);
        assert_eq!(cut(&[0, 0, 0, 1, 9, 0, 0, 0, 0]), [(4, Some(1), 1), (9, Some(0), 0)]);
    }

    #[test]
    fn a_request_needs_no_size() {
        assert_eq!(cut(&[0, 18, 0, 0, 0, 0, 0, 7, 255, 255]), [(0, None, 10)]);
    }

    #[test]
    fn what_was_cut_off_is_still_a_frame() {
        assert_eq!(cut(&[0, 0, 1, 0, 0, 18, 0, 0]), [(4, Some(256), 4)]);
        assert_eq!(cut(&[0, 0, 0, 1, 9, 0, 0]), [(4, Some(1), 1), (5, None, 2)]);
        assert!(cut(&[]).is_empty());
    }
}
