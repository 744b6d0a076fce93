//! Hostile and odd inputs by name, and what becomes of each: refused with a kind and at a byte, or read as Kafka reads
//! it. What they cost in memory is counted, too.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its bytes has failed")]

use allocation_counter::measure;
use milena_connection::{
    ClientConnection, ClientConnectionConfig, ConnectionError, Foreign, ServerConnection, ServerConnectionConfig,
};
use milena_messages::{Message as Typed, MessageVisitor, visit_message};
use milena_schema::{JSON_LIMITS, Spec};
use milena_wire::{Bytes, ErrorKind, Limits, Reader, Report, Result};

use Fate::{Dear, Foul, Same, Stays, Turns};

/// What becomes of the bytes of a message.
#[derive(Clone, Copy, Debug)]
enum Fate {
    /// Malformed, at this byte.
    Foul(usize),
    /// More than the default limits of a typed message allow, at this byte; the schema codec has other limits.
    Dear(usize),
    /// Read, and written as these bytes.
    Turns(&'static str),
    /// Read, and written as it was.
    Same,
    /// Read, but not to be written.
    Stays,
}

/// Name, message, version, bytes in hex, fate.
type Row = (&'static str, &'static str, i16, &'static str, Fate);

/// MetadataRequest is a nullable array of names; from version 9 on two or three bools and the tags follow.
const METADATA: &str = "MetadataRequest";
/// One nullable string with tag 0.
const BEGIN: &str = "BeginTransactionRecord";
/// No fields, only tags.
const END: &str = "EndTransactionRecord";
/// Its seventh field, from byte 16 on, is a struct that may be null.
const HEARTBEAT: &str = "ConsumerGroupHeartbeatResponse";
/// Topics with partitions with records that may be null.
const PRODUCE: &str = "ProduceRequest";
/// Topics, each with an array of int32.
const LOG_DIRS: &str = "DescribeLogDirsRequest";
const SASL: &str = "SaslAuthenticateRequest";

const MESSAGES: &[Row] = &[
    ("nothing at all", METADATA, 1, "", Foul(0)),
    ("a count cut off", METADATA, 1, "000000", Foul(0)),
    ("null where null may not stand", METADATA, 0, "ffffffff", Foul(0)),
    ("count -2 where null may not stand", METADATA, 0, "fffffffe", Foul(0)),
    ("count -2 where null may stand", METADATA, 1, "fffffffe", Turns("ffffffff")),
    ("the least count", METADATA, 1, "80000000", Turns("ffffffff")),
    ("the greatest count", METADATA, 1, "7fffffff", Foul(0)),
    ("a count one above the bytes left", METADATA, 1, "000000030000", Foul(0)),
    ("a name cut off", METADATA, 1, "00000001000561", Foul(4)),
    ("a name of null", METADATA, 1, "00000001ffff", Foul(4)),
    ("a name of length -2", METADATA, 1, "00000001fffe", Foul(4)),
    ("a name of the greatest length", METADATA, 1, "000000017fff", Foul(4)),
    ("a second name missing", METADATA, 1, "0000000200016100", Foul(7)),
    ("bytes after the message", METADATA, 1, "000000000102", Turns("00000000")),
    ("a byte that is not UTF-8", METADATA, 1, "000000010001ff", Turns("000000010003efbfbd")),
    ("an encoded surrogate", METADATA, 1, "000000010003eda080", Turns("000000010003efbfbd")),
    ("UTF-8 cut off", METADATA, 1, "000000010002e282", Turns("000000010003efbfbd")),
    ("an overlong zero", METADATA, 1, "000000010002c080", Turns("000000010006efbfbdefbfbd")),
    ("a varint longer than needed", METADATA, 9, "818080800001000000", Turns("0101000000")),
    ("a varint with bits above the 32nd", METADATA, 9, "818080804001000000", Turns("0101000000")),
    ("a varint of six bytes", METADATA, 9, "ffffffffff0101000000", Foul(0)),
    ("a varint cut off", METADATA, 9, "ffff", Foul(0)),
    ("a compact count that wraps around", METADATA, 9, "808080800801000000", Foul(0)),
    ("a compact count that is negative", METADATA, 9, "ffffffff0f01000000", Turns("0001000000")),
    ("the greatest compact count", METADATA, 9, "ffffffff0701000000", Foul(0)),
    ("a compact name of null", METADATA, 9, "020001000000", Foul(1)),
    ("a compact name above 32,767 bytes", METADATA, 9, "0281800201000000", Foul(1)),
    ("a compact name that wraps around", METADATA, 9, "028080808008000000", Foul(1)),
    ("a bool of 2", METADATA, 9, "0102000000", Turns("0101000000")),
    ("a bool of 255", METADATA, 9, "01ff000000", Turns("0101000000")),
    ("more tags than bytes", METADATA, 9, "0101000005", Foul(4)),
    ("a negative number of tags", METADATA, 9, "01010000ffffffff0f", Foul(4)),
    ("a tag of negative size", METADATA, 9, "0101000001d00ffeffffff0f", Foul(7)),
    ("a tag larger than the message", METADATA, 9, "0101000001050961", Foul(6)),
    ("a tag without size", METADATA, 9, "010100000105", Foul(6)),
    ("an unknown tag", METADATA, 9, "0101000001050161", Same),
    ("unknown tags that descend", METADATA, 9, "0101000002050161040162", Stays),
    ("an unknown tag twice", METADATA, 9, "0101000002050161050162", Stays),
    ("unknown tags that descend, and nothing else", END, 0, "02d10f020202d00f0101", Stays),
    ("a known tag that says it is shorter", BEGIN, 0, "01000304613438", Turns("01000404613438")),
    ("a known tag that says it is longer", BEGIN, 0, "01000504613438", Turns("01000404613438")),
    ("a known tag twice, the second cut off", BEGIN, 0, "02000404613438000202", Foul(9)),
    ("a known tag twice, the last one counts", BEGIN, 0, "0200040461343800020262", Turns("0100020262")),
    ("a known tag after unknown ones", BEGIN, 0, "02d00f016100020262", Turns("0200020262d00f0161")),
    ("a known tag with its default", BEGIN, 0, "01000100", Turns("00")),
    ("a tag of a later version", "BrokerRegistrationChangeRecord", 0, "00000001000000000000000201010100", Foul(15)),
    ("a struct that is null", HEARTBEAT, 0, "00000000000000000000000000000000ff00", Same),
    (
        "a struct that is null by -2",
        HEARTBEAT,
        0,
        "00000000000000000000000000000000fe00",
        Turns("00000000000000000000000000000000ff00"),
    ),
    (
        "a struct that is there by 0",
        HEARTBEAT,
        0,
        "0000000000000000000000000000000000010000",
        Turns("0000000000000000000000000000000001010000"),
    ),
    (
        "a struct that is there by 127",
        HEARTBEAT,
        0,
        "000000000000000000000000000000007f010000",
        Turns("0000000000000000000000000000000001010000"),
    ),
    ("bytes of a negative length", SASL, 0, "ffffffff", Foul(0)),
    ("bytes of the greatest length", SASL, 0, "7fffffff00", Foul(0)),
    ("compact bytes of the greatest length", SASL, 2, "ffffffff0700", Foul(0)),
    ("records of null", PRODUCE, 3, "ffff0001000000000000000100016100000001 00000000ffffffff", Same),
    (
        "records of length -5",
        PRODUCE,
        3,
        "ffff0001000000000000000100016100000001 00000000fffffffb",
        Turns("ffff000100000000000000010001610000000100000000ffffffff"),
    ),
    (
        "records longer than the message",
        PRODUCE,
        3,
        "ffff0001000000000000000100016100000001 000000007fffffff",
        Foul(23),
    ),
    ("more int32 than bytes", LOG_DIRS, 0, "00000001000161 00000002 00000001", Foul(7)),
    ("the greatest count of int32", LOG_DIRS, 0, "00000001000161 7fffffff 00000001", Foul(7)),
    ("a null array of int32", LOG_DIRS, 0, "00000001000161 ffffffff", Foul(7)),
];

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    digits.chunks(2).map(|byte| u8::from_str_radix(&byte.iter().collect::<String>(), 16).unwrap()).collect()
}

struct Again(Bytes, i16);

impl MessageVisitor for Again {
    type Output = (Result<Result<Bytes>>, u64);

