use std::io::{self, Read};
use std::time::Duration;

use super::buffer::Buffer;
use super::section::{Endian, Found, Section};

/// Largest packet that is taken. libpcap itself stops at 256 KiB; offloading to the card makes larger ones, if not by much.
const MAX_PACKET: usize = 16 << 20;

/// Type, length in front, and the magic of a section.
const NG_HEAD: usize = 12;

/// Where the body of a block begins.
const NG_BODY: usize = 8;

const NG_SECTION: u32 = 0x0a0d_0d0a;
const NG_MAGIC: u32 = 0x1a2b_3c4d;

/// One packet as it stands in the file.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// When it passed, since 1970.
    pub time: Duration,
    /// What the bytes begin with, as numbered in the registry of link types of libpcap.
    pub link: u16,
    /// What was kept of it.
    pub bytes: &'a [u8],
    /// Its size on the wire, which may be more.
    pub original: usize,
}

/// Why a capture cannot be read on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It begins with no magic of the two formats.
    #[error("this is neither a pcap nor a pcapng file")]
    Unrecognised,
    /// What follows makes no sense; there is no way to find the next packet.
    #[error("damaged at byte {offset}: {what}")]
    Damaged {
        /// Where in the file.
        offset: u64,
        /// What is wrong there.
        what: String,
    },
}

/// Whether a file that begins with these bytes is a pcap or pcapng file; four are enough.
pub fn is_capture(first: &[u8]) -> bool {
    let magic = first.first_chunk().map(|magic| u32::from_be_bytes(*magic));
    magic.is_some_and(|magic| magic == NG_SECTION || Classic::of(magic).is_some())
}

/// The packets of a pcap or pcapng file, one after the other. Keeps one at a time.
#[derive(Debug)]
pub struct Packets<R> {
    input: Buffer<R>,
    format: Format,
    cut_off: bool,
}

#[derive(Debug)]
enum Format {
    Classic(Classic, u16),
    Ng(Section),
}

/// What the magic of a pcap file says.
#[derive(Clone, Copy, Debug)]
struct Classic {
    endian: Endian,
    nanos: bool,
    /// Bytes in front of each packet.
    head: usize,
}

impl Classic {
    fn of(magic: u32) -> Option<Self> {
        let (endian, magic) = match magic >> 24 {
            0xa1 => (Endian::Big, magic),
            _ => (Endian::Little, magic.swap_bytes()),
        };
        let (nanos, head) = match magic {
            0xa1b2_c3d4 => (false, 16),
            0xa1b2_3c4d => (true, 16),
            // A patch of libpcap, whose packets have more in front.
            0xa1b2_cd34 => (false, 24),
            _ => return None,
        };
        Some(Self { endian, nanos, head })
    }
}

impl<R: Read> Packets<R> {
    /// Reads what stands in front of the packets.
    ///
    /// # Errors
    /// It is no capture, or cannot be read.
    pub fn new(input: R) -> Result<Self, CaptureError> {
        let mut input = Buffer::new(input);
        let magic = match input.peek(4)? {
            Some(magic) => Endian::Big.u32(magic, 0),
            None => return Err(CaptureError::Unrecognised),
        };
        if magic == NG_SECTION {
            return Ok(Self { input, format: Format::Ng(Section::default()), cut_off: false });
        }
        let classic = Classic::of(magic).ok_or(CaptureError::Unrecognised)?;
        let link = match input.peek(24)? {
            // The upper half is about checksums of Ethernet.
            Some(head) => classic.endian.u32(head, 20) as u16,
            None => return Err(CaptureError::Unrecognised),
        };
        input.consume(24);
        Ok(Self { input, format: Format::Classic(classic, link), cut_off: false })
    }

    /// Whether the file ended inside of a packet, as it does when who wrote it was killed.
    pub fn cut_off(&self) -> bool {
        self.cut_off
    }

    /// Bytes of the file that were read.
    pub fn position(&self) -> u64 {
        self.input.position()
    }

    /// The next packet; `None` at the end.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged; nothing can be read after that.
    #[allow(clippy::should_implement_trait, reason = "a packet borrows from the reader, which no iterator can say")]
    pub fn next(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        match self.format {
            Format::Classic(classic, link) => self.next_classic(classic, link),
            Format::Ng(_) => self.next_ng(),
        }
    }

    fn next_classic(&mut self, classic: Classic, link: u16) -> Result<Option<Packet<'_>>, CaptureError> {
        let Some(head) = self.input.peek(classic.head)? else { return Ok(self.end()) };
        let endian = classic.endian;
        let (seconds, fraction) = (endian.u32(head, 0), endian.u32(head, 4));
        let (captured, original) = (endian.u32(head, 8) as usize, endian.u32(head, 12) as usize);
        let nanos = if classic.nanos { fraction } else { fraction.saturating_mul(1000) };
        if captured > MAX_PACKET || nanos >= 1_000_000_000 {
            return Err(self.damaged(format!("a packet of {captured} bytes at fraction {fraction} of a second")));
        }
        let whole = classic.head + captured;
        if self.input.peek(whole)?.is_none() {
            return Ok(self.end());
        }
        let time = Duration::new(seconds.into(), nanos);
        let bytes = self.input.take(whole).get(classic.head..).unwrap_or_default();
        Ok(Some(Packet { time, link, bytes, original: original.max(captured) }))
    }

    fn next_ng(&mut self) -> Result<Option<Packet<'_>>, CaptureError> {
        let Some((length, found)) = self.find_ng()? else { return Ok(None) };
        let bytes = self.input.take(length).get(NG_BODY..).and_then(|body| body.get(found.bytes)).unwrap_or_default();
        let original = found.original.max(bytes.len());
        Ok(Some(Packet { time: found.time, link: found.link, bytes, original }))
    }

    /// The next block with a packet: its length, and what is in it.
    fn find_ng(&mut self) -> Result<Option<(usize, Found)>, CaptureError> {
        loop {
            let Some(head) = self.input.peek(NG_HEAD)? else { return Ok(self.end()) };
            let Format::Ng(section) = &mut self.format else { return Ok(None) };
            let kind = section.endian.u32(head, 0);
            if kind == NG_SECTION {
                *section = match Endian::ALL.into_iter().find(|endian| endian.u32(head, 8) == NG_MAGIC) {
                    Some(endian) => Section::new(endian),
                    None => return Err(self.damaged("a section whose byte order is unknown")),
                };
            }
            let length = section.endian.u32(head, 4) as usize;
            if length < NG_HEAD || length % 4 != 0 {
                return Err(self.damaged(format!("a block of {length} bytes")));
            }
            if !section.wants(kind) {
                if !self.input.skip(length as u64)? {
                    return Ok(self.end());
                }
                continue;
            }
            if length > MAX_PACKET + 4096 {
                return Err(self.damaged(format!("a block of {length} bytes that should hold a packet")));
            }
            let Some(block) = self.input.peek(length)? else { return Ok(self.end()) };
            if section.endian.u32(block, length - 4) as usize != length {
                return Err(self.damaged(format!("the length of a block, {length}, is another at its end")));
            }
            match section.read(kind, &block[NG_BODY..length - 4]) {
                Ok(Some(found)) => return Ok(Some((length, found))),
                Ok(None) => self.input.consume(length),
                Err(what) => return Err(self.damaged(what)),
            }
        }
    }

    fn end<T>(&mut self) -> Option<T> {
        self.cut_off = self.input.rest() > 0;
        self.input.drain();
        None
    }

    fn damaged(&self, what: impl Into<String>) -> CaptureError {
        CaptureError::Damaged { offset: self.input.position(), what: what.into() }
    }
}
