//! Creates a topic, produces with every codec and every kind of acks, reads all of it back, looks up offsets, and deletes
//! the topic.
//!
//! ```sh
//! cargo run -p milena-client --example roundtrip -- 127.0.0.1:9092
//! ```

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use milena_client::{
    Acks, Client, ClientConfig, Codec, Header, Isolation, NewTopic, ObservedFrame, Observer, OffsetSpec, RangeOptions,
    Record, Start, Stop, Target,
};
use milena_messages::{ApiKey, ErrorCode, MetadataRequest};

struct Print;

impl Observer for Print {
    fn frame(&self, frame: &ObservedFrame) {
        eprintln!(
            "{:?} {} {} v{} #{} {} bytes",
            frame.direction, frame.address, frame.api_key, frame.api_version, frame.correlation_id, frame.size
        );
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut bootstrap: Vec<String> = std::env::args().skip(1).collect();
    let verbose = bootstrap.iter().any(|argument| argument == "-v");
    bootstrap.retain(|argument| argument != "-v");
    let observer = verbose.then(|| Arc::new(Print) as Arc<dyn Observer>);
    let config = ClientConfig { bootstrap, observer, deadline: Duration::from_secs(30), ..ClientConfig::default() };
    let client = Client::connect(config).await?;
    let cluster = client.metadata(None).await?;
    println!(
        "cluster {:?}, controller {:?}, {} brokers",
        cluster.cluster_id,
        cluster.controller,
        cluster.brokers.len()
    );

    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let topic = format!("roundtrip-{}", now.as_nanos());
    let versions = client.versions(Target::Any).await?;
    let creates = !versions.of(ApiKey::CREATE_TOPICS).is_empty();
    if creates {
        let replicas = i16::try_from(cluster.brokers.len().min(3))?;
        client.create_topic(NewTopic::new(&*topic, 2, replicas)).await?;
        let again = client.create_topic(NewTopic::new(&*topic, 2, replicas)).await;
        assert_eq!(again.err().and_then(|error| error.code()), Some(ErrorCode::TOPIC_ALREADY_EXISTS));
    } else {
        // Brokers before 0.10.1 create a topic when it is named.
        let wanted = milena_messages::metadata::request::MetadataRequestTopic {
            name: Some(topic.as_str().into()),
            ..Default::default()
        };
        client.send(Target::Any, &MetadataRequest { topics: Some(vec![wanted]), ..Default::default() }).await?;
    }
    let produce = versions.pick(ApiKey::PRODUCE)?;
    let has_headers = produce >= 3;
    let millis = i64::try_from(now.as_millis())?;

    let mut expected = Vec::new();
    for codec in Codec::ALL {
        if codec == Codec::Zstd && produce < 7 {
            let refused = client.produce(&topic, 0, Acks::All, codec, vec![Record::from_value("x")]).await;
            println!("zstd: {}", refused.err().map_or_else(|| "taken".to_owned(), |error| error.to_string()));
            continue;
        }
        for acks in [Acks::All, Acks::Leader, Acks::None] {
            let mut records = vec![
                Record::new("key", format!("{codec} {acks:?} ").repeat(100)),
                Record::new("", ""),
                Record::default(),
                Record { value: None, ..Record::new("tombstone", "") },
                Record::from_value("no key"),
            ];
            if has_headers {
                records[0].headers =
                    vec![Header::new("a", "1"), Header::new("a", ""), Header { key: "".into(), value: None }];
            }
            for (record, time) in records.iter_mut().zip(millis + i64::try_from(expected.len())?..) {
                record.timestamp = time;
            }
            expected.extend(records.iter().cloned());
            let outcome = client.produce(&topic, 0, acks, codec, records).await?;
            if acks != Acks::None {
                assert_eq!(outcome.base_offset, Some(i64::try_from(expected.len())? - 5), "{codec} {acks:?}");
            }
        }
    }
    // Records sent with acks = 0 may still be on their way.
    let count = i64::try_from(expected.len())?;
    for _ in 0..100 {
        match client.offset(&topic, 0, OffsetSpec::Latest).await? {
            Some(found) if found.offset >= count => break,
            _ => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }

    for isolation in [Isolation::ReadUncommitted, Isolation::ReadCommitted] {
        let mut options = RangeOptions::default();
        options.fetch.isolation = isolation;
        options.fetch.max_bytes = 100;
        let mut reader = client.fetch_range(&topic, 0, Start::EARLIEST, Stop::End, options).await?;
        let mut records = reader.read_all().await?;
        assert_eq!(records.len(), expected.len());
        for ((record, expected), offset) in records.iter_mut().zip(&expected).zip(0..) {
            assert_eq!(record.offset, offset);
            record.offset = 0;
            if produce < 2 {
                record.timestamp = expected.timestamp;
            }
            assert_eq!(record, expected);
        }
    }
    let mut middle = client.fetch_range(&topic, 0, Start::Offset(7), Stop::Offset(12), RangeOptions::default()).await?;
    let offsets: Vec<i64> = middle.read_all().await?.iter().map(|record| record.offset).collect();
    assert_eq!(offsets, [7, 8, 9, 10, 11]);

    let wanted = [(&*topic, 0, OffsetSpec::Earliest), (&*topic, 0, OffsetSpec::Latest)];
    let found: Vec<_> =
        client.list_offsets(&wanted, Isolation::ReadCommitted).await.into_iter().collect::<Result<_, _>>()?;
    assert_eq!(found.iter().map(|found| found.map(|found| found.offset)).collect::<Vec<_>>(), [Some(0), Some(count)]);
    if versions.pick(ApiKey::LIST_OFFSETS)? >= 1 {
        let found = client.offset(&topic, 0, OffsetSpec::Timestamp(millis + 8)).await?;
        assert_eq!(found.map(|found| (found.offset, found.timestamp)), Some((8, Some(millis + 8))));
        let future = client.offset(&topic, 0, OffsetSpec::Timestamp(millis + 1_000_000)).await?;
        assert_eq!(future, None);
    }
    match client.offset(&topic, 0, OffsetSpec::MaxTimestamp).await {
        Ok(found) => assert_eq!(found.map(|found| found.offset), Some(count - 1)),
        Err(error) => println!("max timestamp: {error}"),
    }
    if creates {
        let mut empty = client.fetch_range(&topic, 1, Start::EARLIEST, Stop::End, RangeOptions::default()).await?;
        assert_eq!(empty.next().await?, None);
        for outcome in client.delete_topics(&[&topic, "no-such-topic"]).await? {
            match (&*outcome.name, outcome.result) {
                ("no-such-topic", Err(error)) => assert_eq!(error.code(), Some(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION)),
                (_, result) => result?,
            }
        }
    }
    let lost = client.produce("no-such-topic-either", 0, Acks::All, Codec::None, vec![Record::from_value("x")]).await;
    println!("unknown topic: {}", lost.err().map_or_else(|| "created".to_owned(), |error| error.to_string()));
    println!("{count} records came back as they went; Produce {produce}, Fetch {}", versions.pick(ApiKey::FETCH)?);
    Ok(())
}
