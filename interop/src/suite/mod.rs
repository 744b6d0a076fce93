//! What every broker has to do alike, as a list of named scenarios.

mod common;
mod consumer_groups;
mod fetch;
mod fetch_sessions;
mod migration;
mod offsets;
mod operations;
mod produce;
mod share;
mod streams;
mod topics;
mod versions;

pub(crate) use common::{holds, same};

use std::fmt;
use std::future::Future;
use std::io::Write;
use std::pin::Pin;
use std::time::{Duration, Instant};

/// How long one scenario may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a scenario is called with.
#[derive(Clone, Debug)]
pub struct Target {
    /// Where the broker listens: `HOST:PORT`, more of them with commas.
    pub bootstrap: String,
    /// A beginning for the names of topics and groups that no other scenario and no earlier run uses.
    pub prefix: String,
}

/// Why a scenario failed.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The result of a scenario.
pub type Outcome = Result<(), Failure>;

type Running = Pin<Box<dyn Future<Output = Outcome> + Send>>;

/// One thing that a broker has to do.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// A claim, in the form of a test's name.
    pub name: &'static str,
    run: fn(Target) -> Running,
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Scenario").field(&self.name).finish()
    }
}

/// Scenarios out of async functions: their names are the functions'.
macro_rules! scenarios {
    ($($module:ident :: $name:ident),+ $(,)?) => {
        &[$(Scenario { name: stringify!($name), run: |target| Box::pin($module::$name(target)) }),+]
    };
}

/// All scenarios, in the order in which they run.
pub const SCENARIOS: &[Scenario] = scenarios![
    versions::api_versions_are_listed,
    versions::every_version_that_is_listed_is_served,
    topics::a_topic_is_created_described_and_deleted,
    topics::each_topic_of_several_has_its_own_outcome,
    topics::a_topic_is_not_created_twice,
    topics::a_topic_that_is_not_there_is_an_error,
    produce::each_codec_brings_back_what_was_sent,
    produce::acks_none_has_no_response_and_is_appended,
    produce::a_batch_above_the_topics_limit_is_refused,
    produce::the_brokers_time_replaces_the_producers_where_the_topic_says_so,
    fetch::a_range_is_read_to_its_end,
    fetch::the_first_batch_comes_whole_even_if_it_is_larger_than_allowed,
    fetch::an_offset_that_is_not_there_is_an_error,
    fetch::a_fetch_at_the_end_waits_for_the_next_record,
    fetch_sessions::a_session_gives_what_changed,
    fetch_sessions::a_request_that_does_not_fit_its_session_is_refused,
    fetch_sessions::a_topic_that_is_made_again_is_another_one_for_a_session,
    operations::features_change_all_or_none,
    operations::nodes_that_are_not_there_cannot_be_unregistered,
    operations::markers_of_older_producers_and_coordinators_are_refused,
    operations::metrics_of_clients_follow_their_subscription,
    offsets::offsets_are_found_by_end_and_by_time,
    offsets::offsets_of_several_partitions_come_in_the_order_asked,
    consumer_groups::a_regular_expression_reads_the_topics_that_match_now_and_later,
    consumer_groups::an_invalid_regular_expression_is_refused_in_the_words_of_re2,
    consumer_groups::a_group_has_settings_of_its_own,
    migration::a_live_classic_group_becomes_a_consumer_group_and_back,
    migration::a_classic_member_joins_and_leaves_a_consumer_group,
    migration::a_group_of_another_protocol_type_does_not_become_a_consumer_group,
    streams::members_of_a_streams_group_share_tasks_and_get_their_internal_topics,
    streams::a_streams_heartbeat_that_is_wrong_is_refused_with_the_reason,
    share::a_share_member_gets_partitions_after_their_state_was_set_up,
    share::share_heartbeats_are_refused_with_kafkas_codes_and_texts,
    share::a_share_group_is_no_group_of_another_protocol,
    share::share_sessions_have_epochs,
    share::share_fetch_names_partitions_that_it_cannot_read,
    share::shared_records_are_acquired_and_acknowledged,
    share::wrong_share_acknowledgements_change_nothing,
    share::a_share_record_limit_is_strict_and_batches_are_split,
    share::a_shared_record_is_renewed,
    share::a_closed_share_session_gives_records_back,
    share::operators_move_and_delete_share_offsets,
    share::the_share_coordinator_fences_old_writers,
];

/// How many scenarios held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// That held.
    pub passed: usize,
    /// That did not.
    pub failed: usize,
}

impl Report {
    /// Whether all held, and there were some.
    pub fn is_good(&self) -> bool {
        self.failed == 0 && self.passed > 0
    }

