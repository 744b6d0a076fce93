use std::time::Duration;

use milena_client::{Acks, Codec, Record};
use tokio::task::JoinSet;

use super::stage::Stage;
use crate::milena::Running;
use crate::suite::{Outcome, holds, same};

/// Far longer than any deadline here, and far shorter than for ever.
const WATCHDOG: Duration = Duration::from_secs(40);

pub(super) async fn calls_to_a_suspended_leader_end_by_their_deadline(stage: &mut Stage) -> Outcome {
    stage.topic("suspended", &[2], &[]).await?;
    let client = stage.client(Duration::from_secs(2)).await?;
    // So that the connection is open before the leader stops.
    client.produce("suspended", 0, Acks::All, Codec::None, vec![Record::from_value("first")]).await?;
    stage.kafka.suspend(2)?;
    // 18 MB are more than sockets hold, so that most of it stays here.
    let mut calls = JoinSet::new();
    for _ in 0..20 {
        let client = client.clone();
        calls.spawn(async move {
            let records = vec![Record::from_value(vec![b'x'; 900_000])];
            client.produce("suspended", 0, Acks::All, Codec::None, records).await
        });
    }
    let ended = tokio::time::timeout(WATCHDOG, async {
        let mut failed = 0;
        while let Some(call) = calls.join_next().await {
            failed += usize::from(call.is_ok_and(|result| result.is_err()));
        }
        failed
    })
    .await;
    // The same for users.
    let lines = format!("{}\n", "x".repeat(900_000)).repeat(20);
    let called =
        tokio::time::timeout(WATCHDOG, stage.milena(&["produce", "suspended", "--timeout", "1s"], &lines)).await;
    stage.kafka.resume(2)?;
    same("calls that failed in time", ended.ok(), Some(20))?;
    let called = called.map_err(|_| "milena produce does not end")??;
    same("exit code", called.code, 1)?;
    holds(format!("stderr names no lines: {}", called.stderr), called.stderr.contains("line 1"))
}

pub(super) async fn an_outage_leaves_other_partitions_usable_and_loses_nothing(stage: &mut Stage) -> Outcome {
    stage.topic("halves", &[1, 2], &[]).await?;
    let line = |partition: i32, value: &str| format!("{{\"partition\":{partition},\"value\":\"{value}\"}}\n");
    stage.succeeds(&["produce", "halves", "--input", "json"], &[line(0, "a"), line(1, "b")].concat()).await?;
    let bootstrap = stage.kafka.bootstrap();
    let args = ["consume", "halves", "-p", "1", "--to", "never", "--timeout", "1s", "--bootstrap", &bootstrap];
    let follower = Running::start(&args)?;
    same("before the outage", follower.stdout()?, "b".to_owned())?;

    stage.kafka.kill(2)?;
    let note = follower.stderr()?;
    holds(format!("the outage is not reported: {note}"), note.starts_with("note: waiting for halves-1: "))?;
    until_leaderless(stage).await?;

    let consumed = stage.milena(&["consume", "halves"], "").await?;
    same("records of the healthy partition", (consumed.code, consumed.stdout.as_str()), (1, "a\n"))?;
    holds(format!("stderr: {}", consumed.stderr), consumed.stderr.starts_with("error: halves-1 has no leader"))?;
    let offsets = stage.milena(&["offsets", "halves"], "").await?;
    same("exit code of offsets", offsets.code, 1)?;
    let rows: Vec<Vec<&str>> = offsets.stdout.lines().skip(1).map(|row| row.split_whitespace().collect()).collect();
    same("offsets", rows, vec![vec!["0", "0", "1", "1"], vec!["1", "-", "-", "-"]])?;
    holds(format!("stderr: {}", offsets.stderr), offsets.stderr.starts_with("error: halves-1 has no leader"))?;

    // Records without a key avoid the partition; one that names it has to wait, and says so.
    stage.succeeds(&["produce", "halves", "--batch", "1"], "c\nd\n").await?;
    let lines = [line(0, "e"), line(1, "f")].concat();
    let produced = stage.milena(&["produce", "halves", "--input", "json", "--timeout", "1s"], &lines).await?;
    same("exit code of produce", produced.code, 1)?;
    let names = produced.stderr.starts_with("error: line 2 not written to halves-1: ");
    holds(format!("stderr: {}", produced.stderr), names && produced.stderr.contains("wrote 1 record to halves"))?;
    same(
        "the healthy partition",
        stage.succeeds(&["consume", "halves", "-p", "0"], "").await?,
        "a\nc\nd\ne\n".to_owned(),
    )?;

    stage.kafka.start_again(2)?;
    stage.succeeds(&["produce", "halves", "--input", "json", "--timeout", "30s"], &line(1, "g")).await?;
    same("after the outage", follower.stdout()?, "g".to_owned())
}

/// Waits until the controller has noticed that node 2 is gone.
async fn until_leaderless(stage: &Stage) -> Outcome {
    let client = stage.client(Duration::from_secs(30)).await?;
    for _ in 0..300 {
        let cluster = client.metadata(Some(&["halves"])).await?;
        let mut partitions = cluster.topics.iter().flat_map(|topic| &topic.partitions);
        if partitions.any(|partition| partition.index == 1 && partition.leader.is_none()) {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Err("the partition keeps its leader".into())
}
