use std::time::Duration;

use super::stage::Stage;
use crate::foreign::make_by_asking;
use crate::suite::{Outcome, same};

/// ListOffsets 0 (up to 0.10.0) knows when segments were last written, and nothing of records.
pub(super) async fn times_are_found_where_the_broker_cannot_look_them_up(stage: &mut Stage) -> Outcome {
    let topic = "times";
    let client = stage.client(Duration::from_secs(30)).await?;
    make_by_asking(&client, topic).await?;
    // 2024-05-01T12:00:00Z and an hour after it; then three records of now.
    let hours = "{\"value\":\"1\",\"timestamp\":1714564800000}\n{\"value\":\"2\",\"timestamp\":1714568400000}\n";
    stage.succeeds(&["produce", topic, "--input", "json"], hours).await?;
    stage.succeeds(&["produce", topic], "3\n4\n5\n").await?;
    let consume = async |args: &[&str]| stage.succeeds(&[&["consume", topic][..], args].concat(), "").await;
    same("from before all", consume(&["--from", "2020-01-01T00:00:00Z"]).await?, "1\n2\n3\n4\n5\n".to_owned())?;
    same("from between", consume(&["--from", "2024-05-01T12:30:00Z"]).await?, "2\n3\n4\n5\n".to_owned())?;
    same("an hour", consume(&["--from", "2024-05-01", "--to", "2024-05-01T12:30Z"]).await?, "1\n".to_owned())?;
    same("from now on", consume(&["--from", "now"]).await?, String::new())
}
