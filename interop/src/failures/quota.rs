//! KIP-219: a broker over its quota responds at once, with a throttle time, and then does not read for that long.

use std::time::{Duration, Instant};

use milena_client::Target;
use milena_messages::alter_client_quotas::request::{EntityData, EntryData, OpData};
use milena_messages::{AlterClientQuotasRequest, ByteString};

use super::stage::Stage;
use crate::suite::{Outcome, holds, same};

/// The client id of the binary.
const CLIENT_ID: &str = "milena";

pub(super) async fn a_throttled_consumer_reads_to_the_end(stage: &mut Stage) -> Outcome {
    stage.topic("throttled-reads", &[1], &[]).await?;
    let lines = format!("{}\n", "x".repeat(999)).repeat(1500);
    stage.succeeds(&["produce", "throttled-reads"], &lines).await?;
    let quota = 500_000;
    quota_of(stage, "consumer_byte_rate", Some(quota)).await?;
    let begun = Instant::now();
    let read = stage.succeeds(&["consume", "throttled-reads", "--timeout", "10s"], "").await?;
    let took = begun.elapsed();
    quota_of(stage, "consumer_byte_rate", None).await?;
    same("bytes read", read.len(), lines.len())?;
    was_throttled(lines.len(), quota, took)
}

pub(super) async fn a_throttled_producer_writes_everything(stage: &mut Stage) -> Outcome {
    stage.topic("throttled-writes", &[1], &[]).await?;
    let lines = format!("{}\n", "x".repeat(999)).repeat(1500);
    let quota = 500_000;
    quota_of(stage, "producer_byte_rate", Some(quota)).await?;
    let begun = Instant::now();
    // The waits are longer than the timeout, which does not count them.
    let args = ["produce", "throttled-writes", "--batch", "500", "--timeout", "1s"];
    let written = stage.milena(&args, &lines).await?;
    let took = begun.elapsed();
    quota_of(stage, "producer_byte_rate", None).await?;
    same("exit code", (written.code, written.stderr.as_str()), (0, "wrote 1500 records to throttled-writes\n"))?;
    let read = stage.succeeds(&["consume", "throttled-writes"], "").await?;
    same("bytes read", read.len(), lines.len())?;
    was_throttled(lines.len(), quota, took)
}

/// So many bytes take at least so long, except those of the first window.
fn was_throttled(bytes: usize, quota: usize, took: Duration) -> Outcome {
    let least = Duration::from_millis((bytes.saturating_sub(2 * quota) * 1000 / quota / 2) as u64);
    holds(format!("{bytes} bytes took {took:?}, so that nothing was throttled"), took > least)
}

async fn quota_of(stage: &Stage, name: &str, rate: Option<usize>) -> Outcome {
    let entity = EntityData {
        entity_type: ByteString::from("client-id"),
        entity_name: Some(ByteString::from(CLIENT_ID)),
        ..Default::default()
    };
    let op = OpData {
        key: ByteString::from(name),
        value: rate.unwrap_or_default() as f64,
        remove: rate.is_none(),
        ..Default::default()
    };
    let entry = EntryData { entity: vec![entity], ops: vec![op], ..Default::default() };
    let request = AlterClientQuotasRequest { entries: vec![entry], ..Default::default() };
    let client = stage.client(Duration::from_secs(30)).await?;
    let response = client.send(Target::Controller, &request).await?;
    for entry in response.entries {
        entry.error_code.ok()?;
    }
    // Brokers learn it from the controller's log, within milliseconds.
    tokio::time::sleep(Duration::from_millis(500)).await;
    Ok(())
}
