//! Random things that happen to a cluster.

use std::time::Duration;

use milena_broker::{BrokerCluster, Coordinated};
use milena_connection::fault::Random;

/// Faults that a real cluster has as well, so that clients have to cope with them.
const FAULTS: &[&str] = &[
    "produce@20%: error NOT_LEADER_OR_FOLLOWER",
    "produce@10%: cut",
    "produce@10%: cut after 10 bytes",
    "produce@3%: drop",
    "produce@10%: delay 300ms",
    "produce partition=1@30%: error NOT_ENOUGH_REPLICAS",
    "metadata@20%: error LEADER_NOT_AVAILABLE",
    "metadata@10%: cut",
    "findcoordinator@20%: error COORDINATOR_NOT_AVAILABLE",
    "initproducerid@20%: error COORDINATOR_LOAD_IN_PROGRESS",
    "initproducerid@10%: cut after 8 bytes",
    "addpartitionstotxn@20%: error CONCURRENT_TRANSACTIONS",
    "addpartitionstotxn@10%: cut after 8 bytes",
    "endtxn@20%: error NOT_COORDINATOR",
    "endtxn@10%: cut after 8 bytes",
    "endtxn@5%: cut",
    "*@2%: cut",
    "*@3%: throttle 100ms",
];
/// Faults at the same time.
const MOST_FAULTS: usize = 4;

/// Does random things to a cluster; the same seed does the same things.
pub(super) struct Monkey<'a> {
    cluster: &'a BrokerCluster,
    random: Random,
    partitions: i32,
    /// The node that is down or isolated. The others serve.
    away: Option<(i32, bool)>,
    pub(super) log: Vec<String>,
}

impl<'a> Monkey<'a> {
    pub(super) fn new(cluster: &'a BrokerCluster, seed: u64, partitions: i32) -> Self {
        Self { cluster, random: Random::seeded(seed), partitions, away: None, log: Vec::new() }
    }

    /// Does something, and says how long to leave the cluster alone.
    pub(super) async fn act(&mut self) -> Duration {
        let what = match self.below(100) {
            0..30 => self.move_leader(),
            30..45 => self.move_coordinator(),
            45..65 => self.node().await,
            65..85 if self.cluster.faults().all().len() < MOST_FAULTS => self.add_fault(),
            _ => {
                self.cluster.faults().clear();
                "clear faults".to_owned()
            }
        };
        self.log.push(what);
        Duration::from_millis(100 + self.below(700))
    }

    /// Ends all that goes wrong.
    pub(super) async fn heal(&mut self) {
        self.cluster.faults().clear();
        if self.away.is_some() {
            let what = self.node().await;
            self.log.push(what);
        }
    }

    fn move_leader(&mut self) -> String {
        let topic = ["plain", "tx"][self.below(2) as usize];
        let partition = self.below(self.partitions as u64) as i32;
        let node = self.any_node();
        let moved = self.cluster.move_leader(topic, partition, node);
        format!("leader of {topic}-{partition} to {node}{}", refused(moved))
    }

    fn move_coordinator(&mut self) -> String {
        let client = ["rdtx", "gotx", "javatx"][self.below(3) as usize];
        let id = format!("{client}-{}", 1 + 2 * self.below(8));
        let node = self.any_node();
        let moved = self.cluster.move_coordinator(Coordinated::Transaction(&id), node);
        format!("coordinator of {id} to {node}{}", refused(moved))
    }

    /// Takes a node away, or brings it back.
    async fn node(&mut self) -> String {
        if let Some((node, isolated)) = self.away.take() {
            return if isolated {
                format!("reconnect {node}{}", refused(self.cluster.reconnect_node(node).await))
            } else {
                format!("start {node}{}", refused(self.cluster.start_node(node).await))
            };
        }
        let node = self.any_node();
        let (isolated, what, done) = match self.below(3) {
            0 => (true, "isolate", self.cluster.isolate_node(node).await),
            1 => (false, "stop", self.cluster.stop_node(node).await),
            _ => (false, "kill", self.cluster.kill_node(node).await),
        };
        if done.is_ok() {
            self.away = Some((node, isolated));
        }
        format!("{what} {node}{}", refused(done))
    }

    fn add_fault(&mut self) -> String {
        let rule = FAULTS[self.below(FAULTS.len() as u64) as usize];
        format!("fault {rule}{}", refused(self.cluster.faults().add(rule).map(drop)))
    }

    fn any_node(&mut self) -> i32 {
        let nodes = self.cluster.node_ids();
        nodes[self.below(nodes.len() as u64) as usize]
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.random.next_u64() % limit
    }
}

fn refused(done: Result<(), milena_broker::BrokerError>) -> String {
    done.err().map_or(String::new(), |error| format!(": {error}"))
}

#[cfg(test)]
mod tests {
    use milena_broker::{Broker, BrokerConfig};

    use super::*;

    #[tokio::test]
    async fn every_fault_is_a_rule_that_can_fire() {
        let broker = Broker::start(BrokerConfig::default()).await.unwrap();
        for rule in FAULTS {
            broker.faults().add(rule).unwrap();
        }
    }
}
