use std::fmt;
use std::time::Duration;

use milena_messages::{ApiKey, ErrorCode, VersionRange};

use super::pattern::Pattern;
use super::scope::{Scope, Subject};

/// What is done to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// It fails with this code, and has no other effect.
    Error(ErrorCode),
    /// It has its effect, and its response comes no sooner than this time after the request arrived.
    Delay(Duration),
    /// It has no effect, and gets no response.
    Drop,
    /// Without a number: it has no effect, and the connection ends. With one: it has its effect, this many bytes of the
    /// response are sent, its size in front included, and then the connection ends.
    Cut {
        /// Bytes of the response.
        after: Option<u64>,
    },
    /// It has its effect, and its response says that the client was throttled for this time.
    Throttle(Duration),
    /// It has its effect, and this many bytes of the body of its response have other values.
    Garble {
        /// Bytes of the body.
        bytes: u64,
    },
    /// It has its effect, and the end of its response is missing. The size in front is that of what is sent.
    Short {
        /// Bytes that are missing; half of the body without a number.
        by: Option<u64>,
    },
    /// It has its effect, and its response leaves after the next one on its connection, or after a second.
    Reorder,
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Error(code) => write!(f, "error {code}"),
            Self::Delay(time) => write!(f, "delay {time:?}"),
            Self::Drop => f.write_str("drop"),
            Self::Cut { after: None } => f.write_str("cut"),
            Self::Cut { after: Some(bytes) } => write!(f, "cut after {bytes} bytes"),
            Self::Throttle(time) => write!(f, "throttle {time:?}"),
            Self::Garble { bytes } => write!(f, "garble {bytes} bytes"),
            Self::Short { by: None } => f.write_str("short"),
            Self::Short { by: Some(bytes) } => write!(f, "short by {bytes} bytes"),
            Self::Reorder => f.write_str("reorder"),
        }
    }
}

/// What rules look at in a request.
#[derive(Clone, Copy)]
pub struct RequestInfo<'a> {
    /// The API.
    pub api: ApiKey,
    /// Its version.
    pub version: i16,
    /// The client id; `None` is null.
    pub client_id: Option<&'a str>,
    /// Finds what the request is about. It is called at most once, and only for rules that look at it.
    pub subject: &'a dyn Fn() -> Subject,
}

impl<'a> RequestInfo<'a> {
    /// A request of which only the header is looked at: rules that name topics, partitions, groups or transactional ids do
    /// not match it.
    pub fn new(api: ApiKey, version: i16, client_id: Option<&'a str>) -> Self {
        Self { api, version, client_id, subject: &Subject::default }
    }
}

impl fmt::Debug for RequestInfo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { api, version, client_id, .. } = self;
        write!(f, "{api} version {version} of {client_id:?}")
    }
}

/// One rule: which requests it matches, and what is done to them. Made by [`str::parse`]; the module describes the grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub(super) text: String,
    /// Any API when there is none.
    pub(super) apis: Vec<ApiKey>,
    pub(super) versions: VersionRange,
    pub(super) client_id: Option<Pattern>,
    pub(super) scope: Scope,
    pub(super) which: Which,
    pub(super) action: Action,
}

/// Which of the matching requests a rule fires for, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    Range(u64, u64),
    Every(u64),
    /// Random numbers up to this one.
    Chance(u64),
}

impl Rule {
    /// What it does.
    pub fn action(&self) -> Action {
        self.action
    }

    /// The APIs that it names; none when it is about all.
    pub fn apis(&self) -> &[ApiKey] {
        &self.apis
    }

    /// The versions that it is about.
    pub fn versions(&self) -> VersionRange {
        self.versions
    }

    /// The topics, partitions, groups and transactional ids that it is about.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Whether it matches as far as the header of a request shows.
    fn matches(&self, request: &RequestInfo<'_>) -> bool {
        (self.apis.is_empty() || self.apis.contains(&request.api))
            && self.versions.contains(request.version)
            && self.client_id.as_ref().is_none_or(|pattern| request.client_id.is_some_and(|id| pattern.matches(id)))
    }
}

impl fmt::Display for Rule {
    /// As it was written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Rules with their counts.
#[derive(Clone, Debug, Default)]
pub struct Faults {
    rules: Vec<Statistic>,
}

/// A rule and what it met so far.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Statistic {
    /// The rule.
    pub rule: Rule,
    /// Requests that its target matched.
    pub matched: u64,
    /// Requests for which it was the rule that fired.
    pub fired: u64,
}

/// That something is done to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Decision {
    /// What.
    pub action: Action,
    /// The rule that says so, by its position.
    pub rule: usize,
    /// What the rule is about: an error concerns only these topics and partitions.
    pub scope: Scope,
    /// A random number, for [`Action::Garble`]; 0 for other actions.
    pub random: u64,
}

impl Faults {
    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// What is done to a request; `None` when nothing is. Every request has to be passed once, in order: this counts.
    ///
    /// `random` gives evenly distributed numbers, and is called once for each matching rule with a probability, and once more
    /// for bytes to garble.
    pub fn decide(&mut self, request: &RequestInfo<'_>, random: &mut dyn FnMut() -> u64) -> Option<Decision> {
        let mut decision: Option<(usize, Action)> = None;
        let mut subject = None;
        for (position, Statistic { rule, matched, .. }) in self.rules.iter_mut().enumerate() {
            let in_scope = |subject: &mut Option<Subject>| {
                rule.scope.is_everything() || rule.scope.matches(subject.get_or_insert_with(request.subject))
            };
            if !rule.matches(request) || !in_scope(&mut subject) {
                continue;
            }
            *matched = matched.saturating_add(1);
            let fires = match rule.which {
                Which::Range(first, last) => (first..=last).contains(matched),
                Which::Every(step) => *matched % step == 0,
                Which::Chance(most) => random() <= most,
            };
            if fires && decision.is_none() {
                decision = Some((position, rule.action));
            }
        }
        let (position, action) = decision?;
        let Statistic { rule, fired, .. } = &mut self.rules[position];
        *fired = fired.saturating_add(1);
        let random = if matches!(action, Action::Garble { .. }) { random() } else { 0 };
        Some(Decision { action, rule: position, scope: rule.scope.clone(), random })
    }

    /// Adds a rule after the others. It counts the requests from now on.
    pub fn push(&mut self, rule: Rule) {
        self.rules.push(Statistic { rule, matched: 0, fired: 0 });
    }

    /// Takes a rule out, with its counts; later rules move up by one. `None` when there is none at this position.
    pub fn remove(&mut self, position: usize) -> Option<Statistic> {
        (position < self.rules.len()).then(|| self.rules.remove(position))
    }

    /// The rules, in their order, with their counts.
    pub fn statistics(&self) -> impl Iterator<Item = &Statistic> {
        self.rules.iter()
    }
}

impl FromIterator<Rule> for Faults {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        Self { rules: rules.into_iter().map(|rule| Statistic { rule, matched: 0, fired: 0 }).collect() }
    }
}

/// Random numbers for rules with a probability: the same seed gives the same numbers (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of this seed.
    pub fn seeded(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number, evenly distributed over all of them.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}
