//! What is kept of what passed is what passed.

use std::sync::Arc;

use milena_inspect::capture::{Capture, CaptureEvent as Read, CaptureOptions, PcapngWriter};
use milena_inspect::conversation::{Endpoints, Exchange, FactReader};
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::{ApiVersionsRequest, Bytes, MetadataRequest, ProduceRequest};
use milena_tap::Event;

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
    for ip in ["127.0.0.1", "[2001:db8::1]"] {
        let mut file = Vec::new();
        let mut writer = PcapngWriter::new(&mut file).unwrap();
        let mut expected = Vec::new();
        let mut facts = FactReader::default();
        for exchange in &written {
            // Each connection of its own, whatever family it is of.
            let endpoints = exchange.endpoints.as_deref().unwrap();
            let client = format!("{ip}:{}", 40_000 + endpoints.connection);
            let endpoints = Arc::new(Endpoints { client, ..endpoints.clone() });
            let exchange = Exchange { endpoints: Some(endpoints), ..exchange.clone() };
            writer.write(&exchange).unwrap();
            expected.push(json(&exchange, &mut facts));
        }
        (1..=2).for_each(|connection| writer.close(connection).unwrap());
        writer.flush().unwrap();

        let mut capture = Capture::new(&file[..], CaptureOptions::default()).unwrap();
        let mut read = Vec::new();
        let mut facts = FactReader::default();
        for event in capture.by_ref() {
            match event.unwrap() {
                Read::Exchange(captured) => read.push(json(&captured.exchange, &mut facts)),
                Read::Gap { .. } => panic!("nothing is missing"),
                _ => {}
            }
        }
        let statistics = capture.statistics();
        assert_eq!((statistics.connections, statistics.cut_off), (2, false));
        assert!(statistics.skipped.is_empty(), "{:?}", statistics.skipped);
        for json in [&mut expected, &mut read] {
            json.sort_by_key(|json| (json["connection"].as_u64(), json["correlationId"].as_u64()));
        }
        // They are too large to be printed.
        assert_eq!(read.len(), expected.len());
        assert!(read.iter().zip(&expected).all(|(read, expected)| read == expected), "an exchange differs");
    }
}

/// All that is known of an exchange, but for the last digit of the latency: a capture has times to the microsecond.
fn json(exchange: &Exchange, facts: &mut FactReader) -> serde_json::Value {
    let mut text = Vec::new();
    exchange.write_json(&facts.read(exchange), &mut text);
    let mut json: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let latency = json["latencyMicros"].take().as_u64().unwrap();
    assert!(exchange.latency().unwrap().as_micros().abs_diff(latency.into()) <= 1);
    json
}
