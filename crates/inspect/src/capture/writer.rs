//! Exchanges as a capture file: each connection as TCP, with the headers that it could have had.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::conversation::{Endpoints, Exchange, Frame};

/// Link type of packets that begin with their IP header.
const LINKTYPE_RAW: u16 = 101;
/// Most payload in one packet; more goes into several.
const SEGMENT: usize = 60_000;
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;

/// Writes exchanges as a file that Wireshark opens (pcapng).
///
/// The frames are real, the packets around them are made up: each connection begins with a handshake at its first
/// exchange, nothing is lost and nothing repeated. The addresses are those of client and broker; a broker known by a name
/// alone has 192.0.2.1, an address for documentation. [`Capture`](super::Capture) reads the exchanges back.
#[derive(Debug)]
pub struct PcapngWriter<W> {
    out: W,
    streams: HashMap<u64, Stream>,
}

#[derive(Debug)]
struct Stream {
    client: SocketAddr,
    broker: SocketAddr,
    /// The next byte of each direction: to the broker, to the client.
    next: [u32; 2],
    last: Duration,
}

impl<W: Write> PcapngWriter<W> {
    /// Writes what stands at the start of a file.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(mut out: W) -> io::Result<Self> {
        // Byte order, version 1.0, a length that is not known.
        let mut section = 0x1A2B_3C4Du32.to_le_bytes().to_vec();
        section.extend(1u16.to_le_bytes());
        section.extend(0u16.to_le_bytes());
        section.extend((-1i64).to_le_bytes());
        block(&mut out, 0x0A0D_0D0A, &section)?;
        // Link type, reserved, no limit of length.
        let mut interface = LINKTYPE_RAW.to_le_bytes().to_vec();
        interface.extend([0; 6]);
        block(&mut out, 1, &interface)?;
        Ok(Self { out, streams: HashMap::new() })
    }

    /// Writes an exchange; its connection is number 0 when it has no endpoints.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(&mut self, exchange: &Exchange) -> io::Result<()> {
        let id = exchange.connection();
        let time = exchange.time();
        if let Entry::Vacant(vacant) = self.streams.entry(id) {
            let (client, broker) = addresses_of(exchange.endpoints.as_deref());
            vacant.insert(Stream { client, broker, next: [0, 0], last: time });
            self.packet(id, 0, time, SYN, &[])?;
            self.packet(id, 1, time, SYN | ACK, &[])?;
            self.packet(id, 0, time, ACK, &[])?;
        }
        for (direction, frame) in [&exchange.request, &exchange.response].into_iter().enumerate() {
            if let Some(Frame { time, bytes, .. }) = frame {
                self.frame(id, direction, *time, bytes)?;
            }
        }
        Ok(())
    }

    /// The connection is at its end.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn close(&mut self, connection: u64) -> io::Result<()> {
        let Some(last) = self.streams.get(&connection).map(|stream| stream.last) else { return Ok(()) };
        self.packet(connection, 0, last, FIN | ACK, &[])?;
        self.packet(connection, 1, last, FIN | ACK, &[])?;
        self.streams.remove(&connection);
        Ok(())
    }

    /// Writes out what is held back.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn frame(&mut self, id: u64, direction: usize, time: Duration, frame: &[u8]) -> io::Result<()> {
        let mut bytes = (frame.len() as u32).to_be_bytes().to_vec();
        bytes.extend(frame);
        bytes.chunks(SEGMENT).try_for_each(|part| self.packet(id, direction, time, PSH | ACK, part))
    }

    fn packet(&mut self, id: u64, direction: usize, time: Duration, flags: u8, payload: &[u8]) -> io::Result<()> {
        let Some(stream) = self.streams.get_mut(&id) else { return Ok(()) };
        stream.last = stream.last.max(time);
        let (from, to) = if direction == 0 { (stream.client, stream.broker) } else { (stream.broker, stream.client) };
        let (seq, ack) = (stream.next[direction], stream.next[1 - direction]);
        let counts = u32::from(flags & (SYN | FIN) != 0) + payload.len() as u32;
        stream.next[direction] = seq.wrapping_add(counts);
        let packet = ip(from, to, tcp(from, to, seq, if flags & ACK == 0 { 0 } else { ack }, flags, payload));
        let micros = time.as_micros() as u64;
        let mut body = 0u32.to_le_bytes().to_vec();
        body.extend(((micros >> 32) as u32).to_le_bytes());
        body.extend((micros as u32).to_le_bytes());
        body.extend((packet.len() as u32).to_le_bytes());
        body.extend((packet.len() as u32).to_le_bytes());
        body.extend(&packet);
        body.resize(body.len().next_multiple_of(4), 0);
        block(&mut self.out, 6, &body)
    }
}