    /// Counts one more.
    pub fn count(&mut self, passed: bool) {
        *if passed { &mut self.passed } else { &mut self.failed } += 1;
    }

    /// Both reports as one.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { passed: self.passed + other.passed, failed: self.failed + other.failed }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)
    }
}

/// Runs the scenarios whose name contains `filter` against the broker at `bootstrap`, one after the other, and writes a
/// line for each: `BROKER::NAME ... ok`.
///
/// A scenario that panics or does not end has failed; the next ones run all the same.
pub async fn suite(broker: &str, bootstrap: &str, filter: &str, output: &mut (dyn Write + Send)) -> Report {
    common::wait_for_coordinators(bootstrap).await;
    run(SCENARIOS, broker, bootstrap, filter, PATIENCE, output).await
}

async fn run(
    scenarios: &[Scenario],
    broker: &str,
    bootstrap: &str,
    filter: &str,
    patience: Duration,
    output: &mut (dyn Write + Send),
) -> Report {
    let mut report = Report::default();
    for scenario in scenarios.iter().filter(|scenario| scenario.name.contains(filter)) {
        let begun = Instant::now();
        let outcome = outcome_of(scenario, bootstrap, patience).await;
        report.count(outcome.is_ok());
        line(output, &format!("{broker}::{}", scenario.name), outcome, begun.elapsed());
    }
    report
}

/// Runs one scenario; why it did not hold.
pub(crate) async fn outcome_of(scenario: &Scenario, bootstrap: &str, patience: Duration) -> Result<(), String> {
    let target = Target {
        bootstrap: bootstrap.to_owned(),
        prefix: format!("{}-{}", scenario.name.replace('_', "-"), std::process::id()),
    };
    let mut task = tokio::spawn((scenario.run)(target));
    match tokio::time::timeout(patience, &mut task).await {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(failure))) => Err(milena_client::Report(&*failure).to_string()),
        Ok(Err(panic)) => Err(panic.to_string()),
        Err(_) => {
            task.abort();
            Err(format!("did not end within {} s", patience.as_secs_f64()))
        }
    }
}

/// Writes one line of a report, and why when it did not hold. An output that is closed changes nothing about that.
pub fn line(output: &mut (dyn Write + Send), name: &str, outcome: Result<(), String>, took: Duration) {
    let _ = match outcome {
        Ok(()) => writeln!(output, "{name} ... ok ({} ms)", took.as_millis()),
        Err(why) => {
            writeln!(output, "{name} ... FAILED ({} ms)\n    {}", took.as_millis(), why.replace('\n', "\n    "))
        }
    };
    let _ = output.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn holds(_: Target) -> Outcome {
        Ok(())
    }

    async fn fails(target: Target) -> Outcome {
        Err(format!("nothing at {}", target.bootstrap).into())
    }

    async fn panics(_: Target) -> Outcome {
        panic!("on purpose")
    }

    async fn hangs(_: Target) -> Outcome {
        std::future::pending().await
    }

    #[tokio::test]
    async fn each_scenario_gets_a_line_and_a_bad_one_does_not_keep_the_next_from_running() {
        mod made_up {
            pub(super) use super::{fails, hangs, holds, panics};
        }
        let scenarios: &[Scenario] = scenarios![made_up::fails, made_up::panics, made_up::hangs, made_up::holds];
        let mut output = Vec::new();
        let report = run(scenarios, "here", "nowhere:1", "", Duration::from_millis(20), &mut output).await;
        assert_eq!(report, Report { passed: 1, failed: 3 });
        assert!(!report.is_good());
        assert_eq!(report.to_string(), "1 passed, 3 failed");
        let output = String::from_utf8(output).unwrap();
        let lines: Vec<&str> = output.lines().collect();
        assert!(lines[0].starts_with("here::fails ... FAILED ("), "{output}");
        assert_eq!(lines[1], "    nothing at nowhere:1");
        assert!(lines[3].contains("on purpose"), "{output}");
        assert!(lines[5].contains("did not end within 0.02 s"), "{output}");
        assert!(lines[6].starts_with("here::holds ... ok ("), "{output}");
    }

    #[tokio::test]
    async fn a_filter_that_nothing_matches_is_no_success() {
        let mut output = Vec::new();
        let report = run(SCENARIOS, "here", "nowhere:1", "no such name", PATIENCE, &mut output).await;
        assert_eq!(report, Report::default());
        assert!(!report.is_good());
    }

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = SCENARIOS.iter().map(|scenario| scenario.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), SCENARIOS.len());
    }
}
