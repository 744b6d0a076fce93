//! Kafka's sticky assignor of tasks: each member keeps what it has, up to its share; the rest goes to the processes with the
//! least load, and standby tasks to processes that do not run the task already.

use std::collections::{BTreeMap, BTreeSet};

use crate::group::streams::{Owned, Target, Task};

/// A member as the assignor sees it.
#[derive(Clone, Debug)]
pub(super) struct Candidate<'a> {
    pub(super) id: &'a str,
    pub(super) process: &'a str,
    pub(super) owned: &'a Owned,
    /// How far it restored the state of tasks, as it reported.
    pub(super) offsets: &'a BTreeMap<Task, i64>,
}

/// A part of the topology: its id, how many tasks it has, and whether it has state.
#[derive(Clone, Debug)]
pub(super) struct Part<'a> {
    pub(super) id: &'a str,
    pub(super) tasks: i32,
    pub(super) is_stateful: bool,
}

/// The load of a process: tasks for each of its members.
#[derive(Clone, Copy, Debug)]
struct Load {
    tasks: usize,
    members: usize,
}

impl Load {
    /// Both loads with a common denominator.
    fn less(self, other: Self) -> bool {
        self.tasks * other.members < other.tasks * self.members
    }
}

#[derive(Debug, Default)]
struct Process {
    /// Indexes of its members.
    members: Vec<usize>,
    tasks: BTreeSet<Task>,
    count: usize,
}

impl Process {
    fn load(&self) -> Load {
        Load { tasks: self.count, members: self.members.len().max(1) }
    }
}

struct State<'a> {
    members: &'a [Candidate<'a>],
    process_of: Vec<usize>,
    processes: Vec<Process>,
    counts: Vec<usize>,
    targets: Vec<Target>,
    active_before: BTreeMap<Task, usize>,
    standby_before: BTreeMap<Task, Vec<usize>>,
    active_share: Share,
    share: Share,
}

/// How many tasks each member may have. Those that have as many as the share do not count for the others.
#[derive(Clone, Copy, Debug)]
struct Share {
    tasks: usize,
    members: usize,
    each: usize,
}

impl Share {
    fn new(tasks: usize, members: usize) -> Self {
        let each = if members == 0 { 0 } else { tasks.div_ceil(members) };
        Self { tasks, members, each }
    }

    fn reached(&mut self, count: usize) {
        if count == self.each {
            *self = Self::new(self.tasks.saturating_sub(count), self.members.saturating_sub(1));
        }
    }
}

/// Assigns the tasks of all parts to the members.
pub(super) fn assign(members: &[Candidate<'_>], parts: &[Part<'_>], standbys: usize) -> BTreeMap<String, Target> {
    let tasks_of = |part: &Part<'_>| {
        let id = part.id.to_owned();
        (0..part.tasks).map(move |partition| (id.clone(), partition)).collect::<Vec<Task>>()
    };
    let active: Vec<Task> = parts.iter().flat_map(tasks_of).collect();
    let stateful: Vec<Task> = parts.iter().filter(|part| part.is_stateful).flat_map(tasks_of).collect();
    if members.is_empty() {
        return BTreeMap::new();
    }
    let mut state = State::new(members, active.len(), stateful.len() * standbys);
    state.assign_active(active);
    if standbys > 0 {
        state.assign_standby(stateful, standbys);
    }
    members.iter().map(|member| member.id.to_owned()).zip(state.targets).collect()
}

