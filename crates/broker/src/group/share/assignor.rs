//! Who reads which partitions: Kafka's `simple` assignor for share groups. A partition may go to several members.

use std::collections::{BTreeMap, BTreeSet};

use milena_messages::Uuid;

use crate::group::consumer::Partitions;

/// The name of the only assignor.
pub(crate) const NAME: &str = "simple";

type Place = (Uuid, i32);

/// A member as the assignor sees it.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) id: String,
    pub(super) topics: BTreeSet<Uuid>,
    /// Its last target.
    pub(super) current: Partitions,
}

/// Assigns partitions to the members that subscribed to their topics: to each member about as many, to each partition as
/// many members, and as few moves as possible.
pub(super) fn assign(members: &[Candidate], topics: &BTreeMap<Uuid, BTreeSet<i32>>) -> BTreeMap<String, Partitions> {
    let places = |topic: &Uuid| {
        let id = *topic;
        topics.get(topic).into_iter().flatten().map(move |partition| (id, *partition)).collect::<Vec<Place>>()
    };
    let mut assigned: BTreeMap<usize, BTreeSet<Place>> = BTreeMap::new();
    if members.windows(2).all(|pair| pair[0].topics == pair[1].topics) {
        let subscribed = members.first().map(|member| member.topics.clone()).unwrap_or_default();
        let all: Vec<usize> = (0..members.len()).collect();
        assigned = balance(members, &all, &subscribed, subscribed.iter().flat_map(places).collect());
    } else {
        let subscribed: BTreeSet<Uuid> = members.iter().flat_map(|member| member.topics.iter().copied()).collect();
        for topic in subscribed {
            let readers: Vec<usize> =
                (0..members.len()).filter(|index| members[*index].topics.contains(&topic)).collect();
            for (member, held) in balance(members, &readers, &[topic].into(), places(&topic)) {
                assigned.entry(member).or_default().extend(held);
            }
        }
    }
    let of_member = |index: usize| {
        let mut partitions = Partitions::new();
        for (topic, partition) in assigned.get(&index).into_iter().flatten() {
            partitions.entry(*topic).or_default().insert(*partition);
        }
        partitions
    };
    members.iter().enumerate().map(|(index, member)| (member.id.clone(), of_member(index))).collect()
}

/// Spreads these partitions over these members.
fn balance(
    members: &[Candidate],
    readers: &[usize],
    topics: &BTreeSet<Uuid>,
    targets: Vec<Place>,
) -> BTreeMap<usize, BTreeSet<Place>> {
    if readers.is_empty() || targets.is_empty() {
        return BTreeMap::new();
    }
    // So many members share a partition, and each reads so many of them.
    let sharing = readers.len().div_ceil(targets.len());
    let total = sharing * targets.len();
    let up_to = |count: usize| (total * count).div_ceil(readers.len());
    let desired: BTreeMap<usize, usize> =
        readers.iter().enumerate().map(|(n, member)| (*member, up_to(n + 1) - up_to(n))).collect();

    let mut by_member: BTreeMap<usize, BTreeSet<Place>> = BTreeMap::new();
    let mut by_place: BTreeMap<Place, BTreeSet<usize>> =
        targets.into_iter().map(|place| (place, BTreeSet::new())).collect();
    for member in readers {
        let held = by_member.entry(*member).or_default();
        for (topic, partitions) in members[*member].current.iter().filter(|(topic, _)| topics.contains(topic)) {
            held.extend(partitions.iter().map(|partition| (*topic, *partition)));
        }
        // Only what can still be assigned is kept, and no more than the member should have.
        held.retain(|place| by_place.contains_key(place));
        while held.len() > desired[member] {
            held.pop_first();
        }
        for place in held.iter() {
            by_place.entry(*place).or_default().insert(*member);
        }
    }
    for (place, holders) in &mut by_place {
        while holders.len() > sharing {
            if let Some(member) = holders.pop_first() {
                by_member.entry(member).or_default().remove(place);
            }
        }
    }
    let is_unfilled = |member: &&usize| by_member.get(*member).map_or(0, BTreeSet::len) < desired[*member];
    let mut unfilled: Vec<usize> = readers.iter().filter(is_unfilled).copied().collect();
    let (mut at, mut any) = (0, false);
    for (place, holders) in &mut by_place {
        while holders.len() < sharing && !unfilled.is_empty() {
            if at >= unfilled.len() {
                if !any {
                    break;
                }
                (at, any) = (0, false);
            }
            let member = unfilled[at];
            if !holders.insert(member) {
                at += 1;
                continue;
            }
            any = true;
            let held = by_member.entry(member).or_default();
            held.insert(*place);
            if held.len() >= desired[&member] {
                unfilled.remove(at);
            } else {
                at += 1;
            }
        }
    }
    by_member
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Uuid = Uuid::from_bytes([1; 16]);
    const B: Uuid = Uuid::from_bytes([2; 16]);

    fn member(id: &str, topics: &[Uuid], current: &[(Uuid, &[i32])]) -> Candidate {
        let current = current.iter().map(|(topic, all)| (*topic, all.iter().copied().collect())).collect();
        Candidate { id: id.into(), topics: topics.iter().copied().collect(), current }
    }

    fn sizes(members: usize, partitions: i32) -> Vec<usize> {
        let members: Vec<Candidate> = (0..members).map(|n| member(&format!("m{n}"), &[A], &[])).collect();
        let assigned = assign(&members, &[(A, (0..partitions).collect())].into());
        members.iter().map(|member| assigned[&member.id].values().map(BTreeSet::len).sum()).collect()
    }

    #[test]
    fn members_get_about_as_many_partitions_and_partitions_as_many_members() {
        assert_eq!(sizes(1, 3), [3]);
        assert_eq!(sizes(2, 3), [2, 1]);
        assert_eq!(sizes(3, 3), [1, 1, 1]);
        // Two members share each of two partitions.
        assert_eq!(sizes(3, 2), [2, 1, 1]);
        assert_eq!(sizes(4, 1), [1, 1, 1, 1]);
        assert_eq!(sizes(2, 0), [0, 0]);
    }

    #[test]
    fn what_a_member_has_stays_with_it() {
        let members = [member("a", &[A], &[(A, &[0, 1, 2, 3])]), member("b", &[A], &[])];
        let assigned = assign(&members, &[(A, (0..4).collect())].into());
        assert_eq!(assigned["a"], Partitions::from([(A, [2, 3].into())]));
        assert_eq!(assigned["b"], Partitions::from([(A, [0, 1].into())]));
    }

    #[test]
    fn members_with_other_topics_are_balanced_by_topic() {
        let members = [member("a", &[A], &[(B, &[0])]), member("b", &[A, B], &[])];
        let assigned = assign(&members, &[(A, (0..2).collect()), (B, (0..2).collect())].into());
        assert_eq!(assigned["a"], Partitions::from([(A, [0].into())]));
        assert_eq!(assigned["b"], Partitions::from([(A, [1].into()), (B, [0, 1].into())]));
    }
}
