//! Blocks of pcapng.

use std::ops::Range;
use std::time::Duration;

const INTERFACE: u32 = 1;
const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const ENHANCED_PACKET: u32 = 6;

const OPTION_RESOLUTION: u16 = 9;
const OPTION_OFFSET: u16 = 14;

/// More interfaces than that are no capture.
const MAX_INTERFACES: usize = 1 << 16;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Endian {
    #[default]
    Little,
    Big,
}

impl Endian {
    pub(super) const ALL: [Self; 2] = [Self::Little, Self::Big];

    /// The number at a place; 0 where there is none.
    pub(super) fn u16(self, bytes: &[u8], at: usize) -> u16 {
        let bytes = chunk(bytes, at);
        if self == Self::Big { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
    }

    pub(super) fn u32(self, bytes: &[u8], at: usize) -> u32 {
        let bytes = chunk(bytes, at);
        if self == Self::Big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
    }

    fn i64(self, bytes: &[u8]) -> i64 {
        let bytes = chunk(bytes, 0);
        if self == Self::Big { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) }
    }
}

fn chunk<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or([0; N])
}

/// Where packets were taken.
#[derive(Clone, Copy, Debug)]
struct Interface {
    link: u16,
    /// Bytes that it keeps of a packet; 0 for all.
    snaplen: u32,
    /// Units of time in a second; 0 when a unit is too short to tell.
    units: u128,
    /// Seconds to add to each time.
    offset: i64,
}

/// A packet in a block.
pub(super) struct Found {
    pub(super) link: u16,
    pub(super) time: Duration,
    /// In the body of the block.
    pub(super) bytes: Range<usize>,
    pub(super) original: usize,
}

/// A part of a pcapng file with a byte order and interfaces of its own.
#[derive(Debug, Default)]
pub(super) struct Section {
    pub(super) endian: Endian,
    interfaces: Vec<Interface>,
    /// Of the last packet, for those that have no time.
    last: Duration,
}

impl Section {
    pub(super) fn new(endian: Endian) -> Self {
        Self { endian, ..Self::default() }
    }

    /// Whether there is something to be read in blocks of a kind.
    pub(super) fn wants(&self, kind: u32) -> bool {
        matches!(kind, INTERFACE | OBSOLETE_PACKET | SIMPLE_PACKET | ENHANCED_PACKET)
    }

    /// Reads a block without what frames it: gives a packet if it holds one.
    pub(super) fn read(&mut self, kind: u32, body: &[u8]) -> Result<Option<Found>, String> {
        let endian = self.endian;
        let too_short = |least: usize| match body.len() < least {
            true => Err(format!("{} bytes are too few for a block of type {kind}", body.len())),
            false => Ok(()),
        };
        match kind {
            INTERFACE => {
                too_short(8)?;
                if self.interfaces.len() >= MAX_INTERFACES {
                    return Err(format!("more than {MAX_INTERFACES} interfaces"));
                }
                self.interfaces.push(interface(endian, body));
                Ok(None)
            }
            SIMPLE_PACKET => {
                too_short(4)?;
                let interface = self.interface(0)?;
                let original = endian.u32(body, 0) as usize;
                let kept = if interface.snaplen == 0 { usize::MAX } else { interface.snaplen as usize };
                let end = 4 + original.min(kept).min(body.len() - 4);
                Ok(Some(Found { link: interface.link, time: self.last, bytes: 4..end, original }))
            }
            _ => {
                too_short(20)?;
                let number = match kind {
                    OBSOLETE_PACKET => endian.u16(body, 0).into(),
                    _ => endian.u32(body, 0),
                };
                let interface = self.interface(number)?;
                let time = u64::from(endian.u32(body, 4)) << 32 | u64::from(endian.u32(body, 8));
                let (captured, original) = (endian.u32(body, 12) as usize, endian.u32(body, 16) as usize);
                if captured > body.len() - 20 {
                    return Err(format!("a packet of {captured} bytes in a block that holds {}", body.len() - 20));
                }
                self.last = interface.time(time);
                Ok(Some(Found { link: interface.link, time: self.last, bytes: 20..20 + captured, original }))
            }
        }
    }

    fn interface(&self, number: u32) -> Result<Interface, String> {
        let count = self.interfaces.len();
        let found = self.interfaces.get(number as usize).copied();
        found.ok_or_else(|| format!("a packet of interface {number}, of which there are {count}"))
    }
}

fn interface(endian: Endian, body: &[u8]) -> Interface {
    let mut interface =
        Interface { link: endian.u16(body, 0), snaplen: endian.u32(body, 4), units: 1_000_000, offset: 0 };
    let mut options = body.get(8..).unwrap_or_default();
    while options.len() >= 4 {
        let (code, length) = (endian.u16(options, 0), usize::from(endian.u16(options, 2)));
        let value = options.get(4..4 + length).unwrap_or_default();
        match (code, value) {
            (0, _) => break,
            (OPTION_RESOLUTION, [exponent, ..]) => {
                let base: u128 = if exponent & 0x80 == 0 { 10 } else { 2 };
                interface.units = base.checked_pow(u32::from(exponent & 0x7f)).unwrap_or_default();
            }
            (OPTION_OFFSET, [_, _, _, _, _, _, _, _]) => interface.offset = endian.i64(value),
            _ => {}
        }
        options = options.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
    }
    interface
}

impl Interface {
    fn time(&self, units: u64) -> Duration {
        let units = u128::from(units);
        let (seconds, rest) = match self.units {
            0 => (0, 0),
            in_second => (units / in_second, (units % in_second) * 1_000_000_000 / in_second),
        };
        let seconds = u64::try_from(seconds).unwrap_or(u64::MAX).saturating_add_signed(self.offset);
        // Times are shown as dates, and no capture is of the year 10000.
        Duration::new(seconds.min(253_402_300_799), u32::try_from(rest).unwrap_or_default())
    }
}