impl<'a> State<'a> {
    fn new(members: &'a [Candidate<'a>], active: usize, standby: usize) -> Self {
        let names: BTreeSet<&str> = members.iter().map(|member| member.process).collect();
        let index: BTreeMap<&str, usize> = names.into_iter().enumerate().map(|(at, name)| (name, at)).collect();
        let mut processes: Vec<Process> = index.iter().map(|_| Process::default()).collect();
        let process_of: Vec<usize> = members.iter().map(|member| index[member.process]).collect();
        let mut active_before = BTreeMap::new();
        let mut candidates: BTreeMap<Task, Vec<(bool, i64, usize)>> = BTreeMap::new();
        for (at, member) in members.iter().enumerate() {
            processes[process_of[at]].members.push(at);
            active_before.extend(member.owned.active.keys().map(|task| (task.clone(), at)));
            for task in &member.owned.standby {
                let offset = member.offsets.get(task).copied().unwrap_or(0);
                candidates.entry(task.clone()).or_default().push((false, -offset, at));
            }
            for (task, offset) in member.offsets.iter().filter(|(task, _)| !member.owned.standby.contains(*task)) {
                candidates.entry(task.clone()).or_default().push((true, offset.wrapping_neg(), at));
            }
        }
        let rank = |(task, mut all): (Task, Vec<(bool, i64, usize)>)| {
            // Standby tasks first, and those whose state is furthest.
            all.sort_by_key(|(is_other, offset, _)| (*is_other, *offset));
            (task, all.into_iter().map(|(_, _, at)| at).collect())
        };
        Self {
            members,
            process_of,
            processes,
            counts: vec![0; members.len()],
            targets: vec![Target::default(); members.len()],
            active_before,
            standby_before: candidates.into_iter().map(rank).collect(),
            active_share: Share::new(active, members.len()),
            share: Share::new(active + standby, members.len()),
        }
    }

    fn add(&mut self, member: usize, task: &Task, is_active: bool) {
        let process = &mut self.processes[self.process_of[member]];
        process.tasks.insert(task.clone());
        process.count += 1;
        self.counts[member] += 1;
        let target = &mut self.targets[member];
        if is_active {
            target.active.insert(task.clone())
        } else {
            target.standby.insert(task.clone())
        };
        if is_active {
            self.active_share.reached(self.counts[member]);
        }
        self.share.reached(self.counts[member]);
    }

    fn assign_active(&mut self, mut tasks: Vec<Task>) {
        tasks.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
        tasks.retain(|task| match self.active_before.get(task).copied() {
            Some(member) if self.counts[member] < self.active_share.each => {
                self.add(member, task, true);
                false
            }
            _ => true,
        });
        tasks.retain(|task| match self.least_of(task, false) {
            Some(member) if self.counts[member] < self.active_share.each => {
                self.add(member, task, true);
                false
            }
            _ => true,
        });
        tasks.sort();
        for task in tasks {
            if let Some(member) = self.least_loaded(|_| true) {
                self.add(member, &task, true);
            }
        }
    }

    fn assign_standby(&mut self, mut tasks: Vec<Task>, standbys: usize) {
        tasks.sort_by(|a, b| (b.1, &b.0).cmp(&(a.1, &a.0)));
        let mut left = Vec::new();
        for task in tasks {
            for placed in 0..standbys {
                let before = self.active_before.get(&task).copied();
                let before = before.filter(|member| !self.runs(*member, &task) && self.has_room(*member));
                let member = before.or_else(|| self.least_of(&task, true).filter(|member| self.has_room(*member)));
                match member {
                    Some(member) => self.add(member, &task, false),
                    None => {
                        left.push((task, standbys - placed));
                        break;
                    }
                }
            }
        }
        left.sort_by(|a, b| b.0.cmp(&a.0));
        for (task, count) in left {
            for _ in 0..count {
                // Without a process that does not run the task there is no room for a copy.
                let Some(member) = self.least_loaded(|process| !process.tasks.contains(&task)) else { break };
                self.add(member, &task, false);
            }
        }
    }

    fn runs(&self, member: usize, task: &Task) -> bool {
        self.processes[self.process_of[member]].tasks.contains(task)
    }

    fn has_room(&self, member: usize) -> bool {
        self.counts[member] < self.share.each
    }

    /// Of the members that had the state of a task, one with little load.
    fn least_of(&self, task: &Task, elsewhere: bool) -> Option<usize> {
        let mut best: Option<usize> = None;
        for member in self.standby_before.get(task)?.iter().copied() {
            if elsewhere && self.runs(member, task) {
                continue;
            }
            let load = |member: usize| self.processes[self.process_of[member]].load();
            let is_better =
                best.is_none_or(|best| load(member).less(load(best)) && self.counts[member] < self.counts[best]);
            if is_better {
                best = Some(member);
            }
        }
        best
    }

    /// The member with the fewest tasks of the process with the least load.
    fn least_loaded(&self, suits: impl Fn(&Process) -> bool) -> Option<usize> {
        let mut best: Option<&Process> = None;
        for process in self.processes.iter().filter(|process| suits(process)) {
            if best.is_none_or(|best| process.load().less(best.load())) {
                best = Some(process);
            }
        }
        best?.members.iter().copied().min_by_key(|member| (self.counts[*member], self.members[*member].id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, partition: i32) -> Task {
        (id.to_owned(), partition)
    }

    fn owned(active: &[(&str, i32)], standby: &[(&str, i32)]) -> Owned {
        Owned {
            active: active.iter().map(|(id, partition)| (task(id, *partition), 1)).collect(),
            standby: standby.iter().map(|(id, partition)| task(id, *partition)).collect(),
        }
    }

    fn run(members: &[(&str, &str, Owned)], parts: &[(&str, i32, bool)], standbys: usize) -> BTreeMap<String, Target> {
        let offsets = BTreeMap::new();
        let candidates: Vec<Candidate<'_>> =
            members.iter().map(|(id, process, owned)| Candidate { id, process, owned, offsets: &offsets }).collect();
        let parts: Vec<Part<'_>> = parts
            .iter()
            .map(|(id, tasks, is_stateful)| Part { id, tasks: *tasks, is_stateful: *is_stateful })
            .collect();
        assign(&candidates, &parts, standbys)
    }

    #[test]
    fn one_member_has_all_tasks_and_no_copies() {
        let all = run(&[("A", "p", Owned::default())], &[("0", 3, true)], 1);
        assert_eq!(all["A"].active.len(), 3);
        assert!(all["A"].standby.is_empty(), "a copy in the same process is of no use");
    }

    #[test]
    fn members_keep_their_tasks_up_to_their_share() {
        let before = owned(&[("0", 0), ("0", 1), ("0", 2), ("0", 3)], &[]);
        let all = run(&[("A", "p", before), ("B", "q", Owned::default())], &[("0", 4, false)], 0);
        assert_eq!(all["A"].active, BTreeSet::from([task("0", 0), task("0", 1)]));
        assert_eq!(all["B"].active, BTreeSet::from([task("0", 2), task("0", 3)]));
    }

    #[test]
    fn each_copy_is_in_another_process() {
        let none = Owned::default;
        let members = [("A", "p", none()), ("B", "q", none()), ("C", "r", none())];
        let all = run(&members, &[("0", 3, true), ("1", 3, false)], 1);
        assert!(all.values().all(|target| target.active.len() == 2 && target.standby.len() == 1));
        for target in all.values() {
            assert!(target.active.is_disjoint(&target.standby));
            assert!(target.standby.iter().all(|(id, _)| id == "0"), "the other part has no state");
        }
    }

    #[test]
    fn the_member_with_the_copy_takes_over() {
        let members = [("B", "q", owned(&[], &[("0", 0), ("0", 1)])), ("C", "r", Owned::default())];
        let all = run(&members, &[("0", 2, true)], 0);
        assert_eq!(all["B"].active.len(), 1);
        assert_eq!(all["C"].active.len(), 1);
        let members = [("B", "q", owned(&[], &[("0", 1)])), ("C", "r", owned(&[], &[("0", 0)]))];
        let all = run(&members, &[("0", 2, true)], 0);
        assert_eq!(all["B"].active, BTreeSet::from([task("0", 1)]));
        assert_eq!(all["C"].active, BTreeSet::from([task("0", 0)]));
    }
}
