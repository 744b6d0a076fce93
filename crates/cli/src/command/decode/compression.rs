//! Input that is compressed as a whole, as captures often are.

use std::io::{self, BufRead, Read};

use flate2::bufread::MultiGzDecoder;

/// A format of compressed files, recognised by how they begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Compression {
    pub(super) name: &'static str,
    magic: &'static [u8],
    /// Writes the content of the file to stdout.
    command: &'static str,
}

const ALL: [Compression; 6] = [
    Compression { name: "gzip", magic: &[0x1f, 0x8b, 8], command: "gzip -dc" },
    Compression { name: "zstd", magic: &[0x28, 0xb5, 0x2f, 0xfd], command: "zstd -dc" },
    Compression { name: "xz", magic: &[0xfd, b'7', b'z', b'X', b'Z', 0], command: "xz -dc" },
    Compression { name: "bzip2", magic: b"BZh", command: "bzip2 -dc" },
    Compression { name: "lz4", magic: &[4, 0x22, 0x4d, 0x18], command: "lz4 -dc" },
    Compression { name: "zip", magic: b"PK\x03\x04", command: "unzip -p" },
];

impl Compression {
    /// Of a file that begins with these bytes.
    pub(super) fn of(first: &[u8]) -> Option<Self> {
        ALL.into_iter().find(|one| first.starts_with(one.magic))
    }

    /// What to do about it.
    pub(super) fn hint(self) -> String {
        format!("decompress it first: {} FILE | milena decode -", self.command)
    }
}

/// The first bytes of the content, decompressed if they are gzip's: at most four.
pub(super) fn first_of(bytes: &[u8]) -> Vec<u8> {
    let mut first = Vec::new();
    // What cannot be decompressed begins with nothing.
    let _ = match Compression::of(bytes) {
        Some(Compression { name: "gzip", .. }) => MultiGzDecoder::new(bytes).take(4).read_to_end(&mut first),
        _ => bytes.take(4).read_to_end(&mut first),
    };
    first
}

/// The content of an input, decompressed if it is gzip's.
///
/// # Errors
/// Those of the input.
pub(super) fn open<'a>(mut input: impl BufRead + 'a) -> io::Result<Box<dyn Read + 'a>> {
    match Compression::of(input.fill_buf()?) {
        Some(Compression { name: "gzip", .. }) => Ok(Box::new(MultiGzDecoder::new(input))),
        _ => Ok(Box::new(input)),
    }
}
