//! Fetch sessions (KIP-227): a client lists its partitions once, and later requests and responses have only what changed.

mod cache;
mod session;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use milena_messages::fetch::response::PartitionData;
use milena_messages::{ByteString, ErrorCode, Uuid};

use self::cache::{SHARDS, Shard};
use self::session::Session;

/// No session.
const NONE: i32 = 0;
/// The epoch of a request that opens a session.
const INITIAL: i32 = 0;
/// The epoch of a request that closes its session, or wants none.
const FINAL: i32 = -1;
/// How many session ids each shard has.
const IDS_PER_SHARD: i32 = i32::MAX / SHARDS as i32;
/// Most partitions in the sessions of a node, which limits their memory. Kafka has no such limit.
const MAX_PARTITIONS: usize = 300_000;

/// A partition that a client reads, and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// `None` for an id that no topic has.
    pub(crate) topic: Option<ByteString>,
    /// Zero when the client named the topic.
    pub(crate) id: Uuid,
    pub(crate) partition: i32,
    pub(crate) offset: i64,
    pub(crate) max_bytes: i32,
    pub(crate) leader_epoch: i32,
    pub(crate) last_fetched_epoch: i32,
}

impl Wanted {
    /// Whether both are partitions of one topic.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        self.id == other.id && (!self.id.is_zero() || self.topic == other.topic)
    }
}

/// What a partition is known by in a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    Id(Uuid, i32),
    Name(ByteString, i32),
}

/// The session that a request names, and what it changes there.
#[derive(Debug)]
pub(crate) struct SessionRequest {
    pub(crate) id: i32,
    pub(crate) epoch: i32,
    /// Whether it names topics by id.
    pub(crate) by_id: bool,
    /// Whether a replica fetches, not a consumer.
    pub(crate) privileged: bool,
    pub(crate) wanted: Vec<Wanted>,
    pub(crate) forgotten: Vec<Key>,
}

/// What a request is a part of, until its response is made.
#[derive(Debug)]
pub(crate) enum FetchContext {
    Sessionless,
    /// It may open a session.
    Full {
        by_id: bool,
        privileged: bool,
    },
    Incremental {
        session: Arc<Mutex<Session>>,
        /// The epoch that the session has unless another request of it came in between.
        epoch: i32,
    },
}

/// The fetch sessions of a node.
#[derive(Debug)]
pub(crate) struct FetchSessions {
    shards: Vec<Mutex<Shard>>,
    next_shard: AtomicUsize,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl FetchSessions {
    /// At most so many sessions. Kafka divides them between eight shards, so that fewer than eight are none.
    pub(crate) fn new(slots: usize) -> Self {
        let shard = |number| Mutex::new(Shard::new(slots / SHARDS, MAX_PARTITIONS / SHARDS, number * IDS_PER_SHARD));
        Self { shards: (0..SHARDS as i32).map(shard).collect(), next_shard: AtomicUsize::new(0) }
    }

    /// What a request is a part of, and the partitions that it is about. `name_of` finds the names of ids.
    ///
    /// # Errors
    /// There is no such session, or the request does not fit it. UNKNOWN_SERVER_ERROR stands for an id that no session can
    /// have, which Kafka fails on.
    pub(crate) fn begin(
        &self,
        request: SessionRequest,
        name_of: impl Fn(Uuid) -> Option<ByteString>,
        now_ms: i64,
    ) -> Result<(FetchContext, Vec<Wanted>), ErrorCode> {
        let SessionRequest { id, epoch, by_id, privileged, wanted, forgotten } = request;
        if epoch == INITIAL || epoch == FINAL {
            if id != NONE {
                lock(self.shard_of(id)?).remove(id);
            }
            let context =
                if epoch == FINAL { FetchContext::Sessionless } else { FetchContext::Full { by_id, privileged } };
            return Ok((context, wanted));
        }
        let mut shard = lock(self.shard_of(id)?);
        let found = shard.get(id).ok_or(ErrorCode::FETCH_SESSION_ID_NOT_FOUND)?;
        let mut session = lock(&found);
        if session.epoch != epoch {
            return Err(ErrorCode::INVALID_FETCH_SESSION_EPOCH);
        }
        if session.by_id != by_id {
            return Err(ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR);
        }
        let listed = if session.len() > forgotten.len() { Vec::new() } else { wanted.clone() };
        session.update(wanted, &forgotten);
        if session.len() == 0 {
            drop(session);
            shard.remove(id);
            return Ok((FetchContext::Sessionless, listed));
        }
        if !shard.touch(id, session.len(), now_ms) {
            drop(session);
            shard.remove(id);
            return Err(ErrorCode::FETCH_SESSION_ID_NOT_FOUND);
        }
        session.next_epoch();
        let all = session.wanted(name_of);
        let epoch = session.epoch;
        drop(session);
        Ok((FetchContext::Incremental { session: found, epoch }, all))
    }

    /// Leaves out of a response what the client knows, or opens a session; gives the id of the session.
    ///
    /// # Errors
    /// Another request of the session came in between: its id, for a response without partitions.
    pub(crate) fn finish(
        &self,
        context: &FetchContext,
        response: &mut Vec<(Wanted, PartitionData)>,
        now_ms: i64,
    ) -> Result<i32, i32> {
        match context {
            FetchContext::Sessionless => Ok(NONE),
            FetchContext::Full { by_id, privileged } => {
                let number = self.next_shard.fetch_add(1, Ordering::Relaxed) % SHARDS;
                let session = || Session::new(*by_id, response.iter().map(|(wanted, data)| (wanted.clone(), data)));
                Ok(lock(&self.shards[number]).open(*privileged, response.len(), session, now_ms).unwrap_or(NONE))
            }
            FetchContext::Incremental { session, epoch } => {
                let mut session = lock(session);
                if session.epoch != *epoch {
                    return Err(session.id);
                }
                response.retain(|(wanted, data)| session.changed(wanted, data));
                Ok(session.id)
            }
        }
    }

    /// The id of the session for a response that was held back by a quota.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub(crate) fn throttled(context: &FetchContext) -> Result<i32, i32> {
        match context {
            FetchContext::Sessionless | FetchContext::Full { .. } => Ok(NONE),
            FetchContext::Incremental { session, epoch } => {
                let session = lock(session);
                if session.epoch == *epoch { Ok(session.id) } else { Err(session.id) }
            }
        }
    }

    /// The partitions of a session, by id or by name. Empty when there is none.
    pub(crate) fn members(&self, id: i32) -> Vec<Key> {
        let found = self.shard_of(id).ok().and_then(|shard| lock(shard).get(id));
        found.map_or_else(Vec::new, |session| lock(&session).keys())
    }

    /// The client of a session did not get the last response: the next one says again where each partition ends.
    pub(crate) fn unsent(&self, id: i32) {
        if let Some(session) = self.shard_of(id).ok().and_then(|shard| lock(shard).get(id)) {
            lock(&session).unsent();
        }
    }

    /// Forgets all sessions, as a broker does that stops.
    pub(crate) fn clear(&self) {
        self.shards.iter().for_each(|shard| lock(shard).clear());
    }

    fn shard_of(&self, id: i32) -> Result<&Mutex<Shard>, ErrorCode> {
        let number = usize::try_from(id / IDS_PER_SHARD).map_err(|_| ErrorCode::UNKNOWN_SERVER_ERROR)?;
        self.shards.get(number).ok_or(ErrorCode::UNKNOWN_SERVER_ERROR)
    }
}

#[cfg(test)]
mod tests;