/// The addresses of client and broker; addresses for documentation for what has only a name.
fn addresses_of(endpoints: Option<&Endpoints>) -> (SocketAddr, SocketAddr) {
    let parse = |text: &str, unnamed: [u8; 4]| -> SocketAddr {
        let named = || {
            let port = text.rsplit_once(':').and_then(|(_, port)| port.parse().ok()).unwrap_or_default();
            SocketAddr::new(IpAddr::V4(Ipv4Addr::from(unnamed)), port)
        };
        let address: SocketAddr = text.parse().unwrap_or_else(|_| named());
        SocketAddr::new(address.ip().to_canonical(), address.port())
    };
    let (client, broker) = endpoints.map_or(("", ""), |endpoints| (&*endpoints.client, &*endpoints.broker));
    (parse(client, [192, 0, 2, 2]), parse(broker, [192, 0, 2, 1]))
}

fn block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let size = (body.len() as u32 + 12).to_le_bytes();
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&size)?;
    out.write_all(body)?;
    out.write_all(&size)
}

fn tcp(from: SocketAddr, to: SocketAddr, seq: u32, ack: u32, flags: u8, payload: &[u8]) -> Vec<u8> {
    let mut segment = from.port().to_be_bytes().to_vec();
    segment.extend(to.port().to_be_bytes());
    segment.extend(seq.to_be_bytes());
    segment.extend(ack.to_be_bytes());
    // Five words of header, flags, the largest window, a checksum to come, nothing urgent.
    segment.extend([0x50, flags, 0xff, 0xff, 0, 0, 0, 0]);
    segment.extend(payload);
    let mut pseudo = addresses(from, to);
    pseudo.extend([0, 6]);
    pseudo.extend((segment.len() as u16).to_be_bytes());
    let sum = checksum(pseudo.chunks(2).chain(segment.chunks(2)));
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    segment
}

fn ip(from: SocketAddr, to: SocketAddr, segment: Vec<u8>) -> Vec<u8> {
    let mut packet = match (from.ip(), to.ip()) {
        (IpAddr::V4(_), IpAddr::V4(_)) => {
            let size = (20 + segment.len()) as u16;
            // Version 4, five words; size; may not be cut; 64 hops; TCP; a checksum to come.
            let mut header = vec![0x45, 0, (size >> 8) as u8, size as u8, 0, 0, 0x40, 0, 64, 6, 0, 0];
            header.extend(addresses(from, to));
            let sum = checksum(header.chunks(2));
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            header
        }
        _ => {
            let size = segment.len() as u16;
            let mut header = vec![0x60, 0, 0, 0, (size >> 8) as u8, size as u8, 6, 64];
            header.extend(addresses(from, to));
            header
        }
    };
    packet.extend(segment);
    packet
}

/// Both addresses, of one family: IPv4 among IPv6 in its mapped form.
fn addresses(from: SocketAddr, to: SocketAddr) -> Vec<u8> {
    match (from.ip(), to.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => [from.octets(), to.octets()].concat(),
        (from, to) => [from, to]
            .into_iter()
            .flat_map(|ip| match ip {
                IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
                IpAddr::V6(ip) => ip.octets(),
            })
            .collect(),
    }
}

/// The checksum of the internet protocols (RFC 1071).
fn checksum<'a>(words: impl Iterator<Item = &'a [u8]>) -> u16 {
    let word = |word: &[u8]| u32::from(word[0]) << 8 | u32::from(word.get(1).copied().unwrap_or(0));
    let mut sum: u64 = words.map(|bytes| u64::from(word(bytes))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_rfc() {
        // The example of RFC 1071, section 3: 00 01 f2 03 f4 f5 f6 f7 sum up to ddf2.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(checksum(bytes.chunks(2)), !0xddf2);
    }
}
