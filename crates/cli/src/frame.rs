//! Frames in bytes that somebody found somewhere: with their size in front or without, one or many.

use bytes::Bytes;
use milena_messages::ApiKey;
use milena_schema::{Api, Spec};

/// Key, version and correlation id.
const SHORTEST_HEADER: usize = 8;

/// One frame.
pub(crate) struct Frame {
    /// Where it begins in the input, with its size if that is there.
    pub(crate) start: usize,
    /// The size that stands in front.
    pub(crate) size: Option<i32>,
    /// Header and body.
    pub(crate) bytes: Bytes,
}

impl Frame {
    /// Where header and body begin in the input.
    pub(crate) fn base(&self) -> usize {
        self.start + if self.size.is_some() { 4 } else { 0 }
    }
}

/// Cuts bytes into frames.
///
/// Sizes count as such when they divide the input without a rest. If they do not, the input is one frame without size if
/// `is_frame` says that it can be, and a frame that was cut off otherwise.
pub(crate) fn split(bytes: &Bytes, is_frame: impl Fn(&[u8]) -> bool) -> Vec<Frame> {
    let mut frames = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let rest = bytes.slice(start..);
        let size = rest.first_chunk().map(|size| i32::from_be_bytes(*size));
        let length = size.and_then(|size| usize::try_from(size).ok()).filter(|length| *length <= rest.len() - 4);
        let (Some(size), Some(length)) = (size, length) else {
            break;
        };
        frames.push(Frame { start, size: Some(size), bytes: rest.slice(4..4 + length) });
        start += 4 + length;
    }
    if start == bytes.len() {
        return frames;
    }
    if is_frame(bytes) {
        return vec![Frame { start: 0, size: None, bytes: bytes.clone() }];
    }
    // What follows the whole frames was cut off, or the first one was.
    let rest = bytes.slice(start..);
    match rest.first_chunk() {
        Some(size) => {
            let size = i32::from_be_bytes(*size);
            frames.push(Frame { start, size: Some(size), bytes: rest.slice(4..) });
        }
        None => frames.push(Frame { start, size: None, bytes: rest }),
    }
    frames
}

/// Whether bytes begin with the key and a version of an API, as a request without its size does.
pub(crate) fn begins_with_api(bytes: &[u8]) -> bool {
    bytes.len() >= SHORTEST_HEADER && request_api(bytes).is_ok()
}

/// The API and version that a request names.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn request_api(bytes: &[u8]) -> Result<(&'static Api, i16), String> {
    let Some([a, b, c, d]) = bytes.first_chunk() else {
        return Err(format!("{} bytes are too few to name an API and a version", bytes.len()));
    };
    let (key, version) = (i16::from_be_bytes([*a, *b]), i16::from_be_bytes([*c, *d]));
    let Some(api) = Spec::kafka().api(key) else {
        return Err(format!("it names API key {key}, which no release has"));
    };
    match api.versions.contains(version) {
        true => Ok((api, version)),
        false => Err(format!("it names {} version {version}, valid are {}", ApiKey(key), api.versions)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(bytes: &'static [u8]) -> Vec<(usize, Option<i32>, usize)> {
        let frames = split(&Bytes::from_static(bytes), begins_with_api);
        frames.iter().map(|frame| (frame.base(), frame.size, frame.bytes.len())).collect()
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
