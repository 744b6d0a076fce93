//! What an application of Kafka Streams processes, compared with the topics that there are: how many tasks each part has,
//! and which internal topics are missing.

use std::collections::{BTreeMap, BTreeSet};

use milena_messages::group_coordinator::streams_group_topology_value::{
    CopartitionGroup, Subtopology, TopicConfig, TopicInfo,
};
use milena_messages::streams_group_heartbeat::request as asked;
use milena_messages::{ErrorCode, StreamsGroupTopologyValue};

use crate::group::consumer::{Refused, TopicLookup};

/// What members learn of their group. The numbers are those of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    StaleTopology = 0,
    MissingSourceTopics = 1,
    IncorrectlyPartitionedTopics = 2,
    MissingInternalTopics = 3,
    ShutdownApplication = 4,
    AssignmentDelayed = 5,
    MissingClientTags = 6,
}

/// An internal topic that the coordinator sees to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InternalTopic {
    pub(crate) name: String,
    pub(crate) partitions: i32,
    /// 0 for the default of the brokers.
    pub(crate) replication_factor: i16,
    pub(crate) configs: Vec<(String, String)>,
}

/// A part of a topology whose topics are all known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConfiguredSubtopology {
    pub(super) tasks: i32,
    /// Topics that it reads, internal ones included.
    pub(super) sources: BTreeSet<String>,
    pub(super) is_stateful: bool,
    /// The partitions of internal topics of which the application did not say how many.
    pub(super) decided: BTreeMap<String, i32>,
}

/// A topology compared with the topics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Configured {
    /// By id; `None` when topics are missing or do not fit.
    pub(super) subtopologies: Option<BTreeMap<String, ConfiguredSubtopology>>,
    pub(super) to_create: Vec<InternalTopic>,
    pub(super) problem: Option<(Status, String)>,
}

impl Configured {
    pub(super) fn is_ready(&self) -> bool {
        self.problem.is_none()
    }
}

/// Why topics do not fit: what members learn, or an error.
enum Unfit {
    Problem(Status, String),
    Error(Refused),
}

fn invalid(message: impl Into<String>) -> Unfit {
    Unfit::Error(Refused { code: ErrorCode::STREAMS_INVALID_TOPOLOGY, message: message.into() })
}

fn broken(message: impl Into<String>) -> Unfit {
    Unfit::Error(Refused { code: ErrorCode::UNKNOWN_SERVER_ERROR, message: message.into() })
}

/// The topology of a request as the log has it, its parts in the order of their ids.
pub(super) fn from_request(topology: &asked::Topology) -> StreamsGroupTopologyValue {
    let topic = |topic: &asked::TopicInfo| TopicInfo {
        name: topic.name.clone(),
        partitions: topic.partitions,
        replication_factor: topic.replication_factor,
        topic_configs: topic.topic_configs.iter().map(|one| config(&one.key, &one.value)).collect(),
        ..Default::default()
    };
    let group = |group: &asked::CopartitionGroup| CopartitionGroup {
        source_topics: group.source_topics.clone(),
        source_topic_regex: group.source_topic_regex.clone(),
        repartition_source_topics: group.repartition_source_topics.clone(),
        ..Default::default()
    };
    let part = |part: &asked::Subtopology| Subtopology {
        subtopology_id: part.subtopology_id.clone(),
        source_topics: part.source_topics.clone(),
        source_topic_regex: part.source_topic_regex.clone(),
        state_changelog_topics: part.state_changelog_topics.iter().map(topic).collect(),
        repartition_sink_topics: part.repartition_sink_topics.clone(),
        repartition_source_topics: part.repartition_source_topics.iter().map(topic).collect(),
        copartition_groups: part.copartition_groups.iter().map(group).collect(),
        ..Default::default()
    };
    let mut subtopologies: Vec<Subtopology> = topology.subtopologies.iter().map(part).collect();
    subtopologies.sort_by(|a, b| a.subtopology_id.cmp(&b.subtopology_id));
    StreamsGroupTopologyValue { epoch: topology.epoch, subtopologies, ..Default::default() }
}

