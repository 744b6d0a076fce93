//! From a packet to a segment of TCP: headers of the link, of tunnels, of IP and of TCP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::file::Packet;

const ETHERNET: u16 = 1;
const NULL: u16 = 0;
const LOOP: u16 = 108;
/// Written by some systems in place of 101.
const RAW: [u16; 5] = [12, 14, 101, 228, 229];
const LINUX_COOKED: u16 = 113;
const LINUX_COOKED_2: u16 = 276;
const PPP: [u16; 2] = [9, 50];
const PPPOE: u16 = 51;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
const MPLS: [u16; 2] = [0x8847, 0x8848];
const PPPOE_SESSION: u16 = 0x8864;
/// Ethernet inside of GRE or Geneve.
const BRIDGED: u16 = 0x6558;
const ERSPAN_2: u16 = 0x88be;
const ERSPAN_3: u16 = 0x22eb;
/// PPP inside of GRE, as PPTP has it.
const GRE_PPP: u16 = 0x880b;

const TCP: u8 = 6;
const UDP: u8 = 17;
const IPV4_IN_IP: u8 = 4;
const IPV6_IN_IP: u8 = 41;
const GRE: u8 = 47;

/// The registered port, and that of the first implementation in Linux.
const VXLAN: [u16; 2] = [4789, 8472];
const GENEVE: u16 = 6081;

/// Most tunnels inside of each other.
const MAX_DEPTH: usize = 8;

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

/// Why there is no TCP segment in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum SkippedPackets {
    /// A link type that is not known, by its number in the registry of libpcap.
    Link(u16),
    /// Neither IPv4 nor IPv6 is in it, but what this EtherType stands for.
    NotIp(u16),
    /// No TCP is in it, but what this number of the IP protocols stands for.
    NotTcp(u8),
    /// A fragment of an IP packet. TCP avoids them; what they hold counts as lost.
    Fragment,
    /// Cut off before the end of its headers, or headers that make no sense.
    Headers,
}

/// The segment in a packet, also inside of tunnels.
pub(super) fn segment<'a>(packet: &Packet<'a>) -> Result<Segment<'a>, SkippedPackets> {
    let all = Layer { bytes: packet.bytes, room: packet.original, depth: 0 };
    match packet.link {
        ETHERNET => all.ethernet(),
        NULL | LOOP => all.skip(4)?.ip(),
        LINUX_COOKED => all.skip(16)?.typed(u16_at(packet.bytes, 14)?),
        LINUX_COOKED_2 => all.skip(20)?.typed(u16_at(packet.bytes, 0)?),
        PPPOE => all.pppoe(),
        link if PPP.contains(&link) => all.ppp(),
        link if RAW.contains(&link) => all.ip(),
        link => Err(SkippedPackets::Link(link)),
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, SkippedPackets> {
    let bytes = bytes.get(at..).and_then(|bytes| bytes.first_chunk()).ok_or(SkippedPackets::Headers)?;
    Ok(u16::from_be_bytes(*bytes))
}

/// What a header has inside.
#[derive(Clone, Copy)]
struct Layer<'a> {
    /// What was captured.
    bytes: &'a [u8],
    /// Bytes on the wire.
    room: usize,
    /// Headers around it that can stand inside of each other.
    depth: usize,
}

impl<'a> Layer<'a> {
    /// What comes after a header of so many bytes.
    fn skip(self, size: usize) -> Result<Self, SkippedPackets> {
        if self.depth >= MAX_DEPTH {
            return Err(SkippedPackets::Headers);
        }
        let bytes = self.bytes.get(size..).ok_or(SkippedPackets::Headers)?;
        Ok(Self { bytes, room: self.room.saturating_sub(size), depth: self.depth })
    }

    /// The same one level further in.
    fn inside(self, size: usize) -> Result<Self, SkippedPackets> {
        let inner = self.skip(size)?;
        Ok(Self { depth: inner.depth + 1, ..inner })
    }

