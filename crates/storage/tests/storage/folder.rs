//! Log folders that Kafka 4.4, 2.8 and 0.10.2 wrote, with what the DumpLogSegments of 4.4 printed of them. Made by
//! `interop/segment/pack.py`.
//!
//! In `4.4-moved` records of `cut` were deleted up to offset 10 (DeleteRecords), transactions of `span` begin in one segment
//! and are aborted in a later one, `tidy` was compacted, `gone` was deleted, and then the broker was killed.

use std::fs;
use std::path::{Path, PathBuf};

use milena_records::Codec;

pub(crate) const RELEASES: [&str; 4] = ["4.4", "2.8", "0.10.2", "4.4-moved"];

/// Unpacks a folder into a place of its own for the test of that name.
pub(crate) fn unpack(release: &str, test: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../storage/tests/kafka");
    let packed = fs::read(root.join(format!("kafka-{release}.tar.gz"))).unwrap();
    let tape = Codec::Gzip.decompress(&packed, 64 << 20).unwrap();
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{release}"));
    let _ = fs::remove_dir_all(&folder);
    let mut rest = &tape[..];
    while let Some((name, size)) = header(rest) {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, &rest[512..512 + size]).unwrap();
        rest = &rest[512 + size.next_multiple_of(512)..];
    }
    folder
}

/// Name and size of a file in a tar archive; `None` at its end.
fn header(tape: &[u8]) -> Option<(&str, usize)> {
    let text = |range: std::ops::Range<usize>| std::str::from_utf8(&tape[range]).unwrap().trim_end_matches('\0');
    let name = text(0..100);
    (!name.is_empty()).then(|| (name, usize::from_str_radix(text(124..135), 8).unwrap()))
}
