//! Who gets which partitions: Kafka's two assignors.

use std::collections::{BTreeMap, BTreeSet};

use milena_messages::Uuid;

/// Partitions by topic.
pub(crate) type Partitions = BTreeMap<Uuid, BTreeSet<i32>>;

/// A server-side assignor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assignor {
    /// Spreads partitions evenly, and leaves as many as it can where they are.
    Uniform,
    /// Gives each member a row of partitions of each topic, so that topics with as many partitions are read together.
    Range,
}

impl Assignor {
    /// The assignor of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Uniform, Self::Range].into_iter().find(|assignor| assignor.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Range => "range",
        }
    }

    /// Assigns the partitions of topics to the members that subscribed to them. Static members come first and in the order of
    /// their instance ids with [`Range`](Self::Range), so that a new member id changes nothing.
    pub(super) fn assign(self, members: &[Candidate], topics: &BTreeMap<Uuid, i32>) -> BTreeMap<String, Partitions> {
        let mut assigned = match self {
            Self::Uniform => uniform(members, topics),
            Self::Range => range(members, topics),
        };
        for member in members {
            assigned.entry(member.id.clone()).or_default();
        }
        assigned
    }
}

/// A member as an assignor sees it.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) id: String,
    pub(super) instance_id: Option<String>,
    pub(super) topics: BTreeSet<Uuid>,
    /// Its last target.
    pub(super) current: Partitions,
}

fn uniform(members: &[Candidate], topics: &BTreeMap<Uuid, i32>) -> BTreeMap<String, Partitions> {
    let same = members.windows(2).all(|pair| pair[0].topics == pair[1].topics);
    if same { uniform_same(members, topics) } else { uniform_mixed(members, topics) }
}

/// All members read the same topics: each keeps what it has, up to its share, and the rest goes to those with less.
fn uniform_same(members: &[Candidate], topics: &BTreeMap<Uuid, i32>) -> BTreeMap<String, Partitions> {
    let Some(wanted) = members.first().map(|member| &member.topics) else { return BTreeMap::new() };
    let mut free: BTreeSet<(Uuid, i32)> = partitions_of(wanted, topics).collect();
    let share = free.len() / members.len();
    let mut larger = free.len() % members.len();
    let mut assigned = BTreeMap::new();
    let mut lacking = Vec::new();
    for member in members {
        let mut kept = Partitions::new();
        let mut count = 0;
        for place in places(&member.current) {
            let fits = count < share || count == share && larger > 0;
            if fits && free.remove(&place) {
                kept.entry(place.0).or_default().insert(place.1);
                count += 1;
                if count > share {
                    larger -= 1;
                }
            }
        }
        lacking.push((member, count));
        assigned.insert(member.id.clone(), kept);
    }
    let mut free = free.into_iter();
    for (member, count) in lacking {
        let extra = usize::from(count <= share && larger > 0);
        larger -= extra;
        for (topic, partition) in free.by_ref().take((share + extra).saturating_sub(count)) {
            assigned.entry(member.id.clone()).or_default().entry(topic).or_default().insert(partition);
        }
    }
    assigned
}

/// Members read different topics: each partition stays where it is as long as nobody who could have it has much less.
fn uniform_mixed(members: &[Candidate], topics: &BTreeMap<Uuid, i32>) -> BTreeMap<String, Partitions> {
    let mut owner: BTreeMap<(Uuid, i32), usize> = BTreeMap::new();
    let mut counts = vec![0usize; members.len()];
    for (index, member) in members.iter().enumerate() {
        for (topic, partition) in places(&member.current) {
            let exists = topics.get(&topic).is_some_and(|count| (0..*count).contains(&partition));
            if exists && member.topics.contains(&topic) && !owner.contains_key(&(topic, partition)) {
                owner.insert((topic, partition), index);
                counts[index] += 1;
            }
        }
    }
    let mut readers: BTreeMap<Uuid, Vec<usize>> = BTreeMap::new();
    for (index, member) in members.iter().enumerate() {
        member.topics.iter().for_each(|topic| readers.entry(*topic).or_default().push(index));
    }
    let wanted: BTreeSet<Uuid> = readers.keys().copied().collect();
    let all: Vec<(Uuid, i32)> = partitions_of(&wanted, topics).collect();
    let least = |counts: &[usize], topic: &Uuid| readers[topic].iter().copied().min_by_key(|index| counts[*index]);
    for place in &all {
        if !owner.contains_key(place) {
            if let Some(index) = least(&counts, &place.0) {
                owner.insert(*place, index);
                counts[index] += 1;
            }
        }
    }
    // Each move makes the spread smaller, so that this ends.
    let mut moved = true;
    while moved {
        moved = false;
        for place in &all {
            let (Some(&from), Some(to)) = (owner.get(place), least(&counts, &place.0)) else { continue };
            if counts[from] > counts[to] + 1 {
                owner.insert(*place, to);
                counts[from] -= 1;
                counts[to] += 1;
                moved = true;
            }
        }
    }
    let mut assigned: BTreeMap<String, Partitions> = BTreeMap::new();
    for ((topic, partition), index) in owner {
        assigned.entry(members[index].id.clone()).or_default().entry(topic).or_default().insert(partition);
    }
    assigned
}