    fn ethernet(self) -> Result<Segment<'a>, SkippedPackets> {
        self.skip(14)?.typed(u16_at(self.bytes, 12)?)
    }

    /// What an EtherType says it is.
    fn typed(self, kind: u16) -> Result<Segment<'a>, SkippedPackets> {
        match kind {
            IPV4 => ipv4(self),
            IPV6 => ipv6(self),
            kind if VLAN.contains(&kind) => self.inside(4)?.typed(u16_at(self.bytes, 2)?),
            kind if MPLS.contains(&kind) => self.mpls(),
            PPPOE_SESSION => self.pppoe(),
            BRIDGED => self.inside(0)?.ethernet(),
            kind => Err(SkippedPackets::NotIp(kind)),
        }
    }

    /// IP without anything that says its version but itself.
    fn ip(self) -> Result<Segment<'a>, SkippedPackets> {
        match self.bytes.first().ok_or(SkippedPackets::Headers)? >> 4 {
            4 => ipv4(self),
            6 => ipv6(self),
            _ => Err(SkippedPackets::NotIp(0)),
        }
    }

    /// A stack of labels, the last of which says that it is the last. What follows says nothing of itself: IP, or Ethernet
    /// after a control word of zeros (RFC 4385).
    fn mpls(mut self) -> Result<Segment<'a>, SkippedPackets> {
        loop {
            let is_last = self.bytes.get(2).ok_or(SkippedPackets::Headers)? & 1 == 1;
            self = self.inside(4)?;
            if is_last {
                break;
            }
        }
        match self.bytes.first().ok_or(SkippedPackets::Headers)? >> 4 {
            0 => self.skip(4)?.ethernet(),
            _ => self.ip(),
        }
    }

    /// Version and type, code, session and length, then PPP.
    fn pppoe(self) -> Result<Segment<'a>, SkippedPackets> {
        self.inside(6)?.ppp()
    }

    fn ppp(self) -> Result<Segment<'a>, SkippedPackets> {
        // Address and control may be left out.
        let at = if self.bytes.starts_with(&[0xff, 3]) { 2 } else { 0 };
        // So may the first byte of the protocol when it is zero.
        let (protocol, size) = match self.bytes.get(at).ok_or(SkippedPackets::Headers)? {
            short if short & 1 == 1 => (u16::from(*short), 1),
            _ => (u16_at(self.bytes, at)?, 2),
        };
        match protocol {
            0x21 => ipv4(self.skip(at + size)?),
            0x57 => ipv6(self.skip(at + size)?),
            other => Err(SkippedPackets::NotIp(other)),
        }
    }

    /// What the protocol number of an IP header says, after so many bytes of header.
    fn protocol(self, protocol: u8, header: usize, from: IpAddr, to: IpAddr) -> Result<Segment<'a>, SkippedPackets> {
        match protocol {
            TCP => tcp(self.skip(header)?, from, to),
            UDP => self.skip(header)?.udp(),
            IPV4_IN_IP => ipv4(self.inside(header)?),
            IPV6_IN_IP => ipv6(self.inside(header)?),
            GRE => self.inside(header)?.gre(),
            other => Err(SkippedPackets::NotTcp(other)),
        }
    }

    fn udp(self) -> Result<Segment<'a>, SkippedPackets> {
        let inner = self.inside(8)?;
        match u16_at(self.bytes, 2)? {
            // The flag says that there is a network identifier, without which it is no VXLAN (RFC 7348).
            port if VXLAN.contains(&port) && inner.bytes.first().is_some_and(|flags| flags & 8 != 0) => {
                inner.skip(8)?.ethernet()
            }
            GENEVE => {
                let options = usize::from(inner.bytes.first().ok_or(SkippedPackets::Headers)? & 0x3f) * 4;
                inner.skip(8 + options)?.typed(u16_at(inner.bytes, 2)?)
            }
            _ => Err(SkippedPackets::NotTcp(UDP)),
        }
    }

    /// RFC 2784 and 2890, and PPTP's own version (RFC 2637).
    fn gre(self) -> Result<Segment<'a>, SkippedPackets> {
        let (flags, kind) = (u16_at(self.bytes, 0)?, u16_at(self.bytes, 2)?);
        let has = |flag: u16| usize::from(flags & flag != 0) * 4;
        // A checksum, or offset and routing; a key; a sequence number; an acknowledgement of PPTP.
        let checksum = if flags & 0xc000 != 0 { 4 } else { 0 };
        let inner = self.skip(4 + checksum + has(0x2000) + has(0x1000) + if flags & 7 == 1 { has(0x80) } else { 0 })?;
        match kind {
            GRE_PPP => inner.ppp(),
            // Without a sequence number the mirrored frame comes at once.
            ERSPAN_2 => inner.skip(if flags & 0x1000 != 0 { 8 } else { 0 })?.ethernet(),
            ERSPAN_3 => {
                let more = inner.bytes.get(11).ok_or(SkippedPackets::Headers)? & 1 == 1;
                inner.skip(if more { 20 } else { 12 })?.ethernet()
            }
            kind => inner.typed(kind),
        }
    }
}

