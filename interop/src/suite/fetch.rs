//! Records come out.

use std::time::{Duration, Instant};

use milena_client::{Acks, Client, Codec, FetchOptions, RangeOptions, Record, Start, Stop};
use milena_messages::ErrorCode;

use super::common::{holds, refused, same};
use super::{Failure, Outcome, Target};

/// Appends batches of ten records, of which each holds its own offset and some 100 bytes.
async fn fill(client: &Client, topic: &str, batches: i64) -> Outcome {
    for batch in 0..batches {
        let record = |offset: i64| Record::from_value(format!("{offset:0>100}"));
        let records = (batch * 10..batch * 10 + 10).map(record).collect();
        client.produce(topic, 0, Acks::All, Codec::None, records).await?;
    }
    Ok(())
}

async fn range(client: &Client, topic: &str, start: Start, stop: Stop, max_bytes: i32) -> Result<Vec<i64>, Failure> {
    let fetch = FetchOptions { max_bytes, ..FetchOptions::default() };
    let options = RangeOptions { fetch, ..RangeOptions::default() };
    let records = client.fetch_range(topic, 0, start, stop, options).await?.read_all().await?;
    for record in &records {
        let value = record.value.as_deref().unwrap_or_default();
        same("value", value, format!("{:0>100}", record.offset).as_bytes())?;
    }
    Ok(records.iter().map(|record| record.offset).collect())
}

pub(super) async fn a_range_is_read_to_its_end(target: Target) -> Outcome {
    let (client, topic) = target.client_and_topic().await?;
    same("an empty partition", range(&client, &topic, Start::EARLIEST, Stop::End, 1 << 20).await?, vec![])?;
    fill(&client, &topic, 20).await?;
    // All at once, a few batches at a time, and a batch at a time although none fits.
    for max_bytes in [1 << 20, 3_000, 1] {
        let all = range(&client, &topic, Start::EARLIEST, Stop::End, max_bytes).await?;
        same("all", all, (0..200).collect::<Vec<_>>())?;
        // From within a batch into another one.
        let some = range(&client, &topic, Start::Offset(57), Stop::Offset(83), max_bytes).await?;
        same("some", some, (57..83).collect::<Vec<_>>())?;
    }
    same("nothing after the end", range(&client, &topic, Start::LATEST, Stop::End, 1 << 20).await?, vec![])
}

pub(super) async fn the_first_batch_comes_whole_even_if_it_is_larger_than_allowed(target: Target) -> Outcome {
    let (client, topic) = target.client_and_topic().await?;
    fill(&client, &topic, 3).await?;
    let options = FetchOptions { max_bytes: 16, ..FetchOptions::default() };
    let fetched = client.fetch(&topic, 0, 10, &options).await?;
    same("high watermark", fetched.high_watermark, Some(30))?;
    let mut offsets = Vec::new();
    for batch in fetched.batches() {
        let batch = batch?;
        for record in batch.records() {
            offsets.push(record?.offset);
        }
    }
    same("offsets", offsets, (10..20).collect::<Vec<_>>())
}

pub(super) async fn an_offset_that_is_not_there_is_an_error(target: Target) -> Outcome {
    let (client, topic) = target.client_and_topic().await?;
    fill(&client, &topic, 1).await?;
    let options = FetchOptions::default();
    refused("after the end", client.fetch(&topic, 0, 11, &options).await, ErrorCode::OFFSET_OUT_OF_RANGE)?;
    refused("below zero", client.fetch(&topic, 0, -7, &options).await, ErrorCode::OFFSET_OUT_OF_RANGE)?;
    let at_the_end = client.fetch(&topic, 0, 10, &options).await?;
    holds("nothing at the end", at_the_end.records.is_empty())
}

pub(super) async fn a_fetch_at_the_end_waits_for_the_next_record(target: Target) -> Outcome {
    let (client, topic) = target.client_and_topic().await?;
    let patient = |ms| FetchOptions { max_wait: Duration::from_millis(ms), ..FetchOptions::default() };

    let begun = Instant::now();
    let nothing = client.fetch(&topic, 0, 0, &patient(400)).await?;
    holds("nothing came", nothing.records.is_empty())?;
    holds(format!("waited {:?} instead of 400 ms", begun.elapsed()), begun.elapsed() >= Duration::from_millis(350))?;

    // Another client, because requests on one connection wait for each other.
    let other = target.client().await?;
    let begun = Instant::now();
    let options = patient(15_000);
    let (fetched, produced) = tokio::join!(client.fetch(&topic, 0, 0, &options), async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        other.produce(&topic, 0, Acks::All, Codec::None, vec![Record::from_value("at last")]).await
    });
    produced?;
    holds("a record came", !fetched?.records.is_empty())?;
    holds(format!("woke up after {:?}", begun.elapsed()), begun.elapsed() < Duration::from_secs(10))
}
