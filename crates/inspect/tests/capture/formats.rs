//! Files, links and networks.

use std::collections::BTreeMap;
use std::time::Duration;

use milena_inspect::capture::{Capture, CaptureOptions, SkippedPackets};

use super::packets::{Pcap, Sides, Tcp};
use super::read;

/// An exchange without a handshake.
fn exchange() -> [Tcp; 2] {
    let mut sides = Sides { client: 100, broker: 200 };
    [sides.asks(1), sides.answers(1)]
}

/// A file whose packets have this in front, after which IPv4 comes.
fn behind(link: u32, front: &[u8]) -> Vec<u8> {
    let mut pcap = Pcap::new(link);
    exchange().iter().for_each(|tcp| pcap.add(0, &[front, &tcp.ipv4()].concat()));
    pcap.0
}

#[test]
fn links_are_taken_off() {
    let ethernet = [0; 12];
    let cases: [(u32, Vec<u8>); 11] = [
        (1, [&ethernet[..], &[8, 0]].concat()),
        (1, [&ethernet[..], &[0x81, 0, 0, 7, 8, 0]].concat()),
        (1, [&ethernet[..], &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 8, 8, 0]].concat()),
        (113, [&[0; 14][..], &[8, 0]].concat()),
        (113, [&[0; 14][..], &[0x81, 0, 0, 7, 8, 0]].concat()),
        (276, [&[8, 0][..], &[0; 18]].concat()),
        (0, vec![2, 0, 0, 0]),
        (108, vec![0, 0, 0, 2]),
        (101, vec![]),
        (12, vec![]),
        (228, vec![]),
    ];
    for (link, front) in cases {
        assert_eq!(read(&behind(link, &front)).ids(), "1", "link type {link} with {front:02x?}");
    }
}

/// An IPv4 header around a payload of this protocol.
fn outer(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0];
    bytes.extend((20 + payload.len() as u16).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]);
    bytes.extend(payload);
    bytes
}

/// A UDP header to a port around a payload.
fn udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = 50_000_u16.to_be_bytes().to_vec();
    bytes.extend(port.to_be_bytes());
    bytes.extend((8 + payload.len() as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    bytes
}

/// A tunnel: a name, a link type, and what is around a packet of IPv4.
type Tunnel = (&'static str, u32, fn(&[u8]) -> Vec<u8>);

fn ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[2; 12][..], &kind.to_be_bytes(), payload].concat()
}

