//! Logins: the same exchanges with Apache Kafka and with the embedded broker, compared; and foreign clients that log in to
//! both, by each mechanism, with and without TLS.

mod case;
mod clients;
mod exchange;
mod management;
mod proof;
mod stage;
mod tokens;

use std::io::Write;
use std::time::{Duration, Instant};

use crate::error::Result;
use crate::suite::{Report, line};
use case::CASES;
use clients::PROGRAMS;
use stage::Stage;

/// How long one exchange may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Sends the same logins to Apache Kafka 4.4 and to the embedded broker and compares what comes back, and lets foreign
/// clients log in to both. Writes a line for each.
///
/// A client that cannot be tried, because a program is not installed, is named and not counted.
///
/// # Errors
/// A broker does not start.
pub async fn logins(filter: &str, output: &mut (dyn Write + Send)) -> Result<Report> {
    let (kafka, ours) = (Stage::kafka().await?, Stage::embedded().await?);
    let mut report = Report::default();
    for case in CASES.iter().filter(|case| case.name.contains(filter)) {
        let begun = Instant::now();
        let outcome = tokio::time::timeout(PATIENCE, async {
            let (theirs, ours) = tokio::try_join!(case.run(&kafka), case.run(&ours))?;
            Ok::<_, crate::error::Error>((theirs, ours))
        });
        let outcome = match outcome.await {
            Err(_) => Err(format!("it took longer than {PATIENCE:?}")),
            Ok(Err(error)) => Err(error.to_string()),
            Ok(Ok((theirs, ours))) if theirs == ours => Ok(()),
            Ok(Ok((theirs, ours))) => Err(difference(&theirs, &ours)),
        };
        report.count(outcome.is_ok());
        line(output, &format!("login::{}", case.name), outcome, begun.elapsed());
    }
    for program in PROGRAMS {
        for stage in [&kafka, &ours] {
            report = report.and(program.log_in(stage, filter, output).await);
        }
    }
    if report.failed > 0 {
        let _ = writeln!(output, "the end of Kafka's log:\n{}", kafka.log());
    }
    Ok(report)
}

/// The first step that the brokers see differently, with those before it.
fn difference(theirs: &[String], ours: &[String]) -> String {
    let same = theirs.iter().zip(ours).take_while(|(theirs, ours)| theirs == ours).count();
    let before = theirs[same.saturating_sub(4)..same].join("; ");
    let shown = |story: &[String]| story.get(same).cloned().unwrap_or_else(|| "nothing".to_owned());
    format!("after {before}\n    Kafka:    {}\n    embedded: {}", shown(theirs), shown(ours))
}
