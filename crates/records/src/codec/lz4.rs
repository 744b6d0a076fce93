//! LZ4 frames as Kafka's own `Lz4BlockInputStream` reads them, which is not quite what the frame format says: one frame,
//! blocks that stand on their own, the content checksum read but not compared, and in magic 0 a header checksum that is
//! wrong by design. The blocks are those of everyone.

mod xxhash;

use lz4_flex::block;
use milena_wire::counted;
use xxhash::xxh32;

use super::Decompress;
use crate::error::{Error, Result};
use crate::options::Mode;

const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
/// Version 1, independent blocks.
const FLAGS: u8 = 0x60;
/// Blocks of 64 KiB.
const BLOCK_SIZE: u8 = 0x40;
const BLOCK: usize = 64 * 1024;
/// The high bit of a block's size: the block is stored as it is.
const STORED: u32 = 1 << 31;
/// A match length grows by 255 at most with each byte.
const MOST_PER_BYTE: usize = 255;
/// How far back a linked block may refer.
const WINDOW: usize = 64 * 1024;

fn header_checksum(frame: &[u8], magic: i8) -> u8 {
    // Kafka hashed the frame's magic number along with the descriptor once, and magic 0 has to stay that way.
    let hashed = if magic == 0 { frame } else { &frame[MAGIC.len()..] };
    (xxh32(hashed) >> 8) as u8
}

pub(super) fn compress(data: &[u8], magic: i8, out: &mut Vec<u8>) -> Result<()> {
    let start = out.len();
    out.reserve(data.len() / 2 + 64 + block::get_maximum_output_size(data.len().min(BLOCK)));
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&[FLAGS, BLOCK_SIZE]);
    out.push(header_checksum(&out[start..], magic));
    for data in data.chunks(BLOCK) {
        let at = out.len();
        out.resize(at + 4 + block::get_maximum_output_size(data.len()), 0);
        let size =
            block::compress_into(data, &mut out[at + 4..]).map_err(|error| Error::invalid(format!("lz4: {error}")))?;
        let (size, mark) = if size < data.len() {
            (size, size as u32)
        } else {
            out[at + 4..at + 4 + data.len()].copy_from_slice(data);
            (data.len(), data.len() as u32 | STORED)
        };
        out[at..at + 4].copy_from_slice(&mark.to_le_bytes());
        out.truncate(at + 4 + size);
    }
    out.extend_from_slice(&[0; 4]);
    Ok(())
}

/// What the header of a frame says.
struct Frame {
    /// Bytes of the header.
    size: usize,
    most: usize,
    linked: bool,
    block_checksum: bool,
    content_checksum: bool,
}

fn frame(data: &[u8], how: &Decompress) -> Result<Frame> {
    if data.len() < MAGIC.len() + 3 {
        return Err(Error::malformed(0, "lz4 frame cut off"));
    }
    if !data.starts_with(&MAGIC) {
        return Err(Error::malformed(0, "not an lz4 frame"));
    }
    let (flags, block) = (data[4], data[5]);
    if flags >> 6 != 1 {
        return Err(Error::malformed(4, format!("lz4 frame of version {}", flags >> 6)));
    }
    if flags & 0x03 != 0 {
        return Err(Error::malformed(4, "lz4 frame with a dictionary or a reserved flag"));
    }
    let linked = flags & 0x20 == 0;
    if linked && how.mode == Mode::Strict {
        return Err(Error::malformed(4, "lz4 frame whose blocks depend on each other"));
    }
    let size_id = block >> 4 & 7;
    if block & 0x8f != 0 || size_id < 4 {
        return Err(Error::malformed(5, "lz4 frame with an unknown block size"));
    }
    let descriptor = MAGIC.len() + 2 + if flags & 0x08 != 0 { 8 } else { 0 };
    let Some(&checksum) = data.get(descriptor) else {
        return Err(Error::malformed(descriptor, "lz4 frame cut off"));
    };
    let checked = how.magic != 0 && how.mode == Mode::Strict;
    if checked && checksum != header_checksum(&data[..descriptor], how.magic) {
        return Err(Error::malformed(descriptor, "lz4 frame header has a wrong checksum"));
    }
    Ok(Frame {
        size: descriptor + 1,
        most: 1 << (8 + 2 * size_id),
        linked,
        block_checksum: flags & 0x10 != 0,
        content_checksum: flags & 0x04 != 0,
    })
}

