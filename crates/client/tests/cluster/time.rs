//! Look-ups by time.

use milena_client::{Codec, Error, FoundOffset, Isolation, OffsetSpec, Record};
use milena_messages::{ApiKey, FetchRequest, VersionRange};
use milena_records::{MessageSetBuilder, encode};

use crate::broker::{Act, Broker, TOPIC, ends, fetched, versions_with};

/// Kafka 0.10.0: ListOffsets 0 knows no times, records have them.
async fn old_broker() -> Broker {
    Broker::with_versions(versions_with(ApiKey::LIST_OFFSETS, VersionRange::new(0, 0)), |_, request| {
        match request.api_key {
            ApiKey::LIST_OFFSETS => ends(request, 0, 6),
            ApiKey::FETCH => {
                let asked: FetchRequest = request.decode().unwrap();
                let offset = asked.topics[0].partitions[0].fetch_offset;
                let mut set = MessageSetBuilder::new(1).unwrap().base_offset(offset).codec(Codec::Gzip);
                // Three at a time; times do not have to be in order.
                for (time, at) in
                    [1000, 3000, 2000, 4000, 5000, 5000].into_iter().zip(0..).skip(offset as usize).take(3)
                {
                    assert!(at >= offset);
                    set.push(&Record::from_value("v").with_timestamp(time)).unwrap();
                }
                fetched(6, set.build().unwrap())
            }
            _ => Act::Silence,
        }
    })
    .await
}

#[tokio::test]
async fn before_0_10_1_records_are_read_and_their_times_compared() {
    let broker = old_broker().await;
    let client = broker.client().await;
    for (time, wanted) in [
        (0, Some((0, 1000))),
        (1000, Some((0, 1000))),
        (1001, Some((1, 3000))),
        (2500, Some((1, 3000))),
        (3500, Some((3, 4000))),
        (5000, Some((4, 5000))),
        (5001, None),
    ] {
        let found = client.offset(TOPIC, 0, OffsetSpec::Timestamp(time)).await.unwrap();
        let found = found.map(|FoundOffset { offset, timestamp, .. }| (offset, timestamp.unwrap()));
        assert_eq!(found, wanted, "at {time}");
    }
    let wanted =
        [(TOPIC, 0, OffsetSpec::Latest), (TOPIC, 0, OffsetSpec::Timestamp(3500)), (TOPIC, 0, OffsetSpec::Earliest)];
    let found = client.list_offsets(&wanted, Isolation::ReadUncommitted).await;
    let offsets: Vec<_> = found.into_iter().map(|found| found.unwrap().unwrap().offset).collect();
    assert_eq!(offsets, [6, 3, 0]);
    let error = client.offset(TOPIC, 0, OffsetSpec::MaxTimestamp).await.unwrap_err();
    assert!(matches!(error, Error::Unsupported { api: ApiKey::LIST_OFFSETS, .. }), "{error}");
}

#[tokio::test]
async fn times_before_1970_are_refused_and_never_become_another_question() {
    let broker = Broker::start(|_, request| match request.api_key {
        ApiKey::LIST_OFFSETS => ends(request, 0, 6),
        ApiKey::FETCH => fetched(6, encode(&[Record::from_value("v")], Codec::None).unwrap()),
        _ => Act::Silence,
    })
    .await;
    let client = broker.client().await;
    for time in [-1, -2, -3, i64::MIN] {
        let error = client.offset(TOPIC, 0, OffsetSpec::Timestamp(time)).await.unwrap_err();
        assert!(matches!(&error, Error::Invalid(text) if text.contains("1970")), "{error}");
    }
    assert_eq!(broker.seen(ApiKey::LIST_OFFSETS), 0);
}
