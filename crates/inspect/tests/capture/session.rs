//! Connections as TCP makes them.

use std::time::Duration;

use milena_connection::Foreign;
use milena_inspect::capture::{Capture, CaptureOptions, Protocol};
use milena_inspect::conversation::Remark;
use milena_messages::{ApiKey, ErrorCode};

use super::packets::{FIN, RST, Sides, Tcp, answer, file, request};
use super::{read, read_with};

/// A handshake and three exchanges.
fn three(client: u32, broker: u32) -> Vec<Tcp> {
    let (mut sides, mut all) = Sides::open(client, broker);
    for id in 1..=3 {
        all.push(sides.asks(id));
        all.push(sides.answers(id));
    }
    all
}

#[test]
fn requests_meet_their_responses() {
    let read = read(&file(&three(1, 1)));
    assert_eq!(read.ids(), "1 2 3");
    assert!(read.gaps.is_empty());
    let captured = &read.exchanges[0];
    assert_eq!(captured.exchange.endpoints.as_ref().unwrap().client, "10.0.0.1:40000");
    assert_eq!(captured.exchange.endpoints.as_ref().unwrap().broker, "10.0.0.2:9092");
    assert_eq!(captured.facts.errors, [ErrorCode::REBALANCE_IN_PROGRESS]);
    assert_eq!(captured.exchange.latency(), Some(Duration::from_millis(1)));
    assert_eq!(captured.exchange.request.as_ref().unwrap().time, Duration::from_millis(1_000_003));
    let [connection] = &read.connections[..] else { panic!("one connection") };
    assert!(connection.from_start && connection.protocol == Protocol::Kafka);
    assert_eq!(connection.calls[&(ApiKey::HEARTBEAT, 0)].count, 3);
    assert_eq!((connection.sent, connection.received), (3 * 31, 3 * 10));
    assert_eq!(connection.errors[&ErrorCode::REBALANCE_IN_PROGRESS], 3);
}

#[test]
fn numbers_wrap_around() {
    for start in [u32::MAX - 50, u32::MAX - 31, u32::MAX - 30, u32::MAX, 0] {
        assert_eq!(read(&file(&three(start, start))).ids(), "1 2 3", "{start}");
    }
}

#[test]
fn the_order_of_segments_does_not_matter() {
    // Neighbours of one side swapped, with bytes of each request in segments of their own.
    let (mut sides, mut all) = Sides::open(1, 1);
    for id in 1..=4 {
        let bytes = request(id);
        let (a, b, c) =
            (sides.says(true, &bytes[..3]), sides.says(true, &bytes[3..20]), sides.says(true, &bytes[20..]));
        all.extend(match id {
            1 => [b, a, c],
            2 => [c, b, a],
            3 => [a, c, b],
            _ => [c, a, b],
        });
        all.push(sides.answers(id));
    }
    let read = read(&file(&all));
    assert_eq!(read.ids(), "1 2 3 4");
    assert!(read.gaps.is_empty());
}

#[test]
fn repetitions_and_overlaps_count_once() {
    let mut all = three(1, 1);
    let first = all[3].clone();
    all.insert(5, first.clone());
    all.push(first.clone());
    // The end of the first request and the start of the second, once more and in one.
    let both = [request(1), request(2)].concat();
    all.insert(7, Tcp { seq: first.seq + 20, payload: both[20..50].to_vec(), ..first });
    let read = read(&file(&all));
    assert_eq!(read.ids(), "1 2 3");
    assert_eq!(read.connections.len(), 1);
    assert_eq!(read.connections[0].frames, 6);
}

#[test]
fn a_frame_with_a_hole_is_named_and_the_next_one_found() {
    let (mut sides, mut all) = Sides::open(1, 1);
    let bytes = request(1);
    all.push(sides.says(true, &bytes[..16]));
    let _lost = sides.says(true, &bytes[16..24]);
    all.push(sides.says(true, &bytes[24..]));
    all.push(sides.answers(1));
    for id in 2..30 {
        all.push(sides.asks(id));
        all.push(sides.answers(id));
    }
    let read = read(&file(&all));
    // Responses to the first ones came while there was still hope.
    assert_eq!(read.exchanges.iter().filter(|captured| captured.exchange.head().is_some()).count(), 29);
    let cut = read.exchanges.iter().find(|captured| captured.exchange.head().is_some_and(|h| h.correlation_id == 1));
    let request = cut.unwrap().exchange.request.as_ref().unwrap();
    // 31 bytes with the size, of which 16 came before the hole: the next frame is where the size says.
    assert_eq!((request.size(), request.missing), (27, 15));
    assert!(request.json().unwrap_err().to_string().contains("15 bytes"));
    assert!(read.gaps.is_empty());
    assert_eq!(read.connections[0].missing, 15);
}