pub(super) fn decompress(data: &[u8], out: &mut Vec<u8>, how: &Decompress) -> Result<()> {
    let mut pos = 0;
    loop {
        let header = frame(&data[pos..], how).map_err(|error| error.shift(pos))?;
        let blocks = &data[pos + header.size..];
        pos += header.size;
        // The buffer is longer than what is in it until all blocks are read.
        let start = out.len();
        let most = blocks_bound(blocks, &header).min(how.limit.saturating_sub(start));
        out.resize(start + most, 0);
        let mut filled = start;
        let result = read_blocks(blocks, &header, out, &mut filled, how);
        out.truncate(filled);
        pos += result.map_err(|error| error.shift(pos))?;
        if !data[pos..].starts_with(&MAGIC) {
            return Ok(());
        }
        if how.mode == Mode::Strict {
            return Err(Error::malformed(pos, "another lz4 frame after the first, which Kafka would lose"));
        }
    }
}

/// What the blocks of a frame can come to at most, from their sizes alone.
fn blocks_bound(mut data: &[u8], frame: &Frame) -> usize {
    let mut bound = 0usize;
    while let Some((mark, rest)) = data.split_first_chunk() {
        let mark = u32::from_le_bytes(*mark);
        let size = (mark & !STORED) as usize;
        if mark == 0 || size > rest.len() {
            break;
        }
        let most = if mark & STORED != 0 { size } else { size.saturating_mul(MOST_PER_BYTE) };
        bound = bound.saturating_add(most.min(frame.most));
        data = rest.get(size + if frame.block_checksum { 4 } else { 0 }..).unwrap_or_default();
    }
    bound
}

/// Reads to the end mark and what belongs to it, and gives the bytes that took. `out` has room for as much as the blocks
/// can hold or the limit allows.
fn read_blocks(data: &[u8], frame: &Frame, out: &mut [u8], filled: &mut usize, how: &Decompress) -> Result<usize> {
    let mut pos = 0;
    loop {
        let Some(mark) = data[pos..].first_chunk() else {
            if how.mode == Mode::Tolerant && pos == data.len() {
                return Ok(pos);
            }
            return Err(Error::malformed(pos, "lz4 frame without end mark"));
        };
        let mark = u32::from_le_bytes(*mark);
        let size = (mark & !STORED) as usize;
        if size == 0 {
            let end = pos + 4 + if frame.content_checksum { 4 } else { 0 };
            if end > data.len() {
                return Err(Error::malformed(pos + 4, "lz4 content checksum cut off"));
            }
            return Ok(end);
        }
        if size > frame.most {
            return Err(Error::malformed(
                pos,
                format!("lz4 block of {size} bytes, at most {} are allowed", frame.most),
            ));
        }
        let Some(block) = data[pos + 4..].get(..size) else {
            return Err(Error::malformed(
                pos,
                format!("lz4 block of {}, {} left", counted(size, "byte"), data.len() - pos - 4),
            ));
        };
        let end = pos + 4 + size;
        if frame.block_checksum {
            match data[end..].first_chunk() {
                Some(stated) if u32::from_le_bytes(*stated) == xxh32(block) => {}
                Some(_) => return Err(Error::malformed(end, "lz4 block has a wrong checksum")),
                None => return Err(Error::malformed(end, "lz4 block checksum cut off")),
            }
        }
        let (done, rest) = out.split_at_mut(*filled);
        let room = rest.len().min(frame.most);
        if mark & STORED != 0 {
            rest.get_mut(..size).ok_or_else(|| how.exceeded())?.copy_from_slice(block);
            *filled += size;
        } else {
            let result = if frame.linked {
                let window = &done[done.len().saturating_sub(WINDOW)..];
                block::decompress_into_with_dict(block, &mut rest[..room], window)
            } else {
                block::decompress_into(block, &mut rest[..room])
            };
            match result {
                Ok(size) => *filled += size,
                Err(block::DecompressError::OutputTooSmall { .. }) if *filled + room >= how.limit => {
                    return Err(how.exceeded());
                }
                Err(error) => return Err(Error::malformed(pos + 4, format!("lz4: {error}"))),
            }
        }
        pos = end + if frame.block_checksum { 4 } else { 0 };
    }
}
