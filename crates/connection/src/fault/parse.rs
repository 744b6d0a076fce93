use std::str::FromStr;
use std::time::Duration;

use milena_messages::{ApiKey, ErrorCode, UnknownErrorCode, VersionRange};

use super::pattern::split_unquoted;
use super::rule::{Action, Rule, Which};
use super::scope::Scope;

/// Text that is no rule, or a rule that can never do anything.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("fault `{rule}`: {why}")]
pub struct FaultError {
    rule: String,
    why: String,
}

impl FromStr for Rule {
    type Err = FaultError;

    fn from_str(text: &str) -> Result<Self, FaultError> {
        rule(text).map_err(|why| FaultError { rule: text.to_owned(), why })
    }
}

const FILTERS: &str = "there are versions, such as v3-8, client=, topic=, partition=, group= and transaction=";

fn rule(text: &str) -> Result<Rule, String> {
    let first = split_unquoted(text, |c| c == ':')[0];
    let action = text.get(first.len() + 1..).ok_or_else(|| match text.matches('"').count() % 2 {
        1 => "a quote is not closed".to_owned(),
        _ => "write TARGET: ACTION, as in `fetch@3: error NOT_LEADER_OR_FOLLOWER`".to_owned(),
    })?;
    let parts = split_unquoted(first, |c| c == '@');
    let which = match parts[..] {
        [_] => Which::Range(1, u64::MAX),
        [_, which] => self::which(which.trim())?,
        _ => return Err("`@` can come once; put a client id with `@` in double quotes".to_owned()),
    };
    let mut words = split_unquoted(parts[0], char::is_whitespace).into_iter().filter(|word| !word.is_empty());
    let apis = match words.next() {
        None => return Err("name an API, or * for all".to_owned()),
        Some("*") => Vec::new(),
        Some(names) => names.split(',').map(api).collect::<Result<_, _>>()?,
    };
    let action = action_of(action)?;
    let mut rule = Rule {
        text: text.trim().to_owned(),
        apis,
        versions: VersionRange::ALL,
        client_id: None,
        scope: Scope::default(),
        which,
        action,
    };
    for word in words {
        if let Some((name, value)) = word.split_once('=') {
            let pattern = || value.parse().map(Some).map_err(|error| format!("{error}"));
            match name {
                "client" => rule.client_id = pattern()?,
                "topic" => rule.scope.topic = pattern()?,
                "group" => rule.scope.group = pattern()?,
                "transaction" => rule.scope.transactional_id = pattern()?,
                "partition" => {
                    let wrong = || format!("`{value}` is not a partition; write 3, 3-8 or 3+");
                    rule.scope.partitions = Some(range(value).ok_or_else(wrong)?);
                }
                _ => return Err(format!("`{word}` is no filter; {FILTERS}")),
            }
        } else if let Some(versions) = word.strip_prefix('v') {
            let (first, last) =
                range(versions).ok_or_else(|| format!("`{word}` is not a version range; write v3, v3-8 or v3+"))?;
            rule.versions = VersionRange::new(first, last);
            check_versions(&rule.apis, rule.versions, word)?;
        } else {
            return Err(format!("`{word}` is no filter; {FILTERS}"));
        }
    }
    Ok(rule)
}

/// Refuses versions that no request can have. APIs without a name may have any version.
fn check_versions(apis: &[ApiKey], wanted: VersionRange, word: &str) -> Result<(), String> {
    let overlaps = |api: ApiKey| {
        let has = api.versions();
        wanted.min() <= has.max() && has.min() <= wanted.max()
    };
    if apis.is_empty() && !ApiKey::all().any(overlaps) {
        return Err(format!("no API has {word}"));
    }
    match apis.iter().find(|api| api.name().is_some() && !overlaps(**api)) {
        Some(api) => Err(format!("{api} has versions {}, so that {word} never matches", api.versions())),
        None => Ok(()),
    }
}

fn api(name: &str) -> Result<ApiKey, String> {
    name.parse().map_err(|error| format!("{error}"))
}

