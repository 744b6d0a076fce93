//! From a packet to a segment of TCP: headers of the link, IP and TCP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::file::Packet;

const ETHERNET: u16 = 1;
const NULL: u16 = 0;
const LOOP: u16 = 108;
/// Written by some systems in place of 101.
const RAW: [u16; 5] = [12, 14, 101, 228, 229];
const LINUX_COOKED: u16 = 113;
const LINUX_COOKED_2: u16 = 276;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];

const TCP: u8 = 6;

/// A segment longer than that is a claim, not a segment.
const MAX_SEGMENT: usize = 16 << 20;

/// A segment of TCP.
#[derive(Debug, PartialEq)]
pub(super) struct Segment<'a> {
    pub(super) from: SocketAddr,
    pub(super) to: SocketAddr,
    pub(super) seq: u32,
    pub(super) ack: Option<u32>,
    pub(super) syn: bool,
    pub(super) fin: bool,
    pub(super) rst: bool,
    /// What was captured of its payload.
    pub(super) payload: &'a [u8],
    /// The size of the payload on the wire.
    pub(super) length: usize,
}

/// Why a packet is of no use here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Skipped {
    /// A link type that is not known, by its number in the registry of libpcap.
    Link(u16),
    /// Neither IPv4 nor IPv6, or no TCP in it.
    NotTcp,
    /// A fragment of an IP packet. TCP avoids them; what they hold counts as lost.
    Fragment,
    /// Cut off before the end of its headers, or headers that make no sense.
    Headers,
}

/// The segment in a packet.
pub(super) fn segment<'a>(packet: &Packet<'a>) -> Result<Segment<'a>, Skipped> {
    let bytes = packet.bytes;
    let (kind, at) = match packet.link {
        ETHERNET => (u16_at(bytes, 12)?, 14),
        NULL | LOOP => (by_version(bytes.get(4..))?, 4),
        LINUX_COOKED => (u16_at(bytes, 14)?, 16),
        LINUX_COOKED_2 => (u16_at(bytes, 0)?, 20),
        link if RAW.contains(&link) => (by_version(Some(bytes))?, 0),
        link => return Err(Skipped::Link(link)),
    };
    let (mut kind, mut at) = (kind, at);
    while VLAN.contains(&kind) {
        kind = u16_at(bytes, at + 2)?;
        at += 4;
    }
    let ip = bytes.get(at..).ok_or(Skipped::Headers)?;
    // Bytes on the wire from here on.
    let room = packet.original.saturating_sub(at).min(MAX_SEGMENT);
    match kind {
        IPV4 => ipv4(ip, room),
        IPV6 => ipv6(ip, room),
        _ => Err(Skipped::NotTcp),
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, Skipped> {
    let bytes = bytes.get(at..).and_then(|bytes| bytes.first_chunk()).ok_or(Skipped::Headers)?;
    Ok(u16::from_be_bytes(*bytes))
}

fn by_version(ip: Option<&[u8]>) -> Result<u16, Skipped> {
    match ip.and_then(|ip| ip.first()).ok_or(Skipped::Headers)? >> 4 {
        4 => Ok(IPV4),
        6 => Ok(IPV6),
        _ => Err(Skipped::NotTcp),
    }
}

fn ipv4(ip: &[u8], room: usize) -> Result<Segment<'_>, Skipped> {
    let head: &[u8; 20] = ip.first_chunk().ok_or(Skipped::Headers)?;
    let header = usize::from(head[0] & 15) * 4;
    if head[0] >> 4 != 4 || header < 20 {
        return Err(Skipped::Headers);
    }
    if head[9] != TCP {
        return Err(Skipped::NotTcp);
    }
    // More fragments, or not the first.
    if u16::from_be_bytes([head[6], head[7]]) & 0x3fff != 0 {
        return Err(Skipped::Fragment);
    }
    // With segmentation left to the card it can be 0: as much as there is.
    let total = match usize::from(u16::from_be_bytes([head[2], head[3]])) {
        0 => room,
        total => total,
    };
    let address = |at: usize| Ipv4Addr::from([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    tcp(ip, header, total, address(12).into(), address(16).into())
}

fn ipv6(ip: &[u8], room: usize) -> Result<Segment<'_>, Skipped> {
    let head: &[u8; 40] = ip.first_chunk().ok_or(Skipped::Headers)?;
    if head[0] >> 4 != 6 {
        return Err(Skipped::Headers);
    }
    let total = match usize::from(u16::from_be_bytes([head[4], head[5]])) {
        // A jumbogram, or segmentation left to the card.
        0 => room,
        payload => 40 + payload,
    };
    let (mut next, mut at) = (head[6], 40);
    while next != TCP {
        let extension = ip.get(at..at + 8).ok_or(Skipped::Headers);
        at += match next {
            // Options of hops, routing, options of the destination.
            0 | 43 | 60 => (usize::from(extension?[1]) + 1) * 8,
            // An authentication header counts in units of 4.
            51 => (usize::from(extension?[1]) + 2) * 4,
            // A fragment that is the only one is a whole packet.
            44 if u16::from_be_bytes([extension?[2], extension?[3]]) & 0xfff9 == 0 => 8,
            44 => return Err(Skipped::Fragment),
            _ => return Err(Skipped::NotTcp),
        };
        next = extension?[0];
    }
    let address = |at: usize| {
        let bytes: [u8; 16] = ip.get(at..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or_default();
        IpAddr::from(Ipv6Addr::from(bytes))
    };
    tcp(ip, at, total, address(8), address(24))
}

fn tcp(ip: &[u8], at: usize, total: usize, from: IpAddr, to: IpAddr) -> Result<Segment<'_>, Skipped> {
    let tcp = ip.get(at..).ok_or(Skipped::Headers)?;
    let head: &[u8; 20] = tcp.first_chunk().ok_or(Skipped::Headers)?;
    let header = usize::from(head[12] >> 4) * 4;
    let length = total.checked_sub(at + header).filter(|_| header >= 20).ok_or(Skipped::Headers)?;
    // Ethernet pads short packets, so what is there may be more than what counts.
    let payload = tcp.get(header..).unwrap_or_default();
    let payload = payload.get(..length).unwrap_or(payload);
    let number = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let port = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let flag = |bit: u8| head[13] & bit != 0;
    Ok(Segment {
        from: SocketAddr::new(from, port(0)),
        to: SocketAddr::new(to, port(2)),
        seq: number(4),
        ack: flag(0x10).then(|| number(8)),
        syn: flag(0x02),
        fin: flag(0x01),
        rst: flag(0x04),
        payload,
        length,
    })
}
