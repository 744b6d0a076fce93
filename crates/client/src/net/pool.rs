//! The open connections, one for each address.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use milena_transport::Address;
use tokio::time::{Instant, timeout_at};

use super::endpoint::Endpoint;
use super::handshake::dial;
use super::link::Link;
use crate::config::ClientConfig;
use crate::error::{ConnectCause, Error, Result};
use crate::timing::rounded;

/// Opens connections when they are needed, and again when they are gone.
#[derive(Debug)]
pub(crate) struct Pool {
    config: Arc<ClientConfig>,
    /// One slot for each address; its lock is held while the connection is opened, so that it is opened once.
    slots: Mutex<HashMap<Arc<str>, Slot>>,
}

type Slot = Arc<tokio::sync::Mutex<Option<Link>>>;

impl Pool {
    pub(crate) fn new(config: Arc<ClientConfig>) -> Self {
        Self { config, slots: Mutex::default() }
    }

    /// The connection to an address, opened when there is none.
    pub(crate) async fn link(&self, endpoint: &Endpoint, deadline: Instant) -> Result<Link> {
        let asked = Instant::now();
        timeout_at(deadline, self.open(endpoint)).await.unwrap_or_else(|_| {
            let cause = ConnectCause::Timeout(rounded(deadline.duration_since(asked)));
            Err(Error::Connect { address: Arc::clone(endpoint.address.text()), origin: endpoint.origin, cause })
        })
    }

    async fn open(&self, endpoint: &Endpoint) -> Result<Link> {
        let slot = self.slot(endpoint.address.text());
        let mut slot = slot.lock().await;
        if let Some(link) = slot.as_ref().filter(|link| link.is_open()) {
            return Ok(link.clone());
        }
        *slot = None;
        let link = dial(endpoint, &self.config).await?;
        Ok(slot.insert(link).clone())
    }

    fn slot(&self, address: &Arc<str>) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        if !slots.contains_key(address) {
            // Brokers come and go: their closed connections do not stay.
            slots.retain(|_, slot| Arc::strong_count(slot) > 1 || is_open(slot).is_some());
        }
        Arc::clone(slots.entry(Arc::clone(address)).or_default())
    }

    /// The connection to an address, if it is open.
    pub(crate) fn open_link(&self, address: &Address) -> Option<Link> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        is_open(slots.get(address.text())?)
    }
}

fn is_open(slot: &Slot) -> Option<Link> {
    slot.try_lock().ok()?.clone().filter(Link::is_open)
}
