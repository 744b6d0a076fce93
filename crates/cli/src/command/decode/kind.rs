//! What bytes are: said by the caller, or seen by the name of a file or by its content.

use std::path::Path;

use bytes::Bytes;
use clap::ValueEnum;
use milena_connection::Foreign;
use milena_inspect::blob;
use milena_inspect::stream::{Assume, Piece, guess, is_request, read, split};
use milena_storage::{FileKind, FileName};

/// What bytes can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    /// Look at it
    Auto,
    /// Frames of requests and responses, with their sizes in front or one without
    Frames,
    /// A message alone, named by --message and --version
    Message,
    /// Record batches and message sets of any magic
    Records,
    /// Files of a broker's log, or the folder of a partition
    Segment,
    /// A capture of a network, in a pcap or pcapng file
    Capture,
    /// Frames as JSON lines, as `milena tap` saves them
    Trace,
    /// What members of a group send each other; --blob says which
    Blob,
    /// A record of one of Kafka's own topics: --topic, --key, --value
    Topic,
}

impl Kind {
    /// By the name of a file or folder.
    pub(super) fn of_path(path: &Path) -> Option<Self> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let segment = path.is_dir() || FileName::parse(name).is_some_and(|found| is_of_broker(name, found.kind));
        segment.then_some(Self::Segment)
    }

    /// By what it is.
    pub(super) fn of_bytes(bytes: &[u8]) -> Option<Self> {
        if is_trace(bytes) {
            return Some(Self::Trace);
        }
        // Offset 0 of a batch reads as a request of Produce without its size, so the order matters.
        if Foreign::detect(bytes).is_some() || begins_with_sized_request(bytes) {
            return Some(Self::Frames);
        }
        if is_batch(bytes) {
            return Some(Self::Records);
        }
        Self::of_frame_or_blob(&Bytes::copy_from_slice(bytes))
    }

    /// None of them says for sure what it is, so that all have to be tried.
    fn of_frame_or_blob(bytes: &Bytes) -> Option<Self> {
        let pieces = split(bytes, |_| false);
        let sized = |piece: &Piece| piece.size.and_then(|size| usize::try_from(size).ok()) == Some(piece.bytes.len());
        if !pieces.is_empty() && pieces.iter().all(|piece| sized(piece) && piece.bytes.len() >= 4) {
            return Some(Self::Frames);
        }
        let request = is_request(bytes);
        if request && read(bytes, Assume::Requests).iter().all(|found| found.frame.decode().is_ok()) {
            return Some(Self::Frames);
        }
        if blob::guess(bytes.clone()).first().is_some_and(|best| best.leftover == 0) {
            return Some(Self::Blob);
        }
        // It may have been cut off after its beginning.
        if blob::guess_cut_off(bytes.clone()).is_some() {
            return Some(Self::Blob);
        }
        let request = request || bytes.get(4..).is_some_and(is_request);
        (request || !guess(bytes).is_empty()).then_some(Self::Frames)
    }
}

/// Anybody may call a file something.log; that of a broker begins with an offset of 20 digits.
fn is_of_broker(name: &str, kind: FileKind) -> bool {
    let offset = name.bytes().take(20).filter(u8::is_ascii_digit).count() == 20;
    kind < FileKind::Log || offset || name == "bootstrap.checkpoint"
}

/// Whether a long input is batches of records, by its first bytes. A short one is looked at as a whole.
pub(super) fn begins_with_batch(head: &[u8], is_whole: bool) -> bool {
    if is_whole {
        return Kind::of_bytes(head) == Some(Kind::Records);
    }
    let size =
        |at: usize| head.get(at..at + 4).and_then(|size| size.first_chunk()).map(|size| i32::from_be_bytes(*size));
    // Both may be larger than what is there.
    let is_request = size(0).is_some_and(|size| size >= 8) && head.get(4..).is_some_and(is_request);
    let is_large = matches!(head.get(16..18), Some([0 | 1, 0..=0x0f])) && size(8).is_some_and(|size| size >= 14);
    !is_trace(head) && Foreign::detect(head).is_none() && !is_request && (is_batch(head) || is_large)
}

fn begins_with_sized_request(bytes: &[u8]) -> bool {
    let size = bytes.first_chunk().and_then(|size| usize::try_from(i32::from_be_bytes(*size)).ok());
    size.is_some_and(|size| (8..=bytes.len() - 4).contains(&size)) && bytes.get(4..).is_some_and(is_request)
}

/// Offset, size and a magic that there is. Of one that is cut off the attributes have to make sense as well.
fn is_batch(bytes: &[u8]) -> bool {
    let size = bytes.get(8..12).and_then(|size| size.first_chunk()).map_or(0, |size| i32::from_be_bytes(*size));
    let whole = usize::try_from(size).is_ok_and(|size| size + 12 <= bytes.len());
    match bytes.get(16) {
        Some(2) => size >= 49 && (whole || matches!(bytes.get(21..23), Some([0, 0..=0x7f]))),
        Some(0 | 1) => size >= 14 && whole,
        _ => false,
    }
}

/// A line of JSON that has a frame.
fn is_trace(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii_start();
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let has = |name: &[u8]| line.windows(name.len()).any(|window| window == name);
    text.starts_with(b"{") && has(b"\"frame\"") && has(b"\"direction\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_broker_are_known_by_name() {
        for name in [
            "00000000000000000000.log",
            "topic-0/00000000000000000017.timeindex",
            "leader-epoch-checkpoint",
            "data/meta.properties",
            "00000000000000000007-0000000001.checkpoint",
            "partition.metadata",
            "quorum-state",
            "bootstrap.checkpoint",
            "00000000000000000291.index.deleted",
        ] {
            assert_eq!(Kind::of_path(Path::new(name)), Some(Kind::Segment), "{name}");
        }
        for name in ["server.log", "frame.bin", "0000", "dump.hex"] {
            assert_eq!(Kind::of_path(Path::new(name)), None, "{name}");
        }
    }

    #[test]
    fn bytes_are_known_by_what_they_begin_with() {
        let cases: [(&[u8], Option<Kind>); 8] = [
            (b"\0\0\0\x0a\0\x12\0\0\0\0\0\x01\xff\xff", Some(Kind::Frames)),
            (b"\0\x12\0\0\0\0\0\x01\xff\xff", Some(Kind::Frames)),
            (b"\x16\x03\x01\x02\0\x01", Some(Kind::Frames)),
            (b"HTTP/1.1 400 Bad Request", Some(Kind::Frames)),
            (b"\0\0\0\0\0\0\0\0\0\0\0\x31\0\0\0\0\x02\0\0\0\0\0\0", Some(Kind::Records)),
            (b"\0\0\0\0\0\0\0\0\0\0\0\x0e\0\0\0\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff", Some(Kind::Records)),
            (b" {\"direction\":\"request\",\"frame\":\"\"}\n", Some(Kind::Trace)),
            (b"\0\x01", None),
        ];
        for (bytes, kind) in cases {
            assert_eq!(Kind::of_bytes(bytes), kind, "{}", bytes.escape_ascii());
        }
    }
}