/// The layouts are those of the RFCs named. tshark 4.0 reads a Kafka exchange in each, once it knows the port of Linux.
const TUNNELS: [Tunnel; 17] = [
    ("MPLS, RFC 3032", 1, |ip| ethernet(0x8847, &[&[0, 1, 0x00, 64, 0, 2, 0x01, 64], ip].concat())),
    ("Ethernet over MPLS, RFC 4385", 1, |ip| {
        ethernet(0x8847, &[&[0, 2, 0x01, 64, 0, 0, 0, 0][..], &ethernet(0x0800, ip)].concat())
    }),
    ("PPPoE, RFC 2516", 1, |ip| {
        let size = (2 + ip.len() as u16).to_be_bytes();
        ethernet(0x8864, &[&[0x11, 0, 0, 7][..], &size, &[0, 0x21], ip].concat())
    }),
    ("PPP", 9, |ip| [&[0xff, 3, 0, 0x21], ip].concat()),
    ("IP in IP, RFC 2003", 101, |ip| outer(4, ip)),
    ("IP in IP in VLAN", 1, |ip| ethernet(0x8100, &[&[0, 7, 8, 0][..], &outer(4, ip)].concat())),
    ("IP in IPv6, RFC 2473", 101, |ip| {
        let size = (ip.len() as u16).to_be_bytes();
        [&[0x60, 0, 0, 0][..], &size, &[4, 64], &[0xfd; 32], ip].concat()
    }),
    ("GRE, RFC 2784", 101, |ip| outer(47, &[&[0, 0, 8, 0], ip].concat())),
    ("GRE with checksum, key and sequence, RFC 2890", 101, |ip| {
        outer(47, &[&[0xb0, 0, 8, 0, 1, 2, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1], ip].concat())
    }),
    ("Ethernet in GRE", 101, |ip| outer(47, &[&[0, 0, 0x65, 0x58][..], &ethernet(0x0800, ip)].concat())),
    ("PPTP, RFC 2637", 101, |ip| {
        let size = (4 + ip.len() as u16).to_be_bytes();
        outer(47, &[&[0x30, 1, 0x88, 0x0b][..], &size, &[0, 1, 0, 0, 0, 1, 0xff, 3, 0, 0x21], ip].concat())
    }),
    ("ERSPAN type I", 101, |ip| outer(47, &[&[0, 0, 0x88, 0xbe][..], &ethernet(0x0800, ip)].concat())),
    ("ERSPAN type II", 101, |ip| {
        outer(47, &[&[0x10, 0, 0x88, 0xbe, 0, 0, 0, 1, 0x10, 1, 0, 1, 0, 0, 0, 0][..], &ethernet(0x0800, ip)].concat())
    }),
    ("VXLAN, RFC 7348", 101, |ip| {
        outer(17, &udp(4789, &[&[8, 0, 0, 0, 0, 0, 7, 0][..], &ethernet(0x0800, ip)].concat()))
    }),
    ("VXLAN as Linux first had it", 1, |ip| {
        let vxlan = udp(8472, &[&[8, 0, 0, 0, 0, 0, 7, 0][..], &ethernet(0x0800, ip)].concat());
        ethernet(0x0800, &outer(17, &vxlan))
    }),
    ("Geneve, RFC 8926", 101, |ip| {
        let head = [1, 0, 0x65, 0x58, 0, 0, 7, 0, 0, 1, 2, 0];
        outer(17, &udp(6081, &[&head[..], &ethernet(0x0800, ip)].concat()))
    }),
    ("VXLAN in MPLS in GRE", 101, |ip| {
        let vxlan = outer(17, &udp(4789, &[&[8, 0, 0, 0, 0, 0, 7, 0][..], &ethernet(0x0800, ip)].concat()));
        outer(47, &[&[0, 0, 0x88, 0x47, 0, 2, 0x01, 64][..], &vxlan].concat())
    }),
];

#[test]
fn tunnels_are_taken_off() {
    for (name, link, around) in TUNNELS {
        let mut pcap = Pcap::new(link);
        exchange().iter().for_each(|tcp| pcap.add(0, &around(&tcp.ipv4())));
        let read = read(&pcap.0);
        assert_eq!(read.ids(), "1", "{name}");
        assert_eq!(read.exchanges[0].exchange.endpoints.as_ref().unwrap().client, "10.0.0.1:40000", "{name}");
        // A packet that is cut off anywhere is one that cannot be read, or less of the request.
        let whole = around(&exchange()[0].ipv4());
        for kept in (0..whole.len()).step_by(5) {
            let mut pcap = Pcap::new(link);
            pcap.cut(0, &whole, kept);
            super::read(&pcap.0);
        }
    }
}

#[test]
fn tunnels_inside_of_each_other_have_an_end() {
    let mut packet = exchange()[0].ipv4();
    (0..20).for_each(|_| packet = outer(4, &packet));
    let mut pcap = Pcap::new(101);
    pcap.add(0, &packet);
    assert_eq!(skipped(&pcap.0), [(SkippedPackets::Headers, 1)].into());
}

#[test]
fn what_is_no_tcp_says_what_it_is() {
    let mut pcap = Pcap::new(1);
    pcap.add(0, &ethernet(0x0806, &[0; 28]));
    pcap.add(0, &ethernet(0x0800, &outer(17, &udp(53, b"a question"))));
    pcap.add(0, &ethernet(0x0800, &outer(50, &[7; 40])));
    // VXLAN's port, without VXLAN's flag.
    pcap.add(0, &ethernet(0x0800, &outer(17, &udp(4789, &[0; 60]))));
    let expected =
        [(SkippedPackets::NotIp(0x0806), 1), (SkippedPackets::NotTcp(17), 2), (SkippedPackets::NotTcp(50), 1)];
    assert_eq!(skipped(&pcap.0), expected.into());
}

