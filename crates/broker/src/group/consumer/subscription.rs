//! Which topics the members of a consumer group read, by name and by regular expression.

use std::collections::{BTreeMap, BTreeSet};

use milena_messages::{ErrorCode, Uuid};

use crate::coordinator::Effects;
use crate::group::GroupMachine;
use crate::group::consumer::re2::TopicPattern;
use crate::group::consumer::{ConsumerGroup, ConsumerMember, Refused, TopicLookup, record, refused};

/// So many names are compared with expressions without hesitation. Above that a group waits as long as in Kafka before it
/// compares again.
const CHEAP_COMPARISONS: usize = 100_000;
/// How long Kafka waits before it compares again.
const COMPARE_INTERVAL_MS: i64 = 10_000;

/// The topics of a regular expression.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resolved {
    /// Names, sorted.
    pub(super) topics: BTreeSet<String>,
    /// The version of the topics that were compared.
    pub(super) version: i64,
    /// When they were compared, in milliseconds since 1970.
    pub(super) timestamp: i64,
}

/// What a heartbeat changes about the regular expression of its member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegexChange {
    None,
    /// Its topics are found after this heartbeat.
    Later,
    /// Its topics are known.
    Known,
}

impl ConsumerGroup {
    /// Whether this is a regular expression that the group can take. Those that members have already are.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn check_regex(&self, regex: &str) -> Result<(), Refused> {
        if regex.is_empty() || self.regexes.contains_key(regex) {
            return Ok(());
        }
        let invalid = |why| {
            let message = format!("SubscribedTopicRegex `{regex}` is not a valid regular expression: {why}.");
            refused(ErrorCode::INVALID_REGULAR_EXPRESSION, message)
        };
        TopicPattern::compile(regex).map(|_| ()).map_err(invalid)
    }

    /// The member has another regular expression than before. One that no member has any more is dropped.
    pub(super) fn change_regex(
        &mut self,
        before: &ConsumerMember,
        after: &ConsumerMember,
        effects: &mut Effects<GroupMachine>,
    ) -> RegexChange {
        if before.regex == after.regex {
            return RegexChange::None;
        }
        let is_used = self.members.values().any(|member| member.id != after.id && member.regex == before.regex);
        if !before.regex.is_empty() && !is_used {
            self.drop_regex(&before.regex, effects);
        }
        let is_known = after.regex.is_empty() || self.regexes.contains_key(&after.regex);
        if is_known {
            return RegexChange::Known;
        }
        self.has_new_regex = true;
        RegexChange::Later
    }

    /// Drops the regular expressions that no member has.
    pub(super) fn drop_unused_regexes(&mut self, effects: &mut Effects<GroupMachine>) {
        if self.regexes.is_empty() {
            return;
        }
        let used: BTreeSet<&str> = self.members.values().map(|member| &*member.regex).collect();
        let unused: Vec<String> = self.regexes.keys().filter(|regex| !used.contains(&***regex)).cloned().collect();
        unused.iter().for_each(|regex| self.drop_regex(regex, effects));
    }

    fn drop_regex(&mut self, regex: &str, effects: &mut Effects<GroupMachine>) {
        if self.regexes.remove(regex).is_some() {
            effects.record(record::regex_tombstone(&self.id, regex));
        }
    }

    /// The names of the topics that a member reads. One may come twice.
    pub(super) fn topics_of<'a>(&'a self, member: &'a ConsumerMember) -> impl Iterator<Item = &'a String> {
        let resolved = self.regexes.get(&member.regex).into_iter().flat_map(|resolved| &resolved.topics);
        member.subscribed.iter().chain(resolved)
    }

    /// The ids of the topics that a member reads.
    pub(super) fn topic_ids(&self, member: &ConsumerMember, topics: &dyn TopicLookup) -> BTreeSet<Uuid> {
        self.topics_of(member).filter_map(|name| topics.find(name)).map(|(topic, _)| topic).collect()
    }

    /// The topics that members read, with what is known of them now.
    pub(super) fn look_at(&self, topics: &dyn TopicLookup) -> BTreeMap<String, Option<(Uuid, i32)>> {
        let by_name = self.members.values().flat_map(|member| &member.subscribed);
        let names = by_name.chain(self.regexes.values().flat_map(|resolved| &resolved.topics));
        let names: BTreeSet<&String> = names.collect();
        names.into_iter().map(|name| (name.clone(), topics.find(name))).collect()
    }

    /// Finds the topics of regular expressions that are new, and of all of them when topics have come or gone. When they
    /// are others than before, an epoch begins. Kafka does this beside its heartbeats: members learn of it with the next.
    pub(super) fn resolve_regexes(
        &mut self,
        topics: &dyn TopicLookup,
        now_ms: i64,
        effects: &mut Effects<GroupMachine>,
    ) {
        let version = topics.version();
        let stale = self.regex_version != Some(version);
        if !stale && !self.has_new_regex {
            return;
        }
        let wanted: BTreeSet<&str> = self.members.values().map(|member| &*member.regex).collect();
        let wanted = wanted.into_iter().filter(|regex| !regex.is_empty());
        let wanted: Vec<String> =
            wanted.filter(|regex| stale || !self.regexes.contains_key(*regex)).map(str::to_owned).collect();
        let is_early = self.compared_at.is_some_and(|last| now_ms <= last + COMPARE_INTERVAL_MS);
        if is_early && topics.count().saturating_mul(wanted.len()) > CHEAP_COMPARISONS {
            return;
        }
        (self.regex_version, self.has_new_regex) = (Some(version), false);
        if wanted.is_empty() {
            return;
        }
        self.compared_at = Some(now_ms);
        let names = topics.names();
        let mut found = Effects::new();
        let mut resolved = Vec::new();
        for regex in wanted {
            // It was compiled when a member came with it.
            let Ok(pattern) = TopicPattern::compile(&regex) else { continue };
            let names = names.iter().filter(|name| pattern.matches(name)).map(|name| name.to_string());
            let new = Resolved { topics: names.collect(), version, timestamp: now_ms };
            if self.regexes.get(&regex).is_some_and(|old| old.topics == new.topics) {
                continue;
            }
            found.record(record::regex(&self.id, &regex, &new));
            resolved.push((regex, new));
        }
        if !effects.has_room_for(&found) {
            // Kafka cannot write it either, and goes on with the topics of before.
            tracing::warn!(group = self.id, "the topics of regular expressions do not fit into the log");
            return;
        }
        if resolved.is_empty() {
            return;
        }
        effects.absorb(found);
        self.regexes.extend(resolved);
        self.begin_epoch(topics, true, effects);
    }
}
