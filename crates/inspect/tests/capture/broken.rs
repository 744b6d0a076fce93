//! Anything at all.

use super::packets::{Pcap, file};
use super::read;

#[test]
fn what_is_no_capture_is_refused() {
    for bytes in [&b""[..], b"\xa1\xb2", b"hello world", b"\xa1\xb2\xc3\xd4\0\x02", b"\0\0\0\x10\0\x12\0\0"] {
        assert_eq!(read(bytes).error.as_deref(), Some("this is neither a pcap nor a pcapng file"));
    }
    let section = b"\x0a\x0d\x0d\x0a\x1c\0\0\0\xde\xad\xbe\xef";
    assert_eq!(read(section).error.as_deref(), Some("damaged at byte 0: a section whose byte order is unknown"));
}

#[test]
fn what_was_before_the_damage_is_read() {
    let mut sides = super::packets::Sides { client: 1, broker: 1 };
    let mut bytes = file(&[sides.asks(1), sides.answers(1)]);
    let end = bytes.len();
    bytes.extend([0xff; 40]);
    let read = read(&bytes);
    assert_eq!(read.ids(), "1");
    assert!(read.error.unwrap().starts_with(&format!("damaged at byte {end}: ")));
}

#[test]
fn a_file_that_ends_inside_of_a_packet_is_read_up_to_there() {
    let mut sides = super::packets::Sides { client: 1, broker: 1 };
    let bytes = file(&[sides.asks(1), sides.answers(1), sides.asks(2)]);
    for cut in 1..80 {
        let read = read(&bytes[..bytes.len() - cut]);
        assert_eq!((read.ids().as_str(), read.error), ("1", None), "{cut}");
    }
}

#[test]
fn claims_take_no_memory() {
    // A packet of 2 GB in a file of 40 bytes, and a block of 4 GB.
    let mut pcap = Pcap::new(1);
    pcap.0.extend([0; 8]);
    pcap.0.extend([0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0]);
    assert!(read(&pcap.0).error.is_some());
    let section = b"\x0a\x0d\x0d\x0a\x1c\0\0\0\x4d\x3c\x2b\x1a\x01\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\x1c\0\0\0";
    let block = [&section[..], b"\xad\x0b\0\0\xfc\xff\xff\xff"].concat();
    assert_eq!(read(&[&block[..], &[0; 100]].concat()).error, None);
}
