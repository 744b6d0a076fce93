//! Files, links and networks.

use std::time::Duration;

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
fn ipv6_has_headers_behind_its_header() {
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
    use milena_inspect::capture::{Capture, CaptureOptions, Skipped};
    let mut fragment = exchange()[0].ipv4();
    fragment[6] = 0x20;
    let mut pcap = Pcap::new(101);
    pcap.add(0, &fragment);
    pcap.add(0, &exchange()[0].ipv6(44, &[6, 0, 0, 1, 0, 0, 0, 1]));
    pcap.add(0, &[0x45, 0, 0]);
    let mut capture = Capture::new(&pcap.0[..], CaptureOptions::default()).unwrap();
    assert!(capture.next().is_none());
    let statistics = capture.statistics();
    assert_eq!(statistics.skipped, [(Skipped::Fragment, 2), (Skipped::Headers, 1)].into());
    let pcap = behind(9999, &[]);
    let mut capture = Capture::new(&pcap[..], CaptureOptions::default()).unwrap();
    assert!(capture.next().is_none());
    assert_eq!(capture.statistics().skipped, [(Skipped::Link(9999), 2)].into());
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
    // One section behind the other, in another byte order.
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
