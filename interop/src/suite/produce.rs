//! Records go in.

use std::time::Duration;

use milena_client::{Acks, Codec, Header, OffsetSpec, Record};
use milena_messages::ErrorCode;

use super::common::{holds, read_all, refused, same};
use super::{Outcome, Target};

const TIME: i64 = 1_700_000_000_000;

/// One record for each thing that could get lost.
fn records() -> Vec<Record> {
    let with_headers =
        Record::new("key", "value").with_header("one", "1").with_header("two", "").with_header("one", "again");
    let mut null_header = Record::new("null header", "v");
    null_header.headers.push(Header { key: "none".into(), value: None });
    let records = [
        with_headers,
        null_header,
        Record { key: None, value: Some("no key".into()), ..Record::default() },
        Record { key: Some("tombstone".into()), value: None, ..Record::default() },
        Record { key: None, value: None, ..Record::default() },
        Record { key: Some("".into()), value: Some("".into()), ..Record::default() },
        Record::new("Žižkov", vec![0_u8, 255, 10, 13]),
        Record::new("long", "abcdefgh".repeat(2_000)),
    ];
    records.into_iter().zip(TIME..).map(|(record, time)| record.with_timestamp(time)).collect()
}

pub(super) async fn each_codec_brings_back_what_was_sent(target: Target) -> Outcome {
    let (client, topic) = target.client_and_topic().await?;
    let mut wanted = Vec::new();
    for codec in Codec::ALL {
        for acks in [Acks::Leader, Acks::All] {
            let outcome = client.produce(&topic, 0, acks, codec, records()).await?;
            let base = i64::try_from(wanted.len())?;
            same("base offset", outcome.base_offset, Some(base))?;
            wanted.extend(records().into_iter().zip(base..).map(|(record, offset)| record.with_offset(offset)));
        }
    }
    let found = read_all(&client, &topic).await?;
    same("count", found.len(), wanted.len())?;
    found.into_iter().zip(wanted).try_for_each(|(found, wanted)| same("record", found, wanted))
}

pub(super) async fn acks_none_has_no_response_and_is_appended(target: Target) -> Outcome {
    let (client, topic) = target.client_and_topic().await?;
    for _ in 0..3 {
        let outcome = client.produce(&topic, 0, Acks::None, Codec::None, vec![Record::from_value("quiet")]).await?;
        same("base offset", outcome.base_offset, None)?;
    }
    for _ in 0..100 {
        let end = client.offset(&topic, 0, OffsetSpec::Latest).await?.ok_or("no end")?;
        if end.offset == 3 {
            // An unexpected response would have arrived before this one.
            return same("count", read_all(&client, &topic).await?.len(), 3);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err("not appended within 5 s".into())
}

pub(super) async fn a_batch_above_the_topics_limit_is_refused(target: Target) -> Outcome {
    let (client, topic) = target.client_and_topic_with(&[("max.message.bytes", "1000")]).await?;
    let large = client.produce(&topic, 0, Acks::All, Codec::None, vec![Record::from_value("x".repeat(1_100))]).await;
    refused("1,100 bytes where 1,000 are allowed", large, ErrorCode::MESSAGE_TOO_LARGE)?;
    client.produce(&topic, 0, Acks::All, Codec::None, vec![Record::from_value("x".repeat(800))]).await?;
    same("count", read_all(&client, &topic).await?.len(), 1)
}

pub(super) async fn the_brokers_time_replaces_the_producers_where_the_topic_says_so(target: Target) -> Outcome {
    let (client, topic) = target.client_and_topic_with(&[("message.timestamp.type", "LogAppendTime")]).await?;
    for codec in [Codec::None, Codec::Gzip] {
        let records = vec![Record::from_value("a").with_timestamp(TIME), Record::from_value("b").with_timestamp(TIME)];
        let outcome = client.produce(&topic, 0, Acks::All, codec, records).await?;
        let time = outcome.log_append_time.ok_or("the response has no time of the append")?;
        holds("the time is now", time > TIME)?;
        let found = read_all(&client, &topic).await?;
        let last_two = found.iter().rev().take(2).map(|record| record.timestamp).collect();
        same("timestamps", last_two, vec![time, time])?;
    }
    Ok(())
}
