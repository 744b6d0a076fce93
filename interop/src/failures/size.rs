use super::stage::Stage;
use crate::suite::{Outcome, holds, same};

pub(super) async fn a_batch_above_the_limit_is_split_and_a_record_above_it_is_named(stage: &mut Stage) -> Outcome {
    stage.topic("small", &[1], &[("max.message.bytes", "10000")]).await?;
    let (line, large) = (format!("{}\n", "x".repeat(999)), format!("{}\n", "y".repeat(20_000)));
    let lines = [line.repeat(50), large, line.repeat(49)].concat();
    let called = stage.milena(&["produce", "small"], &lines).await?;
    same("exit code", called.code, 1)?;
    let stderr: Vec<&str> = called.stderr.lines().collect();
    let says = |line: usize, text: &str| {
        holds(format!("stderr does not say `{text}`: {stderr:?}"), stderr.get(line).is_some_and(|it| it.contains(text)))
    };
    says(0, "line 51: ")?;
    says(0, "max.message.bytes")?;
    says(0, "10000")?;
    says(1, "hint: raise max.message.bytes")?;
    says(2, "wrote 99 records to small")?;
    says(3, "error: of 100 lines: 1 not written")?;
    same("records", stage.succeeds(&["consume", "small"], "").await?, line.repeat(99))
}