fn config(key: &milena_messages::ByteString, value: &milena_messages::ByteString) -> TopicConfig {
    TopicConfig { key: key.clone(), value: value.clone(), ..Default::default() }
}

/// The names of the topics that a topology needs, internal ones included.
pub(super) fn required(topology: &StreamsGroupTopologyValue) -> BTreeSet<String> {
    let names = |part: &Subtopology| {
        let internal = part.repartition_source_topics.iter().chain(&part.state_changelog_topics);
        let names = part.source_topics.iter().chain(internal.map(|topic| &topic.name));
        names.map(|name| name.to_string()).collect::<Vec<_>>()
    };
    topology.subtopologies.iter().flat_map(names).collect()
}

/// The id of the part that reads a topic.
pub(super) fn reader<'a>(topology: &'a StreamsGroupTopologyValue, topic: &str) -> Option<&'a str> {
    let reads = |part: &&Subtopology| {
        let internal = part.repartition_source_topics.iter().map(|topic| &topic.name);
        part.source_topics.iter().chain(internal).any(|name| *name == *topic)
    };
    topology.subtopologies.iter().rfind(reads).map(|part| &*part.subtopology_id)
}

/// Compares a topology with the topics.
///
/// # Errors
/// It makes no sense, whatever topics there are.
pub(super) fn configure(topology: &StreamsGroupTopologyValue, topics: &dyn TopicLookup) -> Result<Configured, Refused> {
    let twice = topology.subtopologies.windows(2).find(|pair| pair[0].subtopology_id == pair[1].subtopology_id);
    if let Some(pair) = twice {
        let message = format!("Duplicate key {}", pair[0].subtopology_id);
        return Err(Refused { code: ErrorCode::UNKNOWN_SERVER_ERROR, message });
    }
    match try_configure(topology, topics) {
        Ok(configured) => Ok(configured),
        Err(Unfit::Problem(status, why)) => Ok(Configured { problem: Some((status, why)), ..Default::default() }),
        Err(Unfit::Error(refused)) => Err(refused),
    }
}

fn try_configure(topology: &StreamsGroupTopologyValue, topics: &dyn TopicLookup) -> Result<Configured, Unfit> {
    let parts = &topology.subtopologies;
    let sources: BTreeSet<&str> = parts.iter().flat_map(|part| &part.source_topics).map(|name| &**name).collect();
    let missing: Vec<&str> = sources.into_iter().filter(|name| topics.find(name).is_none()).collect();
    if !missing.is_empty() {
        let message = format!("Source topics {} are missing.", summary(&missing));
        return Err(Unfit::Problem(Status::MissingSourceTopics, message));
    }
    let decided = decide(parts, topics)?;
    let mut subtopologies = BTreeMap::new();
    let mut expected: BTreeMap<String, InternalTopic> = BTreeMap::new();
    for part in parts {
        let mut own = BTreeMap::new();
        for info in part.repartition_source_topics.iter().chain(&part.state_changelog_topics) {
            let partitions = match info.partitions {
                0 => *decided.get(&*info.name).ok_or_else(|| no_count(&info.name))?,
                partitions => partitions,
            };
            own.insert(info.name.to_string(), partitions);
            expected.insert(
                info.name.to_string(),
                InternalTopic {
                    name: info.name.to_string(),
                    partitions,
                    replication_factor: info.replication_factor,
                    configs: info
                        .topic_configs
                        .iter()
                        .map(|one| (one.key.to_string(), one.value.to_string()))
                        .collect(),
                },
            );
        }
        let sources: BTreeSet<String> = inputs(part).map(str::to_owned).collect();
        let counts = inputs(part).map(|name| count(topics, &decided, name).ok_or_else(|| no_count(name)));
        let counts = counts.collect::<Result<Vec<i32>, Unfit>>()?;
        let tasks = counts.into_iter().max().ok_or_else(|| broken("Subtopology does not contain any source topics"))?;
        let is_stateful = !part.state_changelog_topics.is_empty();
        let configured = ConfiguredSubtopology { tasks, sources, is_stateful, decided: own };
        subtopologies.insert(part.subtopology_id.to_string(), configured);
    }
    for name in required(topology) {
        let Some((_, found)) = topics.find(&name) else { continue };
        if let Some(wanted) = expected.remove(&name).filter(|wanted| wanted.partitions != found) {
            let message = format!(
                "Existing topic {name} has different number of partitions: expected {}, found {found}",
                wanted.partitions
            );
            return Err(Unfit::Problem(Status::IncorrectlyPartitionedTopics, message));
        }
    }
    let names: Vec<&str> = expected.keys().map(String::as_str).collect();
    let message = || format!("Internal topics are missing: {}", summary(&names));
    let problem = (!names.is_empty()).then(|| (Status::MissingInternalTopics, message()));
    Ok(Configured { subtopologies: Some(subtopologies), to_create: expected.into_values().collect(), problem })
}

