//! gzip as Java's `GZIPInputStream` reads it: every member, then whatever else there is goes unread.

use flate2::{Compress, Compression, FlushCompress, FlushDecompress, Status};

use super::Decompress;
use crate::error::{Error, Result};

const HEADER_CRC: u8 = 0x02;
const EXTRA: u8 = 0x04;
const NAME: u8 = 0x08;
const COMMENT: u8 = 0x10;

pub(super) fn compress(data: &[u8], level: i32, out: &mut Vec<u8>) -> Result<()> {
    let level = u32::try_from(level).map_or_else(|_| Compression::default(), Compression::new);
    // Deflate, no flags, no time, unknown system.
    out.extend_from_slice(&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
    let mut deflate = Compress::new(level, false);
    out.reserve(data.len() / 2 + 64);
    loop {
        let read = deflate.total_in() as usize;
        match deflate.compress_vec(&data[read..], out, FlushCompress::Finish) {
            Ok(Status::StreamEnd) => break,
            Ok(_) => out.reserve(out.len().max(1024)),
            Err(error) => return Err(Error::invalid(format!("gzip: {error}"))),
        }
    }
    out.extend_from_slice(&crc32fast::hash(data).to_le_bytes());
    out.extend_from_slice(&(data.len() as u32).to_le_bytes());
    Ok(())
}

pub(super) fn decompress(data: &[u8], out: &mut Vec<u8>, how: &Decompress) -> Result<()> {
    let mut pos = header(data).map_err(|message| Error::malformed(0, message))?;
    // The size of the last member stands at the end of an honest input; deflate cannot do better than 1 to 1032.
    if let Some(size) = data.last_chunk() {
        let size = (u32::from_le_bytes(*size) as usize).min(data.len().saturating_mul(1032)).min(how.limit);
        out.reserve_exact(size.min(1 << 20) + 1);
    }
    loop {
        pos += member(&data[pos..], out, how).map_err(|error| error.shift(pos))?;
        // Java takes a failure to read another header as the end of the data.
        match header(&data[pos..]) {
            Ok(size) => pos += size,
            Err(_) => return Ok(()),
        }
    }
}

/// Size of the header of a member.
fn header(data: &[u8]) -> Result<usize, &'static str> {
    const CUT: &str = "gzip header cut off";
    let fixed: &[u8; 10] = data.first_chunk().ok_or(CUT)?;
    if fixed[..2] != [0x1f, 0x8b] {
        return Err("not gzip");
    }
    if fixed[2] != 8 {
        return Err("gzip with an unknown compression method");
    }
    let flags = fixed[3];
    let mut pos = fixed.len();
    if flags & EXTRA != 0 {
        let size = data.get(pos..pos + 2).ok_or(CUT)?;
        pos += 2 + usize::from(u16::from_le_bytes([size[0], size[1]]));
    }
    for text in [NAME, COMMENT] {
        if flags & text != 0 {
            let rest = data.get(pos..).ok_or(CUT)?;
            pos += rest.iter().position(|&byte| byte == 0).ok_or(CUT)? + 1;
        }
    }
    if pos > data.len() {
        return Err(CUT);
    }
    if flags & HEADER_CRC != 0 {
        let stated = data.get(pos..pos + 2).ok_or(CUT)?;
        if crc32fast::hash(&data[..pos]) as u16 != u16::from_le_bytes([stated[0], stated[1]]) {
            return Err("gzip header has a wrong checksum");
        }
        pos += 2;
    }
    Ok(pos)
}

/// One member after its header; gives the size of it with its trailer.
fn member(data: &[u8], out: &mut Vec<u8>, how: &Decompress) -> Result<usize> {
    let start = out.len();
    let mut inflate = flate2::Decompress::new(false);
    loop {
        how.grow(out, 16 * 1024);
        let before = (inflate.total_in() as usize, out.len());
        let status = inflate.decompress_vec(&data[before.0..], out, FlushDecompress::None);
        let read = inflate.total_in() as usize;
        if out.len() > how.limit {
            return Err(how.exceeded());
        }
        match status {
            Ok(Status::StreamEnd) => break,
            Ok(_) if (read, out.len()) == before && out.len() < out.capacity() => {
                return Err(Error::malformed(read, "gzip data cut off"));
            }
            Ok(_) => {}
            Err(error) => return Err(Error::malformed(read, format!("gzip: {error}"))),
        }
    }
    let end = inflate.total_in() as usize;
    let Some(trailer) = data[end..].first_chunk::<8>() else {
        return Err(Error::malformed(end, "gzip trailer cut off"));
    };
    let member = &out[start..];
    if trailer[..4] != crc32fast::hash(member).to_le_bytes() {
        return Err(Error::malformed(end, "gzip data has a wrong checksum"));
    }
    if trailer[4..] != (member.len() as u32).to_le_bytes() {
        return Err(Error::malformed(end + 4, "gzip data has a wrong size"));
    }
    Ok(end + trailer.len())
}
