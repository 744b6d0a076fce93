//! What operators change of partitions: their number, their leaders and their replicas.

use std::sync::{Arc, PoisonError};

use milena_messages::ErrorCode;

use crate::cluster::{State, Topic, TopicRef};
use crate::refusal::Refusal;
use crate::storage::leadership::{Leadership, NO_LEADER};
use crate::storage::partition::Partition;

impl State {
    /// Adds partitions to a topic until there are `count`, on the nodes of `assignments` or on those that are next in turn.
    /// With `validate_only` only checks whether they could be added.
    ///
    /// # Errors
    /// As Kafka: there is no such topic, it has that many, the assignments do not fit.
    pub(crate) fn add_partitions(
        &self,
        name: &str,
        count: i32,
        assignments: Option<&[Vec<i32>]>,
        validate_only: bool,
    ) -> Result<(), Refusal> {
        let refuse = |code, message: String| Err(Refusal::new(code, message));
        let mut topics = self.topics.write().unwrap_or_else(PoisonError::into_inner);
        let Some(topic) = topics.find(TopicRef::Name(name)).cloned() else {
            return refuse(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, String::new());
        };
        let current = topic.partition_count();
        let Some(more) = usize::try_from(count).ok().and_then(|count| count.checked_sub(current)) else {
            let message =
                format!("The topic {name} currently has {current} partition(s); {count} would not be an increase.");
            return refuse(ErrorCode::INVALID_PARTITIONS, message);
        };
        if more == 0 {
            return refuse(ErrorCode::INVALID_PARTITIONS, format!("Topic already has {current} partition(s)."));
        }
        if topic.is_internal() {
            let message = "The coordinators of this broker need the number of partitions that they started with.";
            return refuse(ErrorCode::POLICY_VIOLATION, message.to_owned());
        }
        topics.check_more(name, more, self.config.max_partitions)?;
        let factor = topic.partition(0).map_or(1, |first| first.leadership().replicas.len());
        let replicas = match assignments {
            None => self.place(more as i32, factor as i16)?,
            Some(assignments) if assignments.len() != more => {
                let message = format!(
                    "Attempted to add {more} additional partition(s), but only {} assignment(s) were specified.",
                    assignments.len()
                );
                return refuse(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message);
            }
            Some(assignments) => {
                for replicas in assignments {
                    self.check_assignment(replicas)?;
                    if replicas.len() != factor {
                        let message = format!(
                            "The manual partition assignment includes a partition with {} replica(s), but this is not \
                             consistent with previous partitions, which have {factor} replica(s).",
                            replicas.len()
                        );
                        return refuse(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message);
                    }
                }
                assignments.to_vec()
            }
        };
        if !validate_only {
            let config = topic.config();
            let leadership = |replicas| Leadership::new(replicas, |node| self.is_up(node));
            let partition =
                |replicas| Arc::new(Partition::new(leadership(replicas), config.clone(), self.memory.clone()));
            topics.grow(&topic, replicas.iter().cloned().map(partition).collect());
            self.keep_partitions(&topic, current, &replicas);
        }
        Ok(())
    }

    /// Checks the replicas that somebody wants for a partition.
    fn check_assignment(&self, replicas: &[i32]) -> Result<(), Refusal> {
        let refuse = |message: String| Err(Refusal::new(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message));
        let mut sorted = replicas.to_vec();
        sorted.sort_unstable();
        if sorted.is_empty() {
            return refuse("The manual partition assignment includes an empty replica list.".to_owned());
        }
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return refuse(format!("The manual partition assignment includes the broker {} more than once.", twice[0]));
        }
        match sorted.iter().find(|node| self.node(**node).is_none()) {
            None => Ok(()),
            Some(node) => refuse(format!(
                "The manual partition assignment includes broker {node}, but no such broker is registered."
            )),
        }
    }

    /// Makes the preferred replica lead, or, when `unclean`, lets any replica lead that is up where none leads.
    ///
    /// # Errors
    /// As Kafka: there is no need to, or no replica can.
    pub(crate) fn elect_leader(&self, partition: &Partition, unclean: bool) -> Result<(), Refusal> {
        let not_needed =
            || Refusal::new(ErrorCode::ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.");
        partition.elect(|leadership| {
            if unclean {
                if leadership.leader != NO_LEADER {
                    return Err(not_needed());
                }
                return if leadership.lead_unclean(|node| self.is_up(node)) {
                    Ok(())
                } else {
                    let message = "Eligible topic partition leaders are not available.";
                    Err(Refusal::new(ErrorCode::ELIGIBLE_LEADERS_NOT_AVAILABLE, message))
                };
            }
            let preferred = leadership.replicas.first().copied().unwrap_or(NO_LEADER);
            if leadership.leader == preferred {
                return Err(not_needed());
            }
            let led = if self.is_up(preferred) { leadership.lead(preferred) } else { Err(ErrorCode::NONE) };
            led.map_err(|_| {
                Refusal::new(ErrorCode::PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader was not available.")
            })
        })
    }

    /// Gives a partition other replicas; they have its records at once.
    ///
    /// # Errors
    /// As Kafka: a node is unknown or listed twice, the number of replicas must not change. Also when all nodes are down.
    pub(crate) fn reassign(&self, partition: &Partition, replicas: &[i32], same_number: bool) -> Result<(), Refusal> {
        self.check_assignment(replicas)?;
        let before = partition.leadership().replicas.len();
        if same_number && before != replicas.len() {
            let message = format!("The replication factor is changed from {before} to {}", replicas.len());
            return Err(Refusal::new(ErrorCode::INVALID_REPLICATION_FACTOR, message));
        }
        if !replicas.iter().any(|node| self.is_up(*node)) {
            let message = "None of these brokers is up.";
            return Err(Refusal::new(ErrorCode::INVALID_REPLICA_ASSIGNMENT, message));
        }
        partition.elect(|leadership| leadership.reassign(replicas.to_vec(), |node| self.is_up(node)));
        Ok(())
    }
}

impl Topic {
    /// Whether a node has a replica of the partition.
    pub(crate) fn has_replica(&self, index: i32, node: i32) -> bool {
        self.partition(index).is_some_and(|partition| partition.leadership().replicas.contains(&node))
    }
}