#[test]
fn after_a_hole_over_the_end_of_a_frame_the_next_frame_is_found_by_its_content() {
    let (mut sides, mut all) = Sides::open(1, 1);
    all.push(sides.asks(1));
    all.push(sides.answers(1));
    let bytes = [request(2), request(3), request(4)].concat();
    all.push(sides.says(true, &bytes[..10]));
    let _lost = sides.says(true, &bytes[10..40]);
    // The end of the third with all of the fourth.
    all.push(sides.says(true, &bytes[40..]));
    for id in 2..5 {
        all.push(sides.answers(id));
    }
    for id in 5..30 {
        all.push(sides.asks(id));
        all.push(sides.answers(id));
    }
    let read = read(&file(&all));
    let ids: Vec<i32> = read.exchanges.iter().filter_map(|c| Some(c.exchange.head()?.correlation_id)).collect();
    assert_eq!(ids.iter().filter(|id| **id == 4).count(), 1, "{ids:?}");
    assert!(ids.contains(&29) && !ids.contains(&3), "{ids:?}");
    // Of the hole, 21 bytes are of the second frame, and 9 of the third, of which 22 are there.
    assert_eq!(read.gaps, [(9, 22)]);
    assert_eq!(read.connections[0].missing, 30);
}

#[test]
fn packets_cut_by_the_snaplen_still_pair() {
    let mut pcap = super::packets::Pcap::new(101);
    for (index, segment) in three(1, 1).iter().enumerate() {
        // IP, TCP and 20 bytes: correlation ids are in, client ids are not. Responses are whole.
        pcap.cut(index as u32, &segment.ipv4(), 20 + 24 + 20);
    }
    let read = read(&pcap.0);
    assert_eq!(read.ids(), "1 2 3");
    let sizes = read.exchanges.iter().map(|captured| captured.exchange.request.as_ref().unwrap().size());
    assert_eq!(sizes.collect::<Vec<_>>(), [27, 27, 27]);
    assert_eq!(read.exchanges[0].facts.errors, [ErrorCode::REBALANCE_IN_PROGRESS]);
    assert_eq!(read.connections[0].unread, 3);
}

#[test]
fn a_connection_that_began_before_is_read_from_the_first_request_on() {
    let mut sides = Sides { client: 7_000_000, broker: 4_000_000_000 };
    let mut all = vec![
        // The rest of a response, in which a request seems to stand, but not at the start of a segment.
        sides.says(false, &[b"the rest of some records".as_slice(), &request(9)].concat()),
        sides.says(false, b"and more of them"),
    ];
    all.push(sides.asks(8));
    all.push(sides.answers(7));
    all.push(sides.answers(8));
    all.push(sides.asks(9));
    all.push(sides.answers(9));
    let read = read(&file(&all));
    assert_eq!(read.ids(), "8 9");
    assert!(read.exchanges[0].exchange.endpoints.as_ref().unwrap().client.ends_with(":40000"));
    assert!(!read.connections[0].from_start);
    // What came before, and the response to a request that nobody saw.
    assert_eq!(read.connections[0].passed, 24 + 31 + 16 + 10);
}

#[test]
fn a_response_cut_off_by_the_end_of_the_connection_is_no_loss() {
    let (mut sides, mut all) = Sides::open(1, 1);
    all.push(sides.asks(1));
    all.push(sides.says(false, &answer(1)[..9]));
    all.push(Tcp { flags: RST, ..sides.says(true, b"") });
    let read = read(&file(&all));
    assert_eq!(read.ids(), "1");
    assert_eq!(read.exchanges[0].exchange.remarks, [Remark::Unfinished]);
    assert_eq!((read.connections[0].missing, read.connections[0].unread), (0, 0));
}

