use std::time::Duration;

use milena_client::Target;
use milena_messages::delete_records::request::{DeleteRecordsPartition, DeleteRecordsTopic};
use milena_messages::{ByteString, DeleteRecordsRequest};

use super::stage::Stage;
use crate::suite::{Outcome, holds, same};

pub(super) async fn an_offset_outside_the_partition_is_named_with_its_range(stage: &mut Stage) -> Outcome {
    let topic = "shortened";
    stage.topic(topic, &[1], &[]).await?;
    stage.succeeds(&["produce", topic], "a\nb\nc\nd\n").await?;
    delete_before(stage, topic, 2).await?;
    same("what is left", stage.succeeds(&["consume", topic], "").await?, "c\nd\n".to_owned())?;
    same("the last three", stage.succeeds(&["consume", topic, "--from", "-3"], "").await?, "c\nd\n".to_owned())?;
    for offset in ["1", "5"] {
        for to in ["end", "never"] {
            let called = stage.milena(&["consume", topic, "--from", offset, "--to", to], "").await?;
            let what = format!("--from {offset} --to {to}");
            same(&what, (called.code, called.stdout.as_str()), (1, ""))?;
            let named = called.stderr.contains(&format!("offset {offset} of shortened-0 is out of range"));
            holds(format!("{what}: {}", called.stderr), named && called.stderr.contains("2 to 3"))?;
        }
    }
    Ok(())
}

async fn delete_before(stage: &Stage, topic: &str, offset: i64) -> Outcome {
    let partition = DeleteRecordsPartition { partition_index: 0, offset, ..Default::default() };
    let named = DeleteRecordsTopic {
        name: ByteString::from(topic.to_owned()),
        partitions: vec![partition],
        ..Default::default()
    };
    let request = DeleteRecordsRequest { topics: vec![named], timeout_ms: 10_000, ..Default::default() };
    let client = stage.client(Duration::from_secs(30)).await?;
    let leader = Target::Leader { topic: topic.to_owned(), partition: 0 };
    let response = client.send(leader, &request).await?;
    for partition in response.topics.into_iter().flat_map(|topic| topic.partitions) {
        partition.error_code.ok()?;
    }
    Ok(())
}
