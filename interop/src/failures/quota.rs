//! KIP-219: a broker over its quota responds at once, with a throttle time, and then does not read for that long.

use std::time::Duration;

use milena_client::Target;
use milena_messages::alter_client_quotas::request::{EntityData, EntryData, OpData};
use milena_messages::{AlterClientQuotasRequest, ByteString};

use super::stage::Stage;
use crate::milena::Called;
use crate::suite::{Outcome, holds, same};

/// The client id of the binary.
const CLIENT_ID: &str = "milena";

/// Bytes per second.
const QUOTA: f64 = 500_000.0;

pub(super) async fn a_throttled_consumer_reads_to_the_end(stage: &mut Stage) -> Outcome {
    stage.topic("throttled-reads", &[1], &[]).await?;
    let lines = format!("{}\n", "x".repeat(999)).repeat(1500);
    stage.succeeds(&["produce", "throttled-reads"], &lines).await?;
    quota_of(stage, "consumer_byte_rate", Some(QUOTA)).await?;
    let read = stage.milena(&["consume", "throttled-reads", "--verbose"], "").await?;
    quota_of(stage, "consumer_byte_rate", None).await?;
    was_throttled(&read)?;
    same("bytes read", read.stdout.len(), lines.len())
}

pub(super) async fn a_throttled_producer_writes_everything(stage: &mut Stage) -> Outcome {
    stage.topic("throttled-writes", &[1], &[]).await?;
    let lines = format!("{}\n", "x".repeat(999)).repeat(1500);
    quota_of(stage, "producer_byte_rate", Some(QUOTA)).await?;
    // The waits together are longer than the timeout, which does not count them.
    let args = ["produce", "throttled-writes", "--batch", "500", "--timeout", "1s", "--verbose"];
    let written = stage.milena(&args, &lines).await?;
    quota_of(stage, "producer_byte_rate", None).await?;
    was_throttled(&written)?;
    let read = stage.succeeds(&["consume", "throttled-writes"], "").await?;
    same("bytes read", read.len(), lines.len())
}

/// The call succeeded although a broker made it wait.
fn was_throttled(called: &Called) -> Outcome {
    same("exit code", called.code, 0)?;
    holds(
        format!("nothing was throttled: {}", called.stderr),
        called.stderr.contains("the broker throttles this client"),
    )
}

async fn quota_of(stage: &Stage, name: &str, rate: Option<f64>) -> Outcome {
    let entity = EntityData {
        entity_type: ByteString::from("client-id"),
        entity_name: Some(ByteString::from(CLIENT_ID)),
        ..Default::default()
    };
    let op = OpData {
        key: ByteString::from(name),
        value: rate.unwrap_or_default(),
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
