use std::time::Duration;

use milena_messages::{ApiKey, ErrorCode};

use super::{Action, Faults, Pattern, Random, RequestInfo, Rule, Subject, split_unquoted};

fn faults(rules: &[&str]) -> Faults {
    rules.iter().map(|rule| rule.parse::<Rule>().unwrap()).collect()
}

/// What happens to a request.
fn decide(faults: &mut Faults, api: ApiKey, version: i16, client_id: Option<&str>) -> Option<Action> {
    let request = RequestInfo::new(api, version, client_id);
    faults.decide(&request, &mut || 0).map(|decision| decision.action)
}

/// The numbers of the requests, from 1, at which something happens among the first twelve.
fn fires(rule: &str) -> Vec<usize> {
    let mut faults = faults(&[rule]);
    (1..=12).filter(|_| decide(&mut faults, ApiKey::FETCH, 13, None).is_some()).collect()
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
fn a_rule_counts_only_what_it_matches() {
    let mut faults = faults(&["produce,fetch v3-8 client=app@2: drop"]);
    let mut decide = |api, version, client_id| decide(&mut faults, api, version, client_id);
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
    let mut decide = || decide(&mut faults, ApiKey::FETCH, 0, None);
    assert_eq!(decide(), Some(Action::Delay(Duration::from_secs(1))));
    assert_eq!(decide(), Some(Action::Cut { after: None }));
    assert_eq!(decide(), Some(Action::Delay(Duration::from_secs(1))));
}

#[test]
fn actions_are_read_and_written_alike() {
    for (text, action, shown) in [
        ("error not_leader_or_follower", Action::Error(ErrorCode(6)), "error NOT_LEADER_OR_FOLLOWER"),
        ("error 6", Action::Error(ErrorCode(6)), "error NOT_LEADER_OR_FOLLOWER"),
        ("throttle 1s", Action::Throttle(Duration::from_secs(1)), "throttle 1s"),
        ("garble", Action::Garble { bytes: 1 }, "garble 1 bytes"),
        ("garble 3 bytes", Action::Garble { bytes: 3 }, "garble 3 bytes"),
        ("short", Action::Short { by: None }, "short"),
        ("short by 5", Action::Short { by: Some(5) }, "short by 5 bytes"),
        ("reorder", Action::Reorder, "reorder"),
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
fn text_that_is_no_rule_is_refused_with_what_to_write() {
    for (text, why) in [
        ("", "write TARGET: ACTION"),
        ("fetch", "write TARGET: ACTION"),
        (": drop", "name an API"),
        ("fletch: drop", "no API is named `fletch`"),
        ("fetch,: drop", "no API is named ``"),
        ("fetch@0: drop", "counted from 1"),
        ("fetch@: drop", "counted from 1"),
        ("fetch@5-3: drop", "counted from 1"),
        ("fetch@/0: drop", "counted from 1"),
        ("fetch@-1: drop", "counted from 1"),
        ("fetch v: drop", "is not a version range"),
        ("fetch size=a: drop", "is no filter"),
        ("fetch: explode", "is not an action"),
        ("fetch: error", "is not an action"),
        ("fetch: error NONE", "means success"),
        ("fetch: error 0", "means success"),
        ("fetch v99: drop", "Fetch has versions 0-18, so that v99 never matches"),
        ("fetch,produce v17+: drop", "Produce has versions 0-13, so that v17+ never matches"),
        ("* v99: drop", "no API has v99"),
        ("fetch@0%: drop", "counted from 1"),
        ("fetch@101%: drop", "counted from 1"),
        ("fetch@NaN%: drop", "counted from 1"),
        ("fetch client=\"app: drop", "a quote is not closed"),
        ("fetch client=a@b: drop", "is not a count"),
        ("fetch client=a@b@1: drop", "put a client id with `@` in double quotes"),
        ("fetch: error NO_SUCH_CODE", "no error code is named `NO_SUCH_CODE`"),
        ("fetch: delay 200", "is not a time"),
        ("fetch: delay -1s", "is not a time"),
        ("fetch: delay 1e300s", "is not a time"),
        ("fetch: cut after some bytes", "is not a number of bytes"),
    ] {
        let error = text.parse::<Rule>().unwrap_err().to_string();
        assert!(error.starts_with(&format!("fault `{text}`: ")) && error.contains(why), "{error}");
    }
}

#[test]
fn client_ids_are_patterns_and_quotes_let_them_hold_anything() {
    for (rule, client_id, fires) in [
        ("fetch client=app*: drop", "app-1", true),
        ("fetch client=app*: drop", "app", true),
        ("fetch client=app*: drop", "my app", false),
        ("fetch client=*app*1: drop", "my app-1", true),
        ("fetch client=a*a: drop", "a", false),
        (r#"fetch client="my app: 1": drop"#, "my app: 1", true),
        (r#"fetch client="my app: 1" v4+: drop"#, "my app: 1", true),
        (r#"fetch client="user@host": drop"#, "user@host", true),
        (r#"fetch client="app*": drop"#, "app-1", false),
        (r#"fetch client="app*": drop"#, "app*", true),
        (r#"fetch client="app: "*: drop"#, "app: 7", true),
        (r#"fetch client="say \"hi\\": drop"#, r#"say "hi\"#, true),
    ] {
        let mut faults = faults(&[rule]);
        assert_eq!(decide(&mut faults, ApiKey::FETCH, 13, Some(client_id)).is_some(), fires, "{rule} {client_id}");
        assert_eq!(decide(&mut faults, ApiKey::FETCH, 13, None), None, "a null client id matches no pattern");
    }
    assert_eq!(
        faults(&["fetch client=app*: drop"]).statistics().next().unwrap().rule.to_string(),
        "fetch client=app*: drop"
    );
    assert!("a\"b".parse::<Pattern>().is_err());
    assert_eq!(split_unquoted(r#"a,"b,c",,d"#, |c| c == ','), ["a", r#""b,c""#, "", "d"]);
}

#[test]
fn a_probability_is_that_part_of_the_random_numbers() {
    let mut faults = faults(&["fetch@25%: drop"]);
    let request = RequestInfo::new(ApiKey::FETCH, 0, None);
    let mut fires = |random: u64| faults.decide(&request, &mut || random).is_some();
    assert!(fires(0) && fires(1 << 61) && fires((1 << 62) - 1000));
    assert!(!fires((1 << 62) + 1000) && !fires(u64::MAX));
    let statistic = faults.statistics().next().unwrap();
    assert_eq!((statistic.matched, statistic.fired), (5, 3));
    assert_eq!(self::faults(&["fetch@100%: drop"]).decide(&request, &mut || u64::MAX).map(|found| found.rule), Some(0));
}

#[test]
fn a_rule_that_another_forestalls_has_matched_and_not_fired() {
    let mut faults = faults(&["*@2+: drop", "fetch: cut", "produce: cut"]);
    for _ in 0..3 {
        decide(&mut faults, ApiKey::FETCH, 0, None);
    }
    let counts: Vec<_> = faults.statistics().map(|rule| (rule.matched, rule.fired)).collect();
    assert_eq!(counts, [(3, 2), (3, 1), (0, 0)]);
}

#[test]
fn rules_come_and_go_and_the_others_count_on() {
    let mut faults = faults(&["produce: drop", "fetch@2: drop"]);
    assert_eq!(decide(&mut faults, ApiKey::FETCH, 0, None), None);
    assert_eq!(faults.remove(0).map(|gone| (gone.matched, gone.fired)), Some((0, 0)));
    faults.push("fetch: cut".parse().unwrap());
    assert_eq!(decide(&mut faults, ApiKey::FETCH, 0, None), Some(Action::Drop));
    assert_eq!(faults.remove(0).map(|gone| (gone.matched, gone.fired)), Some((2, 1)));
    assert_eq!(decide(&mut faults, ApiKey::FETCH, 0, None), Some(Action::Cut { after: None }));
    assert!(faults.remove(1).is_none());
}

/// The first numbers of SplitMix64 for the seed 1234567, as its author's C program prints them.
#[test]
fn random_numbers_are_those_of_splitmix64() {
    let mut random = Random::seeded(1_234_567);
    assert_eq!([random.next_u64(), random.next_u64()], [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]);
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
    assert_eq!(rules, 18);
}

#[test]
fn a_scope_is_looked_at_once_and_only_when_it_matters() {
    let mut faults = faults(&[
        "produce topic=o* partition=2-3: drop",
        "* group=readers: cut",
        "* transaction=t*: delay 1s",
        "produce topic=other: reorder",
    ]);
    let calls = std::cell::Cell::new(0);
    let mut decide = |api, subject: &Subject| {
        let find = || {
            calls.set(calls.get() + 1);
            subject.clone()
        };
        let request = RequestInfo { subject: &find, ..RequestInfo::new(api, 3, None) };
        faults.decide(&request, &mut || 0).map(|decision| decision.action)
    };
    let topic = |name: &str, partitions: &[i32]| Subject {
        topics: vec![(name.to_owned(), partitions.to_vec())],
        ..Subject::default()
    };
    assert_eq!(decide(ApiKey::PRODUCE, &topic("orders", &[1, 2])), Some(Action::Drop));
    assert_eq!(decide(ApiKey::PRODUCE, &topic("orders", &[])), Some(Action::Drop), "all partitions are meant");
    assert_eq!(decide(ApiKey::PRODUCE, &topic("orders", &[0, 4])), None);
    assert_eq!(decide(ApiKey::FETCH, &topic("orders", &[2])), None);
    assert_eq!(decide(ApiKey::PRODUCE, &topic("other", &[0])), Some(Action::Reorder));
    let group = Subject { groups: vec!["writers".to_owned(), "readers".to_owned()], ..Subject::default() };
    assert_eq!(decide(ApiKey::DESCRIBE_GROUPS, &group), Some(Action::Cut { after: None }));
    let transaction = Subject { transactional_ids: vec!["t1".to_owned()], ..Subject::default() };
    assert_eq!(decide(ApiKey::END_TXN, &transaction), Some(Action::Delay(Duration::from_secs(1))));
    assert_eq!(calls.get(), 7, "once for each request");
    assert_eq!(
        self::faults(&["fetch client=a: drop"]).decide(
            &RequestInfo { subject: &|| panic!("nobody wants it"), ..RequestInfo::new(ApiKey::FETCH, 3, None) },
            &mut || 0,
        ),
        None
    );
}