fn skipped(file: &[u8]) -> BTreeMap<SkippedPackets, u64> {
    let Ok(mut capture) = Capture::new(file, CaptureOptions::default()) else { panic!("this is not a capture") };
    assert!(capture.next().is_none());
    capture.statistics().skipped
}

#[test]
fn ethernet_pads_short_packets() {
    let (mut sides, segments) = Sides::open(1, 1);
    let mut pcap = Pcap::new(1);
    let mut all = segments;
    all.push(sides.asks(1));
    all.push(sides.answers(1));
    for tcp in &all {
        let mut packet = [&[0; 12][..], &[8, 0], &tcp.ipv4()].concat();
        packet.resize(packet.len().max(100), 0xaa);
        pcap.add(0, &packet);
    }
    let read = read(&pcap.0);
    assert_eq!(read.ids(), "1");
    assert!(read.gaps.is_empty());
}

#[test]
fn segmentation_offload_leaves_a_length_of_zero() {
    let mut pcap = Pcap::new(101);
    for tcp in exchange() {
        let mut packet = tcp.ipv4();
        packet[2..4].fill(0);
        pcap.add(0, &packet);
    }
    assert_eq!(read(&pcap.0).ids(), "1");
}

#[test]
fn ipv6_has_headers_after_its_header() {
    let cases: [(u8, &[u8]); 4] = [
        (6, &[]),
        // Options of hops, then of the destination, twice as long.
        (0, &[60, 0, 1, 4, 0, 0, 0, 0, 6, 1, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
        // A fragment that is all there is.
        (44, &[6, 0, 0, 0, 0, 0, 0, 1]),
        // Authentication of 12 bytes.
        (51, &[6, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]),
    ];
    for (next, extensions) in cases {
        let mut pcap = Pcap::new(229);
        exchange().iter().for_each(|tcp| pcap.add(0, &tcp.ipv6(next, extensions)));
        let read = read(&pcap.0);
        assert_eq!(read.ids(), "1", "{next}");
        assert_eq!(read.exchanges[0].exchange.endpoints.as_ref().unwrap().client, "[fd00::1]:40000");
    }
}

#[test]
fn fragments_and_unknown_links_are_counted() {
    let mut fragment = exchange()[0].ipv4();
    fragment[6] = 0x20;
    let mut pcap = Pcap::new(101);
    pcap.add(0, &fragment);
    pcap.add(0, &exchange()[0].ipv6(44, &[6, 0, 0, 1, 0, 0, 0, 1]));
    pcap.add(0, &[0x45, 0, 0]);
    let mut capture = Capture::new(&pcap.0[..], CaptureOptions::default()).unwrap();
    assert!(capture.next().is_none());
    let statistics = capture.statistics();
    assert_eq!(statistics.skipped, [(SkippedPackets::Fragment, 2), (SkippedPackets::Headers, 1)].into());
    let pcap = behind(9999, &[]);
    let mut capture = Capture::new(&pcap[..], CaptureOptions::default()).unwrap();
    assert!(capture.next().is_none());
    assert_eq!(capture.statistics().skipped, [(SkippedPackets::Link(9999), 2)].into());
}

/// Numbers in either byte order.
#[derive(Clone, Copy)]
struct Order(bool);

impl Order {
    fn u16(self, number: u16) -> [u8; 2] {
        if self.0 { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    fn u32(self, number: u32) -> [u8; 4] {
        if self.0 { number.to_be_bytes() } else { number.to_le_bytes() }
    }

    fn block(self, kind: u32, body: &[u8]) -> Vec<u8> {
        let body = [body, &vec![0; body.len().next_multiple_of(4) - body.len()]].concat();
        let length = self.u32(body.len() as u32 + 12);
        [&self.u32(kind)[..], &length, &body, &length].concat()
    }

    fn section(self) -> Vec<u8> {
        let body = [&self.u32(0x1a2b_3c4d)[..], &self.u16(1), &self.u16(0), &[0xff; 8]].concat();
        self.block(0x0a0d_0d0a, &body)
    }

    /// An interface of raw IP with options, each a code and a value.
    fn interface(self, options: &[(u16, &[u8])]) -> Vec<u8> {
        let mut body = [&self.u16(101)[..], &[0; 6]].concat();
        for (code, value) in options {
            body.extend(self.u16(*code));
            body.extend(self.u16(value.len() as u16));
            body.extend(*value);
            body.resize(body.len().next_multiple_of(4), 0);
        }
        body.extend([0; 4]);
        self.block(1, &body)
    }

    fn packet(self, interface: u32, units: u64, bytes: &[u8]) -> Vec<u8> {
        let length = bytes.len() as u32;
        let numbers = [interface, (units >> 32) as u32, units as u32, length, length].map(|number| self.u32(number));
        self.block(6, &[&numbers.concat(), bytes].concat())
    }
}

#[test]
fn each_interface_of_a_pcapng_file_has_a_time_of_its_own() {
    let mut files = Vec::new();
    for order in [Order(false), Order(true)] {
        let offset = if order.0 { 1000_i64.to_be_bytes() } else { 1000_i64.to_le_bytes() };
        let [request, response] = exchange();
        let mut file = order.section();
        file.extend(order.interface(&[(9, &[9]), (2, b"eth0")]));
        // Units of 1/1024 of a second, from 1000 seconds after 1970.
        file.extend(order.interface(&[(9, &[0x8a]), (14, &offset)]));
        file.extend(order.interface(&[]));
        // A block that nobody knows.
        file.extend(order.block(0xbad, b"what is it"));
        file.extend(order.packet(0, 1_000_250_000_001, &request.ipv4()));
        file.extend(order.packet(1, 512, &response.ipv4()));
        files.push(file);
    }
    // One section after the other, in another byte order.
    files.push(files.concat());
    for file in files {
        let read = read(&file);
        assert_eq!(read.error, None);
        let exchange = &read.exchanges[0].exchange;
        assert_eq!(exchange.request.as_ref().unwrap().time, Duration::new(1000, 250_000_001));
        assert_eq!(exchange.response.as_ref().unwrap().time, Duration::from_millis(1_000_500));
    }
}

#[test]
fn old_and_simple_blocks_hold_packets_too() {
    let order = Order(false);
    let [request, response] = exchange();
    let mut file = order.section();
    file.extend(order.interface(&[]));
    let bytes = request.ipv4();
    let length = order.u32(bytes.len() as u32);
    // Interface, drops, time, lengths.
    let old =
        [&order.u16(0)[..], &order.u16(0), &order.u32(0), &order.u32(5_000_000), &length, &length, &bytes].concat();
    file.extend(order.block(2, &old));
    let bytes = response.ipv4();
    file.extend(order.block(3, &[&order.u32(bytes.len() as u32)[..], &bytes].concat()));
    let read = read(&file);
    assert_eq!(read.ids(), "1");
    // A simple packet has no time; it comes after the one before.
    assert_eq!(read.exchanges[0].exchange.response.as_ref().unwrap().time, Duration::from_secs(5));
}

#[test]
fn pcap_has_four_magics_in_two_orders() {
    for (magic, fraction, head) in
        [(0xa1b2_c3d4_u32, 250_000, 0), (0xa1b2_3c4d, 250_000_000, 0), (0xa1b2_cd34, 250_000, 8)]
    {
        for order in [Order(false), Order(true)] {
            let mut file = [&order.u32(magic)[..], &order.u16(2), &order.u16(4), &[0; 8]].concat();
            file.extend([order.u32(65_535), order.u32(101)].concat());
            for tcp in exchange() {
                let bytes = tcp.ipv4();
                let length = bytes.len() as u32;
                file.extend([7, fraction, length, length].map(|number| order.u32(number)).concat());
                file.extend(vec![0; head]);
                file.extend(bytes);
            }
            let read = read(&file);
            assert_eq!(read.ids(), "1", "{magic:x}");
            assert_eq!(read.exchanges[0].exchange.request.as_ref().unwrap().time, Duration::from_millis(7250));
        }
    }
}
