use super::pattern::Pattern;

/// What a request is about. Topics that a request names without partitions have none here: all of them are meant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Topics with the partitions that the request names.
    pub topics: Vec<(String, Vec<i32>)>,
    /// Ids of groups.
    pub groups: Vec<String>,
    /// Transactional ids.
    pub transactional_ids: Vec<String>,
}

/// The topics, partitions, groups and transactional ids that a rule is about; all of them, unless it names some.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    pub(super) topic: Option<Pattern>,
    pub(super) partitions: Option<(i32, i32)>,
    pub(super) group: Option<Pattern>,
    pub(super) transactional_id: Option<Pattern>,
}

impl Scope {
    /// Whether the rule names none of these.
    pub fn is_everything(&self) -> bool {
        *self == Self::default()
    }

    /// Whether the rule names topics or partitions, so that other partitions of a request are not concerned.
    pub fn names_partitions(&self) -> bool {
        self.topic.is_some() || self.partitions.is_some()
    }

    /// Whether a topic is concerned. `None` stands for one whose name is not known.
    pub fn has_topic(&self, topic: Option<&str>) -> bool {
        self.topic.as_ref().is_none_or(|pattern| topic.is_some_and(|topic| pattern.matches(topic)))
    }

    /// Whether a partition of a topic that is concerned is so too.
    pub fn has_partition(&self, partition: i32) -> bool {
        self.partitions.is_none_or(|(first, last)| (first..=last).contains(&partition))
    }

    pub(super) fn matches(&self, subject: &Subject) -> bool {
        let any = |pattern: &Option<Pattern>, texts: &[String]| {
            pattern.as_ref().is_none_or(|pattern| texts.iter().any(|text| pattern.matches(text)))
        };
        let topic = |(topic, partitions): &(String, Vec<i32>)| {
            let here = partitions.is_empty() || partitions.iter().any(|partition| self.has_partition(*partition));
            self.has_topic(Some(topic)) && here
        };
        any(&self.group, &subject.groups)
            && any(&self.transactional_id, &subject.transactional_ids)
            && (!self.names_partitions() || subject.topics.iter().any(topic))
    }
}
