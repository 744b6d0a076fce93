//! What is kept of what passed is what passed.

use milena_inspect::capture::{Capture, CaptureOptions, Event as Read};
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::{ApiVersionsRequest, Bytes, MetadataRequest, ProduceRequest};
use milena_tap::{Event, Exchange, PcapngWriter};

use crate::setup::{Raw, broker, rest, tap};

/// Exchanges of two connections, one of them larger than a packet can be.
async fn exchanges() -> Vec<Exchange> {
    let broker = broker().await;
    let (tap, watch) = tap(&broker, &[], &[]);
    let (mut one, mut other) = (Raw::to(&tap).await, Raw::to(&tap).await);
    one.ask(&ApiVersionsRequest::default(), 3, 1).await;
    other.ask(&MetadataRequest::default(), 12, 1).await;
    let partition_data =
        vec![PartitionProduceData { records: Some(Bytes::from(vec![7; 200_000])), ..Default::default() }];
    let topic = TopicProduceData { name: "letters".into(), partition_data, ..Default::default() };
    one.ask(&ProduceRequest { acks: 1, topic_data: vec![topic], ..Default::default() }, 9, 2).await;
    drop((one, other));
    tap.shutdown().await;
    let seen = rest(&watch).into_iter().filter_map(|event| match event {
        Event::Exchange(exchange) => Some(*exchange),
        _ => None,
    });
    seen.collect()
}

#[tokio::test]
async fn a_capture_that_is_written_is_read_back_frame_by_frame() {
    let written = exchanges().await;
    assert_eq!(written.len(), 3);
    for client in ["127.0.0.1:40001", "[2001:db8::1]:40001"] {
        let mut file = Vec::new();
        let mut writer = PcapngWriter::new(&mut file).unwrap();
        for exchange in &written {
            // Each connection of its own, whatever family it is of.
            let mut client: std::net::SocketAddr = client.parse().unwrap();
            client.set_port(client.port() + u16::try_from(exchange.connection).unwrap());
            writer.write(&Exchange { client, ..exchange.clone() }).unwrap();
        }
        (1..=2).for_each(|connection| writer.close(connection).unwrap());
        writer.flush().unwrap();

        let mut capture = Capture::new(&file[..], CaptureOptions::default()).unwrap();
        let mut read = Vec::new();
        for event in capture.by_ref() {
            match event.unwrap() {
                Read::Exchange(captured) => read.push(captured.exchange),
                Read::Gap { .. } => panic!("nothing is missing"),
                _ => {}
            }
        }
        let statistics = capture.statistics();
        assert_eq!((statistics.connections, statistics.cut_off), (2, false));
        assert!(statistics.skipped.is_empty(), "{:?}", statistics.skipped);
        assert_eq!(read.len(), written.len());
        for exchange in &written {
            let same = |read: &&milena_inspect::conversation::Exchange| {
                read.request.as_ref().map(|frame| &frame.bytes) == Some(&exchange.request)
            };
            let read = read.iter().find(same).expect("the request");
            assert_eq!(read.response.as_ref().map(|frame| &frame.bytes), exchange.response.as_ref());
            assert_eq!(read.head().map(|head| head.api_key), exchange.api);
            let difference = read.latency().unwrap().abs_diff(exchange.latency.unwrap());
            assert!(difference.as_micros() <= 1, "times are kept to the microsecond");
        }
    }
}