#[test]
fn ports_are_used_again() {
    let mut all = three(1, 1);
    let (mut sides, _) = Sides::open(1, 1);
    (sides.client, sides.broker) = (all[7].seq + 31, all[8].seq + 10);
    all.push(Tcp { flags: FIN, ..sides.says(true, b"") });
    all.push(Tcp { flags: FIN, ..sides.says(false, b"") });
    // A late repetition is of the old one.
    all.push(all[7].clone());
    all.extend(three(5_000_000, 6_000_000));
    // And without an end in between.
    all.extend(three(1_000, 2_000));
    let read = read(&file(&all));
    assert_eq!(read.ids(), "1 2 3 1 2 3 1 2 3");
    assert_eq!(read.connections.iter().map(|connection| connection.frames).collect::<Vec<_>>(), [6, 6, 6]);
}

#[test]
fn others_are_named() {
    for (hello, protocol) in [
        (&b"\x16\x03\x01\0\xc8\x01\0\0\xc4\x03\x03"[..], Protocol::Foreign(Foreign::TlsHandshake)),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", Protocol::Foreign(Foreign::Http)),
        (b"anything else at all", Protocol::Other),
    ] {
        let (mut sides, mut all) = Sides::open(1, 1);
        all.push(sides.says(true, hello));
        all.push(sides.says(false, b"whatever comes back"));
        let read = read(&file(&all));
        assert!(read.exchanges.is_empty());
        assert_eq!(read.connections[0].protocol, protocol);
        assert_eq!(read.connections[0].passed, hello.len() as u64 + 19);
    }
    // Who is greeted is the client.
    let (mut sides, mut all) = Sides::open(1, 1);
    all.push(sides.says(false, b"SSH-2.0-OpenSSH_9.6\r\n"));
    assert_eq!(read(&file(&all)).connections[0].protocol, Protocol::Foreign(Foreign::Ssh));
}

#[test]
fn zookeeper_is_other_traffic_although_its_frames_look_like_kafka() {
    // ConnectRequest of ZooKeeper 3.8: protocol version 0, last zxid 0, timeout 30000, no session, a password of zeros.
    let connect =
        [&[0, 0, 0, 45, 0, 0, 0, 0][..], &[0; 8], &[0, 0, 0x75, 0x30], &[0; 8], &[0, 0, 0, 16], &[0; 17]].concat();
    let connected =
        [&[0, 0, 0, 37, 0, 0, 0, 0, 0, 0, 0x75, 0x30][..], &[1; 8], &[0, 0, 0, 16], &[7; 16], &[0]].concat();
    let (mut sides, mut all) = Sides::open(1, 1);
    all.extend([sides.says(true, &connect), sides.says(false, &connected)]);
    for xid in 1..50_u8 {
        // getData of /brokers/ids without a watch, and its response.
        let get = [&[0, 0, 0, 25, 0, 0, 0, xid, 0, 0, 0, 4, 0, 0, 0, 12][..], b"/brokers/ids", &[0]].concat();
        let got = [&[0, 0, 0, 16, 0, 0, 0, xid][..], &[0; 8], &[0; 4]].concat();
        all.extend([sides.says(true, &get), sides.says(false, &got)]);
    }
    let bytes: usize = all.iter().map(|tcp| tcp.payload.len()).sum();
    let read_all = read(&file(&all));
    assert!(read_all.exchanges.is_empty() && read_all.gaps.is_empty());
    let connection = &read_all.connections[0];
    assert_eq!((connection.protocol, connection.frames), (Protocol::ZooKeeper, 0));
    assert_eq!(connection.passed, bytes as u64);
    assert_eq!(connection.protocol.to_string(), "ZooKeeper");
    // The same without the greeting, as another protocol could have it: no request of Kafka is in it.
    let (mut sides, mut all) = Sides::open(1, 1);
    for xid in 1..3_u8 {
        let get = [&[0, 0, 0, 25, 0, 0, 0, xid, 0, 0, 0, 4, 0, 0, 0, 12][..], b"/brokers/ids", &[0]].concat();
        all.extend([sides.says(true, &get), sides.says(false, &[0, 0, 0, 5, 0, 0, 0, 4, 9])]);
    }
    let read = read(&file(&all));
    assert!(read.exchanges.is_empty());
    assert_eq!((read.connections[0].protocol, read.connections[0].passed), (Protocol::Other, 2 * (29 + 9)));
}