fn range(members: &[Candidate], topics: &BTreeMap<Uuid, i32>) -> BTreeMap<String, Partitions> {
    let mut assigned: BTreeMap<String, Partitions> = BTreeMap::new();
    let mut ordered: Vec<&Candidate> = members.iter().collect();
    ordered.sort_by_key(|member| (member.instance_id.is_none(), member.instance_id.clone(), member.id.clone()));
    for (topic, count) in topics {
        let readers: Vec<_> = ordered.iter().filter(|member| member.topics.contains(topic)).collect();
        let count = usize::try_from(*count).unwrap_or(0);
        let mut next = 0;
        for (index, member) in readers.iter().enumerate() {
            let length = count / readers.len() + usize::from(index < count % readers.len());
            if length > 0 {
                let row = (next..next + length).map(|partition| partition as i32).collect();
                assigned.entry(member.id.clone()).or_default().insert(*topic, row);
            }
            next += length;
        }
    }
    assigned
}

fn places(partitions: &Partitions) -> impl Iterator<Item = (Uuid, i32)> {
    partitions.iter().flat_map(|(topic, partitions)| partitions.iter().map(|partition| (*topic, *partition)))
}

fn partitions_of(wanted: &BTreeSet<Uuid>, topics: &BTreeMap<Uuid, i32>) -> impl Iterator<Item = (Uuid, i32)> {
    let known = wanted.iter().filter_map(|topic| Some((*topic, *topics.get(topic)?)));
    known.flat_map(|(topic, count)| (0..count).map(move |partition| (topic, partition)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u8) -> Uuid {
        Uuid::from_bytes([number; 16])
    }

    fn member(id: &str, topics: &[Uuid], current: Partitions) -> Candidate {
        Candidate { id: id.into(), instance_id: None, topics: topics.iter().copied().collect(), current }
    }

    fn rows(assigned: &BTreeMap<String, Partitions>, member: &str) -> Vec<(Uuid, i32)> {
        places(&assigned[member]).collect()
    }

    #[test]
    fn uniform_keeps_what_fits_in_the_share() {
        let topics = BTreeMap::from([(id(1), 3), (id(2), 6)]);
        let both = [id(1), id(2)];
        let first = Assignor::Uniform.assign(&[member("A", &both, Partitions::new())], &topics);
        assert_eq!(rows(&first, "A").len(), 9);
        let members = [member("A", &both, first["A"].clone()), member("B", &both, Partitions::new())];
        let second = Assignor::Uniform.assign(&members, &topics);
        // As Kafka 4.4 did for the same two members and topics.
        assert_eq!(rows(&second, "A"), [(id(1), 0), (id(1), 1), (id(1), 2), (id(2), 0), (id(2), 1)]);
        assert_eq!(rows(&second, "B"), [(id(2), 2), (id(2), 3), (id(2), 4), (id(2), 5)]);
    }

    #[test]
    fn uniform_balances_members_that_read_different_topics() {
        let topics = BTreeMap::from([(id(1), 2), (id(2), 6)]);
        let kept = Partitions::from([(id(2), (0..6).collect())]);
        let members = [member("A", &[id(1), id(2)], kept), member("B", &[id(2)], Partitions::new())];
        let assigned = Assignor::Uniform.assign(&members, &topics);
        assert_eq!(rows(&assigned, "A").len(), 4);
        assert_eq!(rows(&assigned, "B").len(), 4);
        assert!(rows(&assigned, "A").starts_with(&[(id(1), 0), (id(1), 1)]));
    }

    #[test]
    fn range_gives_rows_and_the_first_members_the_rest() {
        let topics = BTreeMap::from([(id(1), 5), (id(2), 1)]);
        let both = [id(1), id(2)];
        let members = [member("b", &both, Partitions::new()), member("a", &both, Partitions::new())];
        let assigned = Assignor::Range.assign(&members, &topics);
        assert_eq!(rows(&assigned, "a"), [(id(1), 0), (id(1), 1), (id(1), 2), (id(2), 0)]);
        assert_eq!(rows(&assigned, "b"), [(id(1), 3), (id(1), 4)]);
    }
}
