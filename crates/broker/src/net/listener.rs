//! The socket that a node listens on: one task for it, one for each connection.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;

use crate::cluster::State;
use crate::cluster::node::Node;
use crate::handler::Client;
use crate::net::connection::{serve, stopped};

/// How long connections may finish their current request when the node stops.
const FAREWELL: Duration = Duration::from_secs(1);

/// Accepts connections until the node stops or was dropped.
pub(crate) async fn listen(
    listener: TcpListener,
    index: usize,
    state: Arc<State>,
    node: Arc<Node>,
    mut stop: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let mut silent = Silent::default();
    loop {
        tokio::select! {
            () = stopped(&mut stop) => break,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((socket, peer)) => {
                    if connections.len() >= state.config.max_connections && !silent.end_one() {
                        tracing::warn!(%peer, "connection refused: there are too many");
                        continue;
                    }
                    let spoke = Arc::new(AtomicBool::new(false));
                    // Responses are whole when they are written: holding back their last bytes would only delay them.
                    if let Err(error) = socket.set_nodelay(true) {
                        tracing::debug!(%peer, %error, "connection lost");
                        continue;
                    }
                    let here = (state.clone(), node.clone());
                    let task = connections.spawn(serve(socket, Client::anonymous(peer, index), here, stop.clone(), spoke.clone()));
                    silent.add(task, spoke);
                }
                Err(error) => {
                    // Such as no more file descriptors: it passes, but not within microseconds.
                    tracing::warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(50)).await;
                }
            },
        }
    }
    drop(listener);
    let all_gone = async { while connections.join_next().await.is_some() {} };
    // Those that are still there are aborted with the set.
    let _ = timeout(FAREWELL, all_gone).await;
}

/// Connections that have not sent a request, oldest first. They give way when there are too many.
#[derive(Default)]
struct Silent {
    list: VecDeque<(AbortHandle, Arc<AtomicBool>)>,
    prune_at: usize,
}

impl Silent {
    fn add(&mut self, task: AbortHandle, spoke: Arc<AtomicBool>) {
        if self.list.len() >= self.prune_at {
            self.list.retain(|(task, spoke)| !task.is_finished() && !spoke.load(Ordering::Relaxed));
            self.prune_at = 2 * self.list.len() + 8;
        }
        self.list.push_back((task, spoke));
    }

    /// Ends the oldest one; false when there is none.
    fn end_one(&mut self) -> bool {
        while let Some((task, spoke)) = self.list.pop_front() {
            if !task.is_finished() && !spoke.load(Ordering::Relaxed) {
                tracing::warn!("connection without a request closed: there are too many");
                task.abort();
                return true;
            }
        }
        false
    }
}