fn which(text: &str) -> Result<Which, String> {
    let wrong = || format!("`@{text}` is not a count; write @3, @3-5, @3+, @/10 or @5%, counted from 1");
    if let Some(step) = text.strip_prefix('/') {
        return step.parse().ok().filter(|step| *step > 0).map(Which::Every).ok_or_else(wrong);
    }
    if let Some(percent) = text.strip_suffix('%') {
        let percent = percent.trim().parse::<f64>().ok().filter(|percent| *percent > 0.0 && *percent <= 100.0);
        // The part of all 2^64 random numbers that fire.
        return percent.map(|percent| Which::Chance((percent / 100.0 * u64::MAX as f64) as u64)).ok_or_else(wrong);
    }
    range(text).filter(|(first, _)| *first > 0).map(|(first, last)| Which::Range(first, last)).ok_or_else(wrong)
}

/// `3`, `3-5` or `3+`.
fn range<N: FromStr + PartialOrd + Copy + Max>(text: &str) -> Option<(N, N)> {
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse::<N>().ok()).flatten();
    let (first, last) = match (text.strip_suffix('+'), text.split_once('-')) {
        (Some(first), _) => (number(first)?, N::MAX),
        (None, Some((first, last))) => (number(first)?, number(last)?),
        (None, None) => (number(text)?, number(text)?),
    };
    (first <= last).then_some((first, last))
}

trait Max {
    const MAX: Self;
}

impl Max for i16 {
    const MAX: Self = i16::MAX;
}

impl Max for i32 {
    const MAX: Self = i32::MAX;
}

impl Max for u64 {
    const MAX: Self = u64::MAX;
}

fn action_of(text: &str) -> Result<Action, String> {
    match text.split_whitespace().collect::<Vec<_>>()[..] {
        ["error", code] => match code.parse().map_err(|error: UnknownErrorCode| error.to_string())? {
            ErrorCode::NONE => Err("code 0 (NONE) means success; name an error".to_owned()),
            code => Ok(Action::Error(code)),
        },
        ["delay", time] => time_of(time).map(Action::Delay),
        ["throttle", time] => time_of(time).map(Action::Throttle),
        ["garble"] => Ok(Action::Garble { bytes: 1 }),
        ["garble", bytes] | ["garble", bytes, "bytes" | "byte"] => match bytes.parse() {
            Ok(bytes) if bytes > 0 => Ok(Action::Garble { bytes }),
            _ => Err(format!("`{bytes}` is not a number of bytes")),
        },
        ["short"] => Ok(Action::Short { by: None }),
        ["short", "by", bytes] | ["short", "by", bytes, "bytes" | "byte"] => match bytes.parse() {
            Ok(bytes) if bytes > 0 => Ok(Action::Short { by: Some(bytes) }),
            _ => Err(format!("`{bytes}` is not a number of bytes")),
        },
        ["reorder"] => Ok(Action::Reorder),
        ["drop"] => Ok(Action::Drop),
        ["cut"] => Ok(Action::Cut { after: None }),
        ["cut", "after", bytes] | ["cut", "after", bytes, "bytes"] => match bytes.parse() {
            Ok(bytes) => Ok(Action::Cut { after: Some(bytes) }),
            Err(_) => Err(format!("`{bytes}` is not a number of bytes")),
        },
        _ => Err(format!(
            "`{}` is not an action; expected error CODE, delay TIME, throttle TIME, drop, cut [after N bytes], \
             garble [N bytes], short [by N bytes] or reorder",
            text.trim()
        )),
    }
}

fn time_of(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let seconds = match unit {
        "us" => Some(1e-6),
        "ms" => Some(1e-3),
        "s" => Some(1.0),
        "m" => Some(60.0),
        _ => None,
    };
    let time = seconds
        .zip(number.parse::<f64>().ok())
        .and_then(|(unit, number)| Duration::try_from_secs_f64(unit * number).ok());
    time.ok_or_else(|| format!("`{text}` is not a time; write a number with us, ms, s or m, such as 200ms"))
}
