//! Where things are in a partition.

use milena_client::{Acks, Codec, Isolation, OffsetSpec, Record};

use super::common::same;
use super::{Outcome, Target};

const TIME: i64 = 1_700_000_000_000;

pub(super) async fn offsets_are_found_by_end_and_by_time(target: Target) -> Outcome {
    let (client, topic) = target.client_and_topic().await?;
    let at = |spec| {
        let (client, topic) = (client.clone(), topic.clone());
        async move { client.offset(&topic, 0, spec).await.map(|found| found.map(|found| (found.offset, found.timestamp))) }
    };
    same("earliest of nothing", at(OffsetSpec::Earliest).await?, Some((0, None)))?;
    same("latest of nothing", at(OffsetSpec::Latest).await?, Some((0, None)))?;
    same("a time in nothing", at(OffsetSpec::Timestamp(TIME)).await?, None)?;

    // Two batches, the times not in order: 0, 100, 50; 300, 200.
    for (codec, times) in [(Codec::None, &[0, 100, 50][..]), (Codec::Zstd, &[300, 200])] {
        let record = |time: &i64| Record::from_value("v").with_timestamp(TIME + time);
        client.produce(&topic, 0, Acks::All, codec, times.iter().map(record).collect()).await?;
    }
    same("earliest", at(OffsetSpec::Earliest).await?, Some((0, None)))?;
    same("latest", at(OffsetSpec::Latest).await?, Some((5, None)))?;
    for (time, offset, found) in
        [(-1_000, 0, 0), (0, 0, 0), (1, 1, 100), (60, 1, 100), (101, 3, 300), (250, 3, 300), (300, 3, 300)]
    {
        let wanted = Some((offset, Some(TIME + found)));
        same(&format!("time {time}"), at(OffsetSpec::Timestamp(TIME + time)).await?, wanted)?;
    }
    same("a time after all", at(OffsetSpec::Timestamp(TIME + 301)).await?, None)?;
    same("the greatest time", at(OffsetSpec::MaxTimestamp).await?, Some((3, Some(TIME + 300))))
}

pub(super) async fn offsets_of_several_partitions_come_in_the_order_asked(target: Target) -> Outcome {
    let client = target.client().await?;
    let topic = target.prefix.as_str();
    client.create_topic(milena_client::NewTopic::new(topic, 3, 1)).await?;
    for (partition, count) in [(0, 1), (1, 2), (2, 3)] {
        let records = vec![Record::from_value("v"); count];
        client.produce(topic, partition, Acks::All, Codec::None, records).await?;
    }
    let wanted = [2, 0, 1, 2].map(|partition| (topic, partition, OffsetSpec::Latest));
    for isolation in [Isolation::ReadUncommitted, Isolation::ReadCommitted] {
        let found: Vec<_> = client.list_offsets(&wanted, isolation).await.into_iter().collect::<Result<_, _>>()?;
        let offsets: Vec<_> = found.iter().map(|found| found.as_ref().map(|found| found.offset)).collect();
        same("ends", offsets, vec![Some(3), Some(1), Some(2), Some(3)])?;
    }
    Ok(())
}
