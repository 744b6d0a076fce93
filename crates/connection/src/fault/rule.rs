use std::fmt;
use std::time::Duration;

use milena_messages::{ApiKey, ErrorCode, VersionRange};

/// What is done to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// It is answered with this code, and nobody acts on it.
    Error(ErrorCode),
    /// It is acted on, and its answer comes so much later.
    Delay(Duration),
    /// Nobody acts on it, and no answer comes.
    Drop,
    /// Without a number: nobody acts on it, and the connection ends. With one: it is acted on, so many bytes of the answer
    /// go out, its size in front of them included, and then the connection ends.
    Cut {
        /// Bytes of the answer.
        after: Option<u64>,
    },
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(code) => write!(f, "error {code}"),
            Self::Delay(time) => write!(f, "delay {time:?}"),
            Self::Drop => f.write_str("drop"),
            Self::Cut { after: None } => f.write_str("cut"),
            Self::Cut { after: Some(bytes) } => write!(f, "cut after {bytes} bytes"),
        }
    }
}

/// What is known of a request.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The API.
    pub api: ApiKey,
    /// Its version.
    pub version: i16,
    /// How the client calls itself.
    pub client_id: Option<&'a str>,
}

/// One rule: which requests, and what is done to them. Made by [`str::parse`]; the module describes the grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Any API when there is none.
    pub(super) apis: Vec<ApiKey>,
    pub(super) versions: VersionRange,
    pub(super) client_id: Option<String>,
    pub(super) which: Which,
    pub(super) action: Action,
}

/// Which ones in a row of requests, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Range(u64, u64),
    Every(u64),
}

impl Rule {
    /// What it does.
    pub fn action(&self) -> Action {
        self.action
    }

    fn is_about(&self, asked: &Asked<'_>) -> bool {
        (self.apis.is_empty() || self.apis.contains(&asked.api))
            && self.versions.contains(asked.version)
            && self.client_id.as_ref().is_none_or(|client_id| asked.client_id == Some(client_id))
    }
}

impl Which {
    fn has(self, nth: u64) -> bool {
        match self {
            Self::Range(first, last) => (first..=last).contains(&nth),
            Self::Every(step) => nth % step == 0,
        }
    }
}

/// Rules with their counts.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    /// Each with the number of requests that it was about.
    rules: Vec<(Rule, u64)>,
}

impl Faults {
    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// What is done to a request; `None` when it is left alone. Every request has to be asked about, and once only: this
    /// counts.
    pub fn decide(&mut self, asked: &Asked<'_>) -> Option<Action> {
        let mut action = None;
        for (rule, count) in &mut self.rules {
            if rule.is_about(asked) {
                *count = count.saturating_add(1);
                if rule.which.has(*count) {
                    action = action.or(Some(rule.action));
                }
            }
        }
        action
    }
}

impl FromIterator<Rule> for Faults {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        Self { rules: rules.into_iter().map(|rule| (rule, 0)).collect() }
    }
}
