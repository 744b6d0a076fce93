//! Nodes of a cluster come, go and are cut off.

use std::sync::Arc;

use crate::cluster::node::Node;
use crate::cluster::running::{BrokerCluster, ended};
use crate::error::BrokerError;
use crate::net::sockets::Sockets;

impl BrokerCluster {
    /// Adds a node with the next id; gives the id.
    ///
    /// # Errors
    /// The node cannot listen on its address.
    pub async fn add_node(&self) -> Result<i32, BrokerError> {
        let _changing = self.changes.lock().await;
        let place = self.state.nodes().len();
        let broker = &self.config.broker;
        let id = broker.node_id + place as i32;
        let sockets = Sockets::open(broker, place, &[]).await?;
        let rack = self.config.racks.get(place).or(broker.rack.as_ref());
        let rack = rack.map(|rack| (&**rack).into());
        let node = Arc::new(Node::new(id, rack, sockets.endpoints(), broker.max_fetch_sessions));
        self.state.add_node(node.clone());
        self.listen(node, sockets);
        Ok(id)
    }

    /// Stops a node as an operator does: its partitions get other leaders, connections may finish their request for a
    /// second.
    ///
    /// # Errors
    /// There is no such node, or it is not up.
    pub async fn stop_node(&self, node: i32) -> Result<(), BrokerError> {
        let _changing = self.changes.lock().await;
        let mut up = self.take(node)?;
        self.state.node_down(node);
        up.stop.send_replace(true);
        ended(&mut up.tasks).await;
        Ok(())
    }

    /// Kills a node: all its connections are cut at once, and its partitions get other leaders.
    ///
    /// # Errors
    /// There is no such node, or it is not up.
    pub async fn kill_node(&self, node: i32) -> Result<(), BrokerError> {
        let _changing = self.changes.lock().await;
        let mut up = self.take(node)?;
        up.tasks.shutdown().await;
        self.state.node_down(node);
        Ok(())
    }

    /// Starts a node again that was stopped or killed, at the same address.
    ///
    /// # Errors
    /// There is no such node, it is up, or it cannot listen on its address any more.
    pub async fn start_node(&self, node: i32) -> Result<(), BrokerError> {
        let _changing = self.changes.lock().await;
        let found = self.state.node(node).ok_or_else(|| self.not_up(node))?;
        if self.address(node).is_some() {
            let reason = if found.is_isolated() { "it is isolated" } else { "it is up" };
            return Err(BrokerError::Node { node, reason });
        }
        let place = (node - self.config.broker.node_id) as usize;
        let sockets = Sockets::open(&self.config.broker, place, found.ports()).await?;
        self.state.node_up(node);
        self.listen(found, sockets);
        Ok(())
    }

    /// Isolates a node, as a network does that loses every packet from and to it: its connections stay open and carry nothing,
    /// new ones get no response, and its partitions get other leaders. [`reconnect_node`](Self::reconnect_node) ends this.
    ///
    /// # Errors
    /// There is no such node, it is not up, or it is isolated already.
    pub async fn isolate_node(&self, node: i32) -> Result<(), BrokerError> {
        let _changing = self.changes.lock().await;
        let found = self.running(node)?;
        if found.is_isolated() {
            return Err(BrokerError::Node { node, reason: "it is isolated" });
        }
        found.set_isolated(true);
        self.state.node_down(node);
        Ok(())
    }

    /// Connects an isolated node again. Requests that waited on its connections are handled now: it learned meanwhile that
    /// others lead its partitions.
    ///
    /// # Errors
    /// There is no such node, it is not up, or it is not isolated.
    pub async fn reconnect_node(&self, node: i32) -> Result<(), BrokerError> {
        let _changing = self.changes.lock().await;
        let found = self.running(node)?;
        if !found.is_isolated() {
            return Err(BrokerError::Node { node, reason: "it is not isolated" });
        }
        self.state.node_up(node);
        found.set_isolated(false);
        Ok(())
    }
}
