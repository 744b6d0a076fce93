use std::str::FromStr;
use std::time::Duration;

use milena_messages::{ApiKey, UnknownErrorCode, VersionRange};

use super::rule::{Action, Rule, Which};

/// A text that is no rule.
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

fn rule(text: &str) -> Result<Rule, String> {
    let (whom, action) =
        text.split_once(':').ok_or("write WHOM: ACTION, as in `fetch@3: error NOT_LEADER_OR_FOLLOWER`")?;
    let (whom, which) = match whom.split_once('@') {
        Some((whom, which)) => (whom, self::which(which.trim())?),
        None => (whom, Which::Range(1, u64::MAX)),
    };
    let mut words = whom.split_whitespace();
    let apis = match words.next() {
        None => return Err("name an API, or * for all".to_owned()),
        Some("*") => Vec::new(),
        Some(names) => names.split(',').map(api).collect::<Result<_, _>>()?,
    };
    let mut rule = Rule { apis, versions: VersionRange::ALL, client_id: None, which, action: action_of(action)? };
    for word in words {
        if let Some(client_id) = word.strip_prefix("client=") {
            rule.client_id = Some(client_id.to_owned());
        } else if let Some(versions) = word.strip_prefix('v') {
            let (first, last) =
                range(versions).ok_or_else(|| format!("`{word}` is no versions; write v3, v3-8 or v3+"))?;
            rule.versions = VersionRange::new(first, last);
        } else {
            return Err(format!("`{word}` is neither versions, as v3-8, nor client=ID"));
        }
    }
    Ok(rule)
}

fn api(name: &str) -> Result<ApiKey, String> {
    name.parse().map_err(|error| format!("{error}"))
}

fn which(text: &str) -> Result<Which, String> {
    let wrong = || format!("`@{text}` says not which; write @3, @3-5, @3+ or @/10, counted from 1");
    if let Some(step) = text.strip_prefix('/') {
        return step.parse().ok().filter(|step| *step > 0).map(Which::Every).ok_or_else(wrong);
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

impl Max for u64 {
    const MAX: Self = u64::MAX;
}

fn action_of(text: &str) -> Result<Action, String> {
    match text.split_whitespace().collect::<Vec<_>>()[..] {
        ["error", code] => code.parse().map(Action::Error).map_err(|error: UnknownErrorCode| error.to_string()),
        ["delay", time] => time_of(time).map(Action::Delay),
        ["drop"] => Ok(Action::Drop),
        ["cut"] => Ok(Action::Cut { after: None }),
        ["cut", "after", bytes] | ["cut", "after", bytes, "bytes"] => match bytes.parse() {
            Ok(bytes) => Ok(Action::Cut { after: Some(bytes) }),
            Err(_) => Err(format!("`{bytes}` is no number of bytes")),
        },
        _ => Err(format!(
            "`{}` is no action; there are error CODE, delay TIME, drop, and cut [after N bytes]",
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
    time.ok_or_else(|| format!("`{text}` is no time; write a number with us, ms, s or m, as in 200ms"))
}