#[test]
fn a_broken_request_before_a_good_one_is_shown() {
    // A Heartbeat that ends in the middle of its group id, then one that is whole.
    let (mut sides, mut all) = Sides::open(1, 1);
    all.push(sides.says(true, b"\0\0\0\x0e\0\x0c\0\0\0\0\0\x01\xff\xff\0\x63ab"));
    all.extend([sides.asks(2), sides.answers(2)]);
    let read = read(&file(&all));
    assert_eq!(read.ids(), "2 1!");
    assert_eq!(read.connections[0].unread, 1);
}

#[test]
fn a_client_of_versions_to_come_is_a_client_when_the_broker_responds() {
    let (mut sides, mut all) = Sides::open(1, 1);
    // ApiVersions 63, refused in version 0.
    all.push(sides.says(true, b"\0\0\0\x0b\0\x12\0\x3f\0\0\0\x05\xff\xff\0"));
    all.push(sides.says(false, b"\0\0\0\x0a\0\0\0\x05\0\x23\0\0\0\0"));
    let read = read(&file(&all));
    assert_eq!((read.ids().as_str(), read.connections[0].protocol), ("5", Protocol::Kafka));
}

#[test]
fn a_response_that_was_captured_before_its_request_finds_it() {
    let in_order = |first: bool| {
        let (mut sides, mut all) = Sides::open(1, 1);
        for id in 1..=3 {
            let (ask, answer) = (sides.asks(id), sides.answers(id));
            let reordered = (id == 1) == first;
            all.extend(if reordered { [answer, ask] } else { [ask, answer] });
        }
        read(&file(&all))
    };
    for first in [true, false] {
        let read = in_order(first);
        assert_eq!(read.ids(), "1 2 3", "the first is reordered: {first}");
        assert!(read.gaps.is_empty(), "{:?}", read.gaps);
        for captured in &read.exchanges {
            let id = captured.exchange.head().unwrap().correlation_id;
            let reordered = captured.exchange.remarks == [Remark::BeforeRequest];
            assert_eq!(reordered, (id == 1) == first);
            // The clock of the capture says that the response came first.
            assert_eq!(captured.exchange.latency().is_none(), reordered);
        }
    }
    // A response whose request is missing is one, a few frames later.
    let (mut sides, mut all) = Sides::open(1, 1);
    all.extend([sides.asks(1), sides.answers(1), sides.answers(77)]);
    (2..8).for_each(|id| all.extend([sides.asks(id), sides.answers(id)]));
    assert_eq!(read(&file(&all)).ids(), "1 2 3 4 5 ? 6 7");
}

#[test]
fn a_port_selects_connections() {
    let options = |port| CaptureOptions { port: Some(port), ..CaptureOptions::default() };
    let bytes = file(&three(1, 1));
    assert_eq!(read_with(&bytes, options(9092)).ids(), "1 2 3");
    let other = read_with(&bytes, options(9093));
    assert!(other.exchanges.is_empty() && other.connections.is_empty());
    let mut capture = Capture::new(&bytes[..], options(9093)).unwrap();
    assert!(capture.next().is_none());
    let statistics = capture.statistics();
    assert_eq!((statistics.other_ports, statistics.connections), (statistics.packets, 0));
}

#[test]
fn a_port_makes_kafka_of_what_does_not_look_like_it() {
    // An API key that no release has.
    let unknown = b"\0\0\0\x0a\x27\x10\0\0\0\0\0\x05\xff\xff";
    let (mut sides, mut all) = Sides::open(1, 1);
    all.push(sides.says(true, unknown));
    all.push(sides.answers(5));
    assert!(read(&file(&all)).exchanges.is_empty());
    let read = read_with(&file(&all), CaptureOptions { port: Some(9092), ..CaptureOptions::default() });
    assert_eq!(read.ids(), "5");
    assert_eq!(read.exchanges[0].exchange.remarks, [Remark::UnknownApi(ApiKey(10_000))]);
}

#[test]
fn memory_and_connections_are_bounded() {
    // Requests without responses: more than may be kept are given up, each is reported.
    let (mut sides, mut all) = Sides::open(1, 1);
    all.extend((0..100).map(|id| sides.asks(id)));
    let options = CaptureOptions { memory: 300, ..CaptureOptions::default() };
    let read = read_with(&file(&all), options);
    assert_eq!(read.exchanges.len(), 100);
    let few = CaptureOptions { connections: 1, ..CaptureOptions::default() };
    assert_eq!(read_with(&file(&three(1, 1)), few).ids(), "1 2 3");
}
