use std::time::Duration;

use milena_messages::{ApiKey, ErrorCode};

use super::{Action, Asked, Faults, Rule};

fn faults(rules: &[&str]) -> Faults {
    rules.iter().map(|rule| rule.parse::<Rule>().unwrap()).collect()
}

fn asked(api: ApiKey, version: i16, client_id: Option<&str>) -> Asked<'_> {
    Asked { api, version, client_id }
}

/// The numbers of the requests, from 1, at which something happens among the first twelve.
fn fires(rule: &str) -> Vec<usize> {
    let mut faults = faults(&[rule]);
    (1..=12).filter(|_| faults.decide(&asked(ApiKey::FETCH, 13, None)).is_some()).collect()
}

#[test]
fn requests_are_counted_from_one() {
    assert_eq!(fires("fetch@3: drop"), [3]);
    assert_eq!(fires("fetch @ 3-5: drop"), [3, 4, 5]);
    assert_eq!(fires("fetch@10+: drop"), [10, 11, 12]);
    assert_eq!(fires("fetch@/5: drop"), [5, 10]);
    assert_eq!(fires("1: drop").len(), 12);
    assert_eq!(fires("produce: drop"), [0; 0]);
}

#[test]
fn a_rule_counts_only_what_it_is_about() {
    let mut faults = faults(&["produce,fetch v3-8 client=app@2: drop"]);
    let mut decide = |api, version, client_id| faults.decide(&asked(api, version, client_id));
    assert_eq!(decide(ApiKey::FETCH, 3, Some("app")), None);
    assert_eq!(decide(ApiKey::FETCH, 9, Some("app")), None);
    assert_eq!(decide(ApiKey::FETCH, 8, Some("other")), None);
    assert_eq!(decide(ApiKey::FETCH, 8, None), None);
    assert_eq!(decide(ApiKey::METADATA, 8, Some("app")), None);
    assert_eq!(decide(ApiKey::PRODUCE, 8, Some("app")), Some(Action::Drop));
    assert_eq!(decide(ApiKey::PRODUCE, 8, Some("app")), None);
}

#[test]
fn the_first_rule_that_fires_counts_and_all_of_them_count_on() {
    let mut faults = faults(&["fetch@2: cut", "*: delay 1s", "fetch@3: drop"]);
    let mut decide = || faults.decide(&asked(ApiKey::FETCH, 0, None));
    assert_eq!(decide(), Some(Action::Delay(Duration::from_secs(1))));
    assert_eq!(decide(), Some(Action::Cut { after: None }));
    assert_eq!(decide(), Some(Action::Delay(Duration::from_secs(1))));
}

#[test]
fn actions_are_read_and_written_alike() {
    for (text, action, shown) in [
        ("error not_leader_or_follower", Action::Error(ErrorCode(6)), "error NOT_LEADER_OR_FOLLOWER"),
        ("error 6", Action::Error(ErrorCode(6)), "error NOT_LEADER_OR_FOLLOWER"),
        ("error UNKNOWN_SERVER_ERROR", Action::Error(ErrorCode(-1)), "error UNKNOWN_SERVER_ERROR"),
        ("delay 200ms", Action::Delay(Duration::from_millis(200)), "delay 200ms"),
        (" delay  1.5s ", Action::Delay(Duration::from_millis(1500)), "delay 1.5s"),
        ("drop", Action::Drop, "drop"),
        ("cut", Action::Cut { after: None }, "cut"),
        ("cut after 100", Action::Cut { after: Some(100) }, "cut after 100 bytes"),
        ("cut after 100 bytes", Action::Cut { after: Some(100) }, "cut after 100 bytes"),
    ] {
        let rule: Rule = format!("*:{text}").parse().unwrap();
        assert_eq!(rule.action(), action, "{text}");
        assert_eq!(action.to_string(), shown);
    }
}

#[test]
fn what_is_no_rule_is_refused_with_what_to_write() {
    for (text, why) in [
        ("", "write WHOM: ACTION"),
        ("fetch", "write WHOM: ACTION"),
        (": drop", "name an API"),
        ("fletch: drop", "no API is named `fletch`"),
        ("fetch,: drop", "no API is named ``"),
        ("fetch@0: drop", "counted from 1"),
        ("fetch@: drop", "counted from 1"),
        ("fetch@5-3: drop", "counted from 1"),
        ("fetch@/0: drop", "counted from 1"),
        ("fetch@-1: drop", "counted from 1"),
        ("fetch v: drop", "is no versions"),
        ("fetch topic=a: drop", "neither versions"),
        ("fetch: explode", "is no action"),
        ("fetch: error", "is no action"),
        ("fetch: error NO_SUCH_CODE", "no error code is named `NO_SUCH_CODE`"),
        ("fetch: delay 200", "is no time"),
        ("fetch: delay -1s", "is no time"),
        ("fetch: delay 1e300s", "is no time"),
        ("fetch: cut after some bytes", "is no number of bytes"),
    ] {
        let error = text.parse::<Rule>().unwrap_err().to_string();
        assert!(error.starts_with(&format!("fault `{text}`: ")) && error.contains(why), "{error}");
    }
}

/// The first block of text in a page.
fn grammar(page: &str) -> Vec<&str> {
    let lines =
        page.lines().map(|line| line.strip_prefix("//!").map_or(line, |line| line.strip_prefix(' ').unwrap_or(line)));
    lines.skip_while(|line| *line != "```text").skip(1).take_while(|line| *line != "```").collect()
}

#[test]
fn the_page_about_faults_has_the_grammar_of_the_module_and_rules_that_can_be_read() {
    let (page, module) = (include_str!("../../../../docs/faults.md"), include_str!("mod.rs"));
    assert_eq!(grammar(page), grammar(module));
    assert!(grammar(page).len() > 10);
    let mut rules = 0;
    for line in page.lines().chain(module.lines()) {
        let rule = line.trim_start_matches("//! ").strip_prefix("| `").and_then(|line| line.split('`').next());
        if let Some(rule) = rule.filter(|rule| rule.contains(": ")) {
            rule.parse::<Rule>().unwrap();
            rules += 1;
        }
    }
    assert_eq!(rules, 10);
}