/// The topics that a part reads.
fn inputs(part: &Subtopology) -> impl Iterator<Item = &str> {
    let internal = part.repartition_source_topics.iter().map(|topic| &*topic.name);
    part.source_topics.iter().map(|name| &**name).chain(internal)
}

fn no_count(name: &str) -> Unfit {
    broken(format!("Number of partitions must be set for topic {name}"))
}

fn count(topics: &dyn TopicLookup, decided: &BTreeMap<String, i32>, name: &str) -> Option<i32> {
    topics.find(name).map(|(_, count)| count).or_else(|| decided.get(name).copied())
}

/// How many partitions the internal topics have.
fn decide(parts: &[Subtopology], topics: &dyn TopicLookup) -> Result<BTreeMap<String, i32>, Unfit> {
    let mut decided = repartition_counts(parts, topics)?;
    let infos = || parts.iter().flat_map(|part| &part.repartition_source_topics);
    let named = |fixed: bool| -> BTreeSet<&str> {
        infos().filter(|info| (info.partitions != 0) == fixed).map(|info| &*info.name).collect()
    };
    let (fixed, flexible) = (named(true), named(false));
    for part in parts {
        for group in &part.copartition_groups {
            let source = |at: &i16| {
                let name = usize::try_from(*at).ok().and_then(|at| part.source_topics.get(at));
                name.map(|name| &**name).ok_or_else(|| broken(format!("There is no source topic {at}")))
            };
            let internal = |at: &i16| {
                let info = usize::try_from(*at).ok().and_then(|at| part.repartition_source_topics.get(at));
                info.map(|info| &*info.name).ok_or_else(|| broken(format!("There is no repartition topic {at}")))
            };
            let sources = group.source_topics.iter().map(source);
            let all = sources.chain(group.repartition_source_topics.iter().map(internal));
            let all = all.collect::<Result<BTreeSet<&str>, Unfit>>()?;
            let changed = copartition(&all, &fixed, &flexible, |name| count(topics, &decided, name))?;
            decided.extend(changed);
        }
    }
    for part in parts.iter().filter(|part| !part.state_changelog_topics.is_empty()) {
        let counts = inputs(part).map(|name| count(topics, &decided, name).ok_or_else(|| no_count(name)));
        let most = counts.collect::<Result<Vec<i32>, Unfit>>()?.into_iter().max();
        let most = most.ok_or_else(|| broken("Subtopology does not contain any source topics"))?;
        decided.extend(part.state_changelog_topics.iter().map(|info| (info.name.to_string(), most)));
    }
    Ok(decided)
}