fn ipv4(layer: Layer<'_>) -> Result<Segment<'_>, SkippedPackets> {
    let Layer { bytes: ip, room, .. } = layer;
    let head: &[u8; 20] = ip.first_chunk().ok_or(SkippedPackets::Headers)?;
    let header = usize::from(head[0] & 15) * 4;
    if head[0] >> 4 != 4 || header < 20 {
        return Err(SkippedPackets::Headers);
    }
    // More fragments, or not the first.
    if u16::from_be_bytes([head[6], head[7]]) & 0x3fff != 0 {
        return Err(SkippedPackets::Fragment);
    }
    // With segmentation left to the card it can be 0: as much as there is.
    let total = match usize::from(u16::from_be_bytes([head[2], head[3]])) {
        0 => room,
        total => total,
    };
    let address = |at: usize| Ipv4Addr::from([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    // Ethernet pads short packets, so what is there may be more than what counts.
    let layer = Layer { room: total.min(MAX_SEGMENT), ..layer };
    layer.protocol(head[9], header, address(12).into(), address(16).into())
}

fn ipv6(layer: Layer<'_>) -> Result<Segment<'_>, SkippedPackets> {
    let Layer { bytes: ip, room, .. } = layer;
    let head: &[u8; 40] = ip.first_chunk().ok_or(SkippedPackets::Headers)?;
    if head[0] >> 4 != 6 {
        return Err(SkippedPackets::Headers);
    }
    let total = match usize::from(u16::from_be_bytes([head[4], head[5]])) {
        // A jumbogram, or segmentation left to the card.
        0 => room,
        payload => 40 + payload,
    };
    let (mut next, mut at) = (head[6], 40);
    loop {
        let extension = ip.get(at..at + 8).ok_or(SkippedPackets::Headers);
        at += match next {
            // Options of hops, routing, options of the destination.
            0 | 43 | 60 => (usize::from(extension?[1]) + 1) * 8,
            // An authentication header counts in units of 4.
            51 => (usize::from(extension?[1]) + 2) * 4,
            // A fragment that is the only one is a whole packet.
            44 if u16::from_be_bytes([extension?[2], extension?[3]]) & 0xfff9 == 0 => 8,
            44 => return Err(SkippedPackets::Fragment),
            _ => break,
        };
        next = extension?[0];
    }
    let address = |at: usize| {
        let bytes: [u8; 16] = ip.get(at..).and_then(|bytes| bytes.first_chunk()).copied().unwrap_or_default();
        IpAddr::from(Ipv6Addr::from(bytes))
    };
    let layer = Layer { room: total.min(MAX_SEGMENT), ..layer };
    layer.protocol(next, at, address(8), address(24))
}

fn tcp(layer: Layer<'_>, from: IpAddr, to: IpAddr) -> Result<Segment<'_>, SkippedPackets> {
    let Layer { bytes: tcp, room, .. } = layer;
    let head: &[u8; 20] = tcp.first_chunk().ok_or(SkippedPackets::Headers)?;
    let header = usize::from(head[12] >> 4) * 4;
    let length = room.checked_sub(header).filter(|_| header >= 20).ok_or(SkippedPackets::Headers)?;
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