    fn visit<M: Typed>(self) -> Self::Output {
        let mut message = None;
        let info = measure(|| message = Some(M::decode(&mut Reader::new(self.0), self.1)));
        (message.unwrap().map(|message| message.to_bytes(self.1)), info.bytes_max)
    }
}

fn check((name, message, version, bytes, fate): &(impl std::fmt::Display, &str, i16, Vec<u8>, Fate)) {
    let bytes = Bytes::from(bytes.clone());
    let (typed, peak) = visit_message(message, Again(bytes.clone(), *version)).unwrap();
    let message = Spec::kafka().message(message).unwrap();
    let dynamic = message.decode_from(&mut Reader::with_limits(bytes.clone(), JSON_LIMITS), *version);
    let dynamic = dynamic.map(|json| message.encode(&json, *version));

    let limits = Limits::default();
    let most = limits.memory_per_byte * bytes.len() + limits.memory_floor;
    assert!(peak <= most as u64, "{name}: {peak} of {most} bytes");

    let same = format!("{name}: {typed:?}, {dynamic:?}");
    match *fate {
        Foul(at) => {
            let error = typed.expect_err(&same);
            assert_eq!((error.kind(), error.offset()), (ErrorKind::Malformed, Some(at)), "{name}: {error}");
            assert_eq!(dynamic.as_ref().err(), Some(&error), "{same}");
        }
        Dear(at) => {
            let error = typed.expect_err(&same);
            assert_eq!((error.kind(), error.offset()), (ErrorKind::LimitExceeded, Some(at)), "{name}: {error}");
            assert_eq!(dynamic, Ok(Ok(bytes)), "{name}");
        }
        Turns(_) | Same => {
            let expected = if let Turns(other) = fate { hex(other).into() } else { bytes };
            assert_eq!(typed, Ok(Ok(expected.clone())), "{name}");
            assert_eq!(dynamic, Ok(Ok(expected)), "{name}");
        }
        Stays => {
            for written in [typed.expect(&same), dynamic.expect(&same)] {
                assert_eq!(written.unwrap_err().kind(), ErrorKind::InvalidValue, "{name}");
            }
        }
    }
}

#[test]
fn messages_are_refused_at_a_byte_or_read_as_kafka_reads_them() {
    assert!(MESSAGES.len() >= 54);
    for (name, message, version, bytes, fate) in MESSAGES {
        check(&(name, message, *version, hex(bytes), *fate));
    }
}

#[test]
fn many_elements_of_few_bytes_cost_more_than_a_message_may() {
    const MANY: u32 = 100_000;
    let mut names = MANY.to_be_bytes().to_vec();
    names.resize(4 + 2 * MANY as usize, 0);
    check(&("names without letters", METADATA, 1, names, Dear(0)));

    // The bytes are zeros, and the count is that of the bytes.
    let mut claims = hex("00000001000161");
    claims.extend(MANY.to_be_bytes());
    claims.resize(11 + MANY as usize, 0);
    check(&("int32 of a byte each", LOG_DIRS, 0, claims, Foul(7)));
}

#[test]
fn many_unknown_tags_cost_more_than_a_message_may() {
    // Tags of three bytes from 2^14 on, each of them empty.
    let tags = |count: u32| {
        let mut bytes = vec![count as u8 | 0x80, (count >> 7) as u8 | 0x80, (count >> 14) as u8];
        for tag in (1 << 14)..(1 << 14) + count {
            bytes.extend([tag as u8 | 0x80, (tag >> 7) as u8 | 0x80, (tag >> 14) as u8, 0]);
        }
        bytes
    };
    // A tag is charged as three of 40 bytes, since a list that grows is copied into one of twice its length; a message
    // of that size may cost 64 KiB and 16 bytes for each of its own, which is enough for 53,879 of them.
    let paid = ((64 << 10) + 16 * (3 + 4 * 100_000)) / 120;
    assert_eq!(paid, 53_879);
    check(&("100,000 unknown tags", END, 0, tags(100_000), Dear(3 + 4 * paid + 3)));
    // Few enough for the floor of 64 KiB are kept.
    check(&("500 unknown tags", END, 0, [&[0xf4, 0x03], &tags(500)[3..]].concat(), Same));
}

#[test]
fn a_version_that_no_release_had_is_refused_without_a_look_at_the_bytes() {
    for version in [-1, 14, i16::MAX] {
        let (typed, _) = visit_message(METADATA, Again(Bytes::from_static(&[0; 16]), version)).unwrap();
        let error = typed.unwrap_err();
        assert_eq!((error.kind(), error.offset()), (ErrorKind::UnsupportedVersion, None));
        let dynamic = Spec::kafka().message(METADATA).unwrap().decode(Bytes::from_static(&[0; 16]), version);
        assert_eq!(dynamic.unwrap_err(), error);
    }
}

/// What a peer that is no friend sends first.
#[test]
fn first_bytes_of_a_connection_are_refused_or_waited_for() {
    let cut = |at, what: &str| format!("cannot read {what}: {at}");
    let large = |size| ConnectionError::FrameTooLarge { size, limit: 100 << 20 }.to_string();
    let foreign = |foreign| ConnectionError::Foreign(foreign).to_string();
    let rows: [(&str, &[u8], Option<String>); 18] = [
        ("8 bytes that claim two gigabytes", b"\x7f\xff\xff\xff\0\0\0\0", Some(large(0x7fff_ffff))),
        ("8 bytes that claim one more than may be", b"\x06\x40\x00\x01\0\0\0\0", Some(large((100 << 20) + 1))),
        ("8 bytes that claim as many as may be", b"\x06\x40\x00\x00\0\0\0\0", None),
        ("a size of -1", b"\xff\xff\xff\xff", Some(ConnectionError::NegativeFrame { size: -1 }.to_string())),
        ("the least size", b"\x80\0\0\0", Some(ConnectionError::NegativeFrame { size: i32::MIN }.to_string())),
        ("half a size", b"\x7f\xff", None),
        ("a TLS handshake", b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", Some(foreign(Foreign::TlsHandshake))),
        ("a TLS alert", b"\x15\x03\x03\0\x02\x02\x0a", Some(foreign(Foreign::TlsAlert))),
        ("HTTP GET", b"GET / HTTP/1.1\r\n\r\n", Some(foreign(Foreign::Http))),
        ("HTTP POST", b"POST /topics HTTP/1.1\r\n", Some(foreign(Foreign::Http))),
        ("HTTP CONNECT", b"CONNECT kafka:9092 HTTP/1.1\r\n", Some(foreign(Foreign::Http))),
        ("an HTTP response", b"HTTP/1.1 400 Bad Request\r\n", Some(foreign(Foreign::Http))),
        ("SSH", b"SSH-2.0-OpenSSH_9.6\r\n", Some(foreign(Foreign::Ssh))),
        ("an empty frame", b"\0\0\0\0", Some(cut("2 bytes expected, 0 left (at byte 0)", "the header of a request"))),
        (
            "a header without correlation id",
            b"\0\0\0\x05\0\x03\0\x01\x07",
            Some(cut("RequestHeader.correlationId: 4 bytes expected, 1 left (at byte 4)", "the header of a request")),
        ),
        (
            "a client id longer than the frame",
            b"\0\0\0\x0a\0\x03\0\x01\0\0\0\x07\x7f\xff",
            Some(cut("RequestHeader.clientId: length 32767, but 0 bytes left (at byte 8)", "the header of a request")),
        ),
        (
            "a tag of a header longer than the frame",
            b"\0\0\0\x0d\0\x03\0\x09\0\0\0\x07\xff\xff\x01\x05\x7f",
            Some(cut("RequestHeader: length 127, but 0 bytes left (at byte 12)", "the header of a request")),
        ),
        ("a frame not all there", b"\0\0\0\x0a\0\x03\0\x01\0\0\0\x07", None),
    ];
    for (name, bytes, expected) in rows {
        let mut server = ServerConnection::new(ServerConnectionConfig::passing_all());
        let mut polled = None;
        let info = measure(|| {
            server.input().extend_from_slice(bytes);
            polled = Some(server.poll());
        });
        assert!(info.bytes_max <= 16 * bytes.len() as u64 + (64 << 10), "{name}: {} bytes", info.bytes_max);
        match (polled.unwrap(), expected) {
            (Ok(None), None) => {}
            (Err(error), Some(text)) => assert_eq!(Report(&error).to_string(), text, "{name}"),
            (polled, expected) => panic!("{name}: {polled:?}, expected {expected:?}"),
        }
    }
}

#[test]
fn odd_headers_are_read_as_kafka_reads_them() {
    type Row = (&'static str, &'static [u8], Option<&'static str>, &'static [u8]);
    let rows: [Row; 4] = [
        (
            "a client id that is not UTF-8",
            b"\0\x03\0\x01\0\0\0\x07\0\x01\xff\xff\xff\xff\xff",
            Some("\u{FFFD}"),
            &[0xff; 4],
        ),
        ("a client id of length -2", b"\0\x03\0\x01\0\0\0\x07\xff\xfe", None, b""),
        ("an unknown tag", b"\0\x03\0\x09\0\0\0\x07\xff\xff\x01\x05\x01aBODY", None, b"BODY"),
        ("a key that no release has", b"\x27\x10\0\x03\0\0\0\x07\xff\xff\0BODY", None, b"BODY"),
    ];
    for (name, frame, client_id, body) in rows {
        let mut server = ServerConnection::new(ServerConnectionConfig::passing_all());
        server.receive(&(frame.len() as u32).to_be_bytes());
        server.receive(frame);
        let request = server.poll().unwrap().expect(name);
        assert_eq!((request.correlation_id, request.client_id.as_deref()), (7, client_id), "{name}");
        assert_eq!(request.body, body, "{name}");
    }
}

#[test]
fn a_client_that_sent_nothing_accepts_no_response() {
    for (bytes, expected) in [
        (&b"\0\0\0\x04\0\0\0\0"[..], "the peer responded to correlation id 0, but nothing waits for a response"),
        (b"\0\0\0\x00", "cannot read the header of a response: 4 bytes expected, 0 left (at byte 0)"),
    ] {
        let mut client = ClientConnection::new(ClientConnectionConfig::default());
        client.receive(bytes);
        assert_eq!(Report(&client.poll().unwrap_err()).to_string(), expected);
    }
}

#[cfg(feature = "records")]
mod records {
    use allocation_counter::measure;
    use milena::records::{BatchMut, Batches, Codec, ErrorKind, ReadOptions};

    /// What one hostile batch may decompress to.
    const LIMIT: usize = 1 << 20;

    /// A batch with these bytes in it and a checksum that is right.
    fn batch(count: i32, codec: u8, payload: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 61];
        bytes[8..12].copy_from_slice(&(49 + payload.len() as i32).to_be_bytes());
        bytes[16] = 2;
        bytes[22] = codec;
        bytes[57..61].copy_from_slice(&count.to_be_bytes());
        bytes.extend_from_slice(payload);
        BatchMut::new(&mut bytes).unwrap().update_crc();
        bytes
    }

    /// One record: timestamp delta, offset delta, key "k", value "v", no headers.
    const PLAIN: &[u8] = b"\x10\0\0\0\x02k\x02v\0";

    fn with(at: usize, part: &[u8]) -> Vec<u8> {
        let mut bytes = batch(1, 0, PLAIN);
        bytes[at..at + part.len()].copy_from_slice(part);
        bytes
    }

    /// Walks, checks and reads all, as a consumer does: how many records, or the first error.
    fn read(bytes: &[u8]) -> Result<usize, (ErrorKind, Option<usize>)> {
        let options = ReadOptions { limit: LIMIT, ..ReadOptions::default() };
        let mut count = 0;
        for batch in Batches::with_options(bytes.to_vec().into(), options) {
            let batch = batch.map_err(|error| (error.kind(), error.offset()))?;
            for record in batch.records() {
                record.map_err(|error| (error.kind(), error.offset()))?;
                count += 1;
            }
        }
        Ok(count)
    }

    #[test]
    fn batches_are_refused_at_a_byte_or_read_as_kafka_reads_them() {
        use ErrorKind::{BadCrc, Framing, Malformed};
        let foul = |kind, at| Err((kind, Some(at)));
        let rows = [
            ("as it should be", batch(1, 0, PLAIN), Ok(1)),
            ("a size of 0", with(8, &[0; 4]), foul(Framing, 8)),
            ("a size of 13", with(8, &[0, 0, 0, 13]), foul(Framing, 8)),
            ("a size of -1", with(8, &[0xff; 4]), foul(Framing, 8)),
            ("the least size", with(8, &[0x80, 0, 0, 0]), foul(Framing, 8)),
            ("the greatest size", with(8, &[0x7f, 0xff, 0xff, 0xff]), foul(Framing, 8)),
            ("the greatest size that can be", with(8, &[0x7f, 0xff, 0xff, 0xf3]), Ok(0)),
            ("fewer bytes than a size takes", vec![0xff; 11], Ok(0)),
            ("magic 3", with(16, &[3]), foul(Framing, 16)),
            ("magic -1", with(16, &[0xff]), foul(Framing, 16)),
            ("a wrong checksum", with(17, &[0; 4]), foul(BadCrc, 17)),
            ("a bit of a record", with(66, b"x"), foul(BadCrc, 17)),
            ("codec 5", batch(1, 5, PLAIN), foul(Malformed, 21)),
            ("codec 6", batch(1, 6, PLAIN), foul(Malformed, 21)),
            ("codec 7", batch(1, 7, PLAIN), foul(Malformed, 21)),
            ("a count of -1", batch(-1, 0, PLAIN), foul(Malformed, 57)),
            ("the greatest count", batch(i32::MAX, 0, PLAIN), foul(Malformed, 70)),
            ("a count of 0 with bytes after it", batch(0, 0, PLAIN), Ok(0)),
            ("bytes after the last record", batch(1, 0, b"\x10\0\0\0\x02k\x02v\0junk"), foul(Malformed, 70)),
            ("a record of length 0", batch(1, 0, b"\0"), foul(Malformed, 62)),
            ("a record of length -1", batch(1, 0, b"\x01\0\0\0"), foul(Malformed, 61)),
            ("a record longer than the batch", batch(1, 0, b"\xfe\xff\xff\xff\x0f\0"), foul(Malformed, 61)),
            ("a varint of six bytes", batch(1, 0, b"\x10\0\0\xff\xff\xff\xff\xff\x01"), foul(Malformed, 64)),
            ("a key of length -7", batch(1, 0, b"\x0c\0\0\0\x0d\x01\0"), Ok(1)),
            ("a key longer than the record", batch(1, 0, b"\x0c\0\0\0\x7e\x01\0"), foul(Malformed, 65)),
            ("-1 headers", batch(1, 0, b"\x0c\0\0\0\x01\x01\x01"), foul(Malformed, 67)),
            ("headers without number", batch(1, 0, b"\x14\0\0\0\x01\x01\xfe\xff\xff\xff\x0f"), foul(Malformed, 67)),
            ("a header without key", batch(1, 0, b"\x10\0\0\0\x01\x01\x02\x01\x01"), foul(Malformed, 68)),
        ];
        for (name, bytes, expected) in rows {
            let mut found = None;
            let info = measure(|| found = Some(read(&bytes)));
            assert_eq!(found, Some(expected), "{name}");
            assert!(info.bytes_max <= 16 * bytes.len() as u64 + (64 << 10), "{name}: {} bytes", info.bytes_max);
        }
    }

    #[test]
    fn payloads_that_grow_are_stopped_at_the_limit_and_garbage_is_none() {
        let zeros = vec![0; 8 << 20];
        for codec in Codec::ALL.into_iter().filter(|codec| codec.is_available() && *codec != Codec::None) {
            let bomb = codec.compress(&zeros, None).unwrap();
            for (name, payload, expected) in [
                ("a bomb", &bomb[..], ErrorKind::LimitExceeded),
                ("nothing", b"", ErrorKind::Malformed),
                ("garbage", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff", ErrorKind::Malformed),
                ("half of a bomb", &bomb[..bomb.len().min(20)], ErrorKind::Malformed),
            ] {
                let bytes = batch(1, codec.id(), payload);
                let mut found = None;
                let info = measure(|| found = read(&bytes).err());
                assert_eq!(found.map(|(kind, _)| kind), Some(expected), "{codec}, {name}");
                let most = 2 * LIMIT + 5 * bytes.len() + (256 << 10);
                assert!(info.bytes_max <= most as u64, "{codec}, {name}: {} of {most}", info.bytes_max);
            }
        }
    }
}