/// A repartition topic has as many partitions as the topics have that the part before it reads.
fn repartition_counts(parts: &[Subtopology], topics: &dyn TopicLookup) -> Result<BTreeMap<String, i32>, Unfit> {
    let mut counts: BTreeMap<String, i32> = BTreeMap::new();
    for info in parts.iter().flat_map(|part| &part.repartition_source_topics).filter(|info| info.partitions != 0) {
        counts.insert(info.name.to_string(), info.partitions);
    }
    loop {
        let (mut is_missing, mut progress) = (false, false);
        for part in parts {
            for sink in &part.repartition_sink_topics {
                if counts.contains_key(&**sink) {
                    continue;
                }
                let internal =
                    part.repartition_source_topics.iter().filter_map(|info| counts.get(&*info.name).copied());
                let sources = part.source_topics.iter().filter_map(|name| topics.find(name)).map(|(_, count)| count);
                match internal.chain(sources).max() {
                    Some(most) => {
                        counts.insert(sink.to_string(), most);
                        progress = true;
                    }
                    None => is_missing = true,
                }
            }
        }
        if !is_missing {
            break;
        }
        if !progress {
            return Err(invalid(
                "Failed to compute number of partitions for all repartition topics. There may be loops in the topology \
                 that cannot be resolved.",
            ));
        }
    }
    let mut infos = parts.iter().flat_map(|part| &part.repartition_source_topics);
    if infos.any(|info| !counts.contains_key(&*info.name)) {
        return Err(invalid(
            "Failed to compute number of partitions for all repartition topics, because a repartition source topic is \
             never used as a sink topic.",
        ));
    }
    Ok(counts)
}

/// Topics that are joined have the same number of partitions.
fn copartition(
    all: &BTreeSet<&str>,
    fixed: &BTreeSet<&str>,
    flexible: &BTreeSet<&str>,
    count: impl Fn(&str) -> Option<i32>,
) -> Result<BTreeMap<String, i32>, Unfit> {
    let counted = |name: &str| {
        let missing = || broken(format!("Number of partitions is not set for topic: {name}"));
        Ok((name.to_owned(), count(name).ok_or_else(missing)?))
    };
    let is_internal = |name: &&&str| fixed.contains(**name) || flexible.contains(**name);
    let internal = all.iter().filter(is_internal).map(|name| counted(name));
    let internal = internal.collect::<Result<BTreeMap<String, i32>, Unfit>>()?;
    let others = all.iter().filter(|name| !internal.contains_key(**name)).map(|name| counted(name));
    let others = others.collect::<Result<BTreeMap<String, i32>, Unfit>>()?;
    let unequal = |counts: &BTreeMap<String, i32>| {
        let counts: Vec<String> = counts.iter().map(|(name, count)| format!("{name}={count}")).collect();
        let message =
            format!("Following topics do not have the same number of partitions: [{{{}}}]", counts.join(", "));
        Unfit::Problem(Status::IncorrectlyPartitionedTopics, message)
    };
    let same = |counts: Vec<i32>| {
        let first = *counts.first()?;
        counts.iter().all(|count| *count == first).then_some(first)
    };
    let wanted = if others.is_empty() && fixed.is_empty() {
        internal.values().copied().max().unwrap_or(0)
    } else if others.is_empty() {
        let counts = fixed.iter().map(|name| Ok(counted(name)?.1)).collect::<Result<Vec<i32>, Unfit>>()?;
        same(counts).ok_or_else(|| unequal(&internal))?
    } else {
        same(others.values().copied().collect()).ok_or_else(|| unequal(&others))?
    };
    if let Some((name, count)) = internal.iter().find(|(name, count)| fixed.contains(&***name) && **count != wanted) {
        let message = format!(
            "Number of partitions [{count}] of repartition topic [{name}] doesn't match number of partitions [{wanted}] of \
             the source topic."
        );
        return Err(Unfit::Problem(Status::IncorrectlyPartitionedTopics, message));
    }
    Ok(internal.into_keys().map(|name| (name, wanted)).collect())
}

/// The first names, and how many more there are.
fn summary(names: &[&str]) -> String {
    let first = names[..names.len().min(3)].join(", ");
    if names.len() > 3 { format!("{first} and {} additional topics", names.len() - 3) } else { first }
}
