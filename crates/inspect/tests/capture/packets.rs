//! Packets and files made by hand.

/// A file in the pcap format, little-endian, of microseconds.
pub(crate) struct Pcap(pub(crate) Vec<u8>);

impl Pcap {
    pub(crate) fn new(link: u32) -> Self {
        let mut bytes = 0xa1b2_c3d4_u32.to_le_bytes().to_vec();
        bytes.extend([2, 0, 4, 0]);
        bytes.extend([0; 8]);
        bytes.extend(262_144_u32.to_le_bytes());
        bytes.extend(link.to_le_bytes());
        Self(bytes)
    }

    /// Adds a packet of which `kept` bytes are captured, at a time in milliseconds.
    pub(crate) fn cut(&mut self, millis: u32, packet: &[u8], kept: usize) {
        let kept = kept.min(packet.len());
        for number in [1000 + millis / 1000, millis % 1000 * 1000, kept as u32, packet.len() as u32] {
            self.0.extend(number.to_le_bytes());
        }
        self.0.extend(&packet[..kept]);
    }

    pub(crate) fn add(&mut self, millis: u32, packet: &[u8]) {
        self.cut(millis, packet, packet.len());
    }
}

/// A segment of TCP between port 40000, the client, and 9092.
#[derive(Clone)]
pub(crate) struct Tcp {
    pub(crate) client: bool,
    pub(crate) seq: u32,
    pub(crate) ack: Option<u32>,
    pub(crate) flags: u8,
    pub(crate) payload: Vec<u8>,
}

pub(crate) const SYN: u8 = 2;
pub(crate) const FIN: u8 = 1;
pub(crate) const RST: u8 = 4;

impl Tcp {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let (from, to) = if self.client { (40_000_u16, 9092_u16) } else { (9092, 40_000) };
        let mut bytes = Vec::new();
        bytes.extend(from.to_be_bytes());
        bytes.extend(to.to_be_bytes());
        bytes.extend(self.seq.to_be_bytes());
        bytes.extend(self.ack.unwrap_or(0).to_be_bytes());
        // 24 bytes of header: an option that does nothing.
        bytes.extend([0x60, self.flags | if self.ack.is_some() { 0x10 } else { 0 }, 1, 0, 0, 0, 0, 0, 1, 1, 1, 0]);
        bytes.extend(&self.payload);
        bytes
    }

    /// In IPv4 without any link.
    pub(crate) fn ipv4(&self) -> Vec<u8> {
        let tcp = self.bytes();
        let mut bytes = vec![0x45, 0];
        bytes.extend((20 + tcp.len() as u16).to_be_bytes());
        bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
        let (client, broker) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        bytes.extend(if self.client { [client, broker] } else { [broker, client] }.concat());
        bytes.extend(tcp);
        bytes
    }

    /// In IPv6, with these extension headers in front of TCP; the first is of type `next`.
    pub(crate) fn ipv6(&self, next: u8, extensions: &[u8]) -> Vec<u8> {
        let tcp = self.bytes();
        let mut bytes = vec![0x60, 0, 0, 0];
        bytes.extend((extensions.len() as u16 + tcp.len() as u16).to_be_bytes());
        bytes.extend([next, 64]);
        let address = |last: u8| [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, last];
        let (client, broker) = (address(1), address(2));
        bytes.extend(if self.client { [client, broker] } else { [broker, client] }.concat());
        bytes.extend(extensions);
        bytes.extend(tcp);
        bytes
    }
}

/// Heartbeat version 0 with its size in front: 31 bytes.
pub(crate) fn request(id: u32) -> Vec<u8> {
    let mut bytes = b"\0\0\0\x1b\0\x0c\0\0".to_vec();
    bytes.extend(id.to_be_bytes());
    bytes.extend(b"\xff\xff\0\x07readers\0\0\0\x03\0\x02m1");
    bytes
}

/// Its response with its size in front: 10 bytes.
pub(crate) fn answer(id: u32) -> Vec<u8> {
    let mut bytes = b"\0\0\0\x06".to_vec();
    bytes.extend(id.to_be_bytes());
    bytes.extend(b"\0\x1b");
    bytes
}

/// Both sides of a connection, which know what comes next.
pub(crate) struct Sides {
    pub(crate) client: u32,
    pub(crate) broker: u32,
}

impl Sides {
    pub(crate) fn says(&mut self, client: bool, payload: &[u8]) -> Tcp {
        let (mine, theirs) = if client { (&mut self.client, self.broker) } else { (&mut self.broker, self.client) };
        let seq = *mine;
        *mine = mine.wrapping_add(payload.len() as u32);
        Tcp { client, seq, ack: Some(theirs), flags: 0, payload: payload.to_vec() }
    }

    pub(crate) fn asks(&mut self, id: u32) -> Tcp {
        self.says(true, &request(id))
    }

    pub(crate) fn answers(&mut self, id: u32) -> Tcp {
        self.says(false, &answer(id))
    }

    /// The handshake; the first bytes will have these numbers.
    pub(crate) fn open(client: u32, broker: u32) -> (Self, Vec<Tcp>) {
        let tcp = |client, seq: u32, ack, flags| Tcp { client, seq, ack, flags, payload: Vec::new() };
        let (c, b) = (client.wrapping_sub(1), broker.wrapping_sub(1));
        let handshake =
            vec![tcp(true, c, None, SYN), tcp(false, b, Some(client), SYN), tcp(true, client, Some(broker), 0)];
        (Self { client, broker }, handshake)
    }
}

/// A file of raw IP, a packet a millisecond.
pub(crate) fn file(segments: &[Tcp]) -> Vec<u8> {
    let mut pcap = Pcap::new(101);
    for (index, segment) in segments.iter().enumerate() {
        pcap.add(index as u32, &segment.ipv4());
    }
    pcap.0
}
