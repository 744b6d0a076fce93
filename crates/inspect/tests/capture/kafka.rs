//! Sessions of confluent-kafka and kafka-python with Apache Kafka, as tcpdump captured them on loopback.

use std::collections::BTreeMap;
use std::path::Path;

use super::read;

fn data(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/capture/kafka").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What tshark counted: requests by API key and version, and responses.
fn counted(name: &str) -> (BTreeMap<(i16, i16), u64>, u64) {
    let text = String::from_utf8(data(name)).expect("text");
    let mut requests = BTreeMap::new();
    let mut responses = 0;
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["responses", count] => responses = count.parse().expect(line),
            [key, version, count] => {
                requests.insert((key.parse().expect(line), version.parse().expect(line)), count.parse().expect(line));
            }
            _ => panic!("{line}"),
        }
    }
    (requests, responses)
}

#[test]
fn every_frame_is_found_that_tshark_found_and_reads_to_its_end() {
    // With Kafka 0.10.2 a client went away while the broker had sent 8 bytes of a response, which tshark does not count.
    for (file, counts, unfinished) in [
        ("kafka-4.4.pcap", "kafka-4.4.tshark", 0),
        ("kafka-2.8.pcapng", "kafka-2.8.tshark", 0),
        ("kafka-0.10.2.pcap", "kafka-0.10.2.tshark", 1),
    ] {
        let read = read(&data(file));
        assert_eq!(read.error, None);
        assert!(read.gaps.is_empty());
        let (requests, responses) = counted(counts);
        let mut found: BTreeMap<(i16, i16), u64> = BTreeMap::new();
        let mut whole = 0;
        for captured in &read.exchanges {
            let exchange = &captured.exchange;
            assert!(captured.facts.unread.is_empty(), "{file}: {:?}", captured.facts.unread);
            let head = exchange.head().expect("every response has its request");
            *found.entry((head.api_key.0, head.api_version)).or_default() += 1;
            for frame in exchange.request.iter().chain(&exchange.response).filter(|frame| frame.missing == 0) {
                let decoded = frame.decode().unwrap_or_else(|error| panic!("{file}: {error}"));
                // librdkafka sends Metadata version 13 with 3 bytes more.
                assert!(decoded.leftover == 0 || head.client_id.as_ref().is_some_and(|id| id.contains("librdkafka")));
                whole += u64::from(exchange.response.as_ref() == Some(frame));
            }
        }
        assert_eq!(found, requests, "{file}");
        assert_eq!(whole, responses, "{file}");
        let cut = read.exchanges.iter().filter_map(|captured| captured.exchange.response.as_ref());
        assert_eq!(cut.filter(|response| response.missing > 0).count(), unfinished, "{file}");
        let lost: u64 = read.connections.iter().map(|connection| connection.missing + connection.passed).sum();
        assert_eq!(lost, 0, "{file}");
    }
}

#[test]
fn clients_and_their_topics_are_reported() {
    let read = read(&data("kafka-4.4.pcap"));
    let of = |id: &'static str| read.connections.iter().filter(move |connection| connection.client_id() == Some(id));
    let software = |id: &'static str| of(id).find_map(|connection| connection.software.clone()).unwrap();
    assert_eq!(software("python-writer").0, "kafka-python");
    assert!(software("librdkafka-writer").0.contains("confluent"));
    assert!(of("python-writer").any(|connection| connection.written.contains("postcards")));
    assert!(of("librdkafka-reader").any(|connection| connection.read.contains("letters")));
    assert!(read.connections.iter().all(|connection| connection.broker.port() == 19092 && connection.from_start));
}

#[test]
fn a_capture_that_begins_anywhere_finds_its_feet() {
    // The header of the file and then every packet from some place on.
    let whole = data("kafka-4.4.pcap");
    let mut starts = vec![24];
    while let Some(head) = whole.get(starts[starts.len() - 1] + 8..).and_then(|rest| rest.first_chunk::<4>()) {
        starts.push(starts[starts.len() - 1] + 16 + u32::from_le_bytes(*head) as usize);
    }
    let all = read(&whole).exchanges.len();
    for start in starts.iter().step_by(5) {
        let part = read(&[&whole[..24], &whole[*start..]].concat());
        assert!(part.exchanges.len() <= all);
        for captured in &part.exchanges {
            assert!(captured.facts.unread.is_empty(), "from byte {start}: {:?}", captured.facts.unread);
        }
    }
}
