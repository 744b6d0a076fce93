//! Share sessions: which partitions a member reads from a node. A session has an epoch, so that no request is handled twice,
//! and ends with the connection of its member.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use milena_messages::{ErrorCode, Uuid};

/// The epoch that opens a session.
pub(crate) const INITIAL: i32 = 0;
/// The epoch that closes a session.
pub(crate) const FINAL: i32 = -1;
/// Kafka's default of `group.share.max.share.sessions`, for each node.
const MAX_SESSIONS: usize = 2000;
/// Most partitions of all sessions together, which Kafka does not limit.
const MAX_PLACES: usize = 1_000_000;

/// A partition of a topic.
pub(crate) type Place = (Uuid, i32);

/// Names a session: the node, the group and the member.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SessionKey {
    pub(crate) node: i32,
    pub(crate) group: String,
    pub(crate) member: String,
}

/// What a request may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Opened {
    /// The session ends; nothing is read.
    Final,
    /// These partitions.
    Places(Vec<Place>),
}

#[derive(Debug, Default)]
struct Session {
    epoch: i32,
    /// The number of the connection that opened it.
    connection: u64,
    next: u64,
    /// In the order in which they are read.
    order: BTreeMap<u64, Place>,
    /// The number of each, and whether the next response names it in any case.
    places: HashMap<Place, (u64, bool)>,
}

impl Session {
    fn add(&mut self, place: Place, must_respond: bool) {
        if !self.places.contains_key(&place) {
            self.places.insert(place, (self.next, must_respond));
            self.order.insert(self.next, place);
            self.next += 1;
        }
    }

    fn remove(&mut self, place: Place) {
        if let Some((number, _)) = self.places.remove(&place) {
            self.order.remove(&number);
        }
    }
}

/// The sessions of all nodes.
#[derive(Debug, Default)]
pub(crate) struct ShareSessions {
    sessions: Mutex<BTreeMap<SessionKey, Session>>,
    /// For each connection, the node and the group for which it opened a session last. That session may be closed.
    connections: Mutex<HashMap<u64, (i32, String)>>,
}

/// What is left of a connection that ended.
#[derive(Debug, Default)]
pub(crate) struct Left {
    /// Its sessions, with what they read.
    pub(crate) sessions: Vec<(SessionKey, Vec<Place>)>,
    /// Nodes and groups that have no session any more.
    pub(crate) empty: BTreeSet<(i32, String)>,
}

fn next_epoch(epoch: i32) -> i32 {
    if epoch == i32::MAX { 1 } else { epoch + 1 }
}

impl ShareSessions {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<SessionKey, Session>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a session, goes on with one, or checks that there is one to close. `acknowledges`: the request has verdicts.
    ///
    /// # Errors
    /// There is no such session, or it is at another epoch; there are too many; a new session has nothing to acknowledge.
    pub(crate) fn open(
        &self,
        key: &SessionKey,
        epoch: i32,
        (added, forgotten): (&[Place], &[Place]),
        acknowledges: bool,
        connection: u64,
    ) -> Result<Opened, ErrorCode> {
        let mut sessions = self.lock();
        match epoch {
            FINAL if sessions.contains_key(key) => return Ok(Opened::Final),
            FINAL => return Err(ErrorCode::SHARE_SESSION_NOT_FOUND),
            INITIAL if acknowledges => return Err(ErrorCode::INVALID_REQUEST),
            INITIAL => {
                sessions.remove(key);
                let mut session = Session { epoch: 1, connection, ..Session::default() };
                added.iter().for_each(|place| session.add(*place, false));
                let of_node = sessions.keys().filter(|other| other.node == key.node).count();
                let places: usize = sessions.values().map(|session| session.places.len()).sum();
                if of_node >= MAX_SESSIONS || places + session.places.len() > MAX_PLACES {
                    return Err(ErrorCode::SHARE_SESSION_LIMIT_REACHED);
                }
                let all = session.order.values().copied().collect();
                sessions.insert(key.clone(), session);
                let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
                connections.insert(connection, (key.node, key.group.clone()));
                return Ok(Opened::Places(all));
            }
            _ => {}
        }
        let places: usize = sessions.values().map(|session| session.places.len()).sum();
        let session = sessions.get_mut(key).ok_or(ErrorCode::SHARE_SESSION_NOT_FOUND)?;
        if session.epoch != epoch {
            return Err(ErrorCode::INVALID_SHARE_SESSION_EPOCH);
        }
        if places + added.len() > MAX_PLACES {
            return Err(ErrorCode::SHARE_SESSION_LIMIT_REACHED);
        }
        added.iter().for_each(|place| session.add(*place, true));
        forgotten.iter().for_each(|place| session.remove(*place));
        session.epoch = next_epoch(epoch);
        Ok(Opened::Places(session.order.values().copied().collect()))
    }

    /// Checks that a member that only acknowledges has a session at this epoch, which moves on.
    ///
    /// # Errors
    /// There is no such session, or it is at another epoch; acknowledgements open none.
    pub(crate) fn acknowledge(&self, key: &SessionKey, epoch: i32) -> Result<(), ErrorCode> {
        if epoch == INITIAL {
            return Err(ErrorCode::INVALID_SHARE_SESSION_EPOCH);
        }
        let mut sessions = self.lock();
        let session = sessions.get_mut(key).ok_or(ErrorCode::SHARE_SESSION_NOT_FOUND)?;
        if epoch == FINAL {
            return Ok(());
        }
        if session.epoch != epoch {
            return Err(ErrorCode::INVALID_SHARE_SESSION_EPOCH);
        }
        session.epoch = next_epoch(epoch);
        Ok(())
    }

    /// Whether a response names the partition: when it has records or an error, or after it was added or had an error.
    /// A partition with records is read last the next time.
    pub(crate) fn must_respond(&self, key: &SessionKey, place: Place, has_records: bool, has_error: bool) -> bool {
        let mut sessions = self.lock();
        let Some(session) = sessions.get_mut(key) else { return true };
        let Some((number, must)) = session.places.get_mut(&place) else { return true };
        let responds = has_records || has_error || *must;
        *must = has_error;
        if has_records {
            session.order.remove(number);
            *number = session.next;
            session.order.insert(session.next, place);
            session.next += 1;
        }
        responds
    }

    /// Ends a session; gives what it read, or `None` when there is none.
    pub(crate) fn close(&self, key: &SessionKey) -> Option<Vec<Place>> {
        self.lock().remove(key).map(|session| session.order.into_values().collect())
    }

    /// Ends the sessions of a connection that has ended.
    pub(crate) fn disconnected(&self, connection: u64) -> Left {
        let mut sessions = self.lock();
        let mut left = Left::default();
        let mut connections = self.connections.lock().unwrap_or_else(PoisonError::into_inner);
        left.empty.extend(connections.remove(&connection));
        drop(connections);
        let of_it = sessions.iter().filter(|(_, session)| session.connection == connection);
        let keys: Vec<SessionKey> = of_it.map(|(key, _)| key.clone()).collect();
        for key in keys {
            if let Some(session) = sessions.remove(&key) {
                left.empty.insert((key.node, key.group.clone()));
                left.sessions.push((key, session.order.into_values().collect()));
            }
        }
        left.empty.retain(|(node, group)| !sessions.keys().any(|key| key.node == *node && key.group == *group));
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: Uuid = Uuid::from_bytes([1; 16]);

    fn key(member: &str) -> SessionKey {
        SessionKey { node: 1, group: "g".into(), member: member.into() }
    }

    /// The codes are those of Kafka 4.4.
    #[test]
    fn each_request_moves_the_epoch() {
        let sessions = ShareSessions::default();
        let open =
            |epoch, added: &[Place], acknowledges| sessions.open(&key("m"), epoch, (added, &[]), acknowledges, 1);
        assert_eq!(open(1, &[], false), Err(ErrorCode::SHARE_SESSION_NOT_FOUND));
        assert_eq!(open(FINAL, &[], false), Err(ErrorCode::SHARE_SESSION_NOT_FOUND));
        assert_eq!(open(INITIAL, &[], true), Err(ErrorCode::INVALID_REQUEST));
        assert_eq!(sessions.acknowledge(&key("m"), 1), Err(ErrorCode::SHARE_SESSION_NOT_FOUND));
        assert_eq!(sessions.acknowledge(&key("m"), INITIAL), Err(ErrorCode::INVALID_SHARE_SESSION_EPOCH));
        assert_eq!(open(INITIAL, &[(T, 0)], false), Ok(Opened::Places(vec![(T, 0)])));
        assert_eq!(open(2, &[], false), Err(ErrorCode::INVALID_SHARE_SESSION_EPOCH));
        assert_eq!(open(1, &[(T, 1)], false), Ok(Opened::Places(vec![(T, 0), (T, 1)])));
        assert_eq!(open(1, &[], false), Err(ErrorCode::INVALID_SHARE_SESSION_EPOCH));
        assert_eq!(sessions.acknowledge(&key("m"), 2), Ok(()));
        assert_eq!(open(3, &[], false), Ok(Opened::Places(vec![(T, 0), (T, 1)])));
        assert_eq!(open(FINAL, &[], true), Ok(Opened::Final));
        assert_eq!(sessions.close(&key("m")), Some(vec![(T, 0), (T, 1)]));
        assert_eq!(sessions.close(&key("m")), None);
        assert_eq!([next_epoch(1), next_epoch(i32::MAX)], [2, 1]);
    }

    #[test]
    fn a_partition_is_named_when_there_is_something_to_say() {
        let sessions = ShareSessions::default();
        sessions.open(&key("m"), INITIAL, (&[(T, 0)], &[]), false, 1).unwrap();
        assert!(!sessions.must_respond(&key("m"), (T, 0), false, false));
        assert!(sessions.must_respond(&key("m"), (T, 0), false, true));
        assert!(sessions.must_respond(&key("m"), (T, 0), false, false), "the error is gone");
        assert!(!sessions.must_respond(&key("m"), (T, 0), false, false));
        sessions.open(&key("m"), 1, (&[(T, 1)], &[]), false, 1).unwrap();
        assert!(sessions.must_respond(&key("m"), (T, 1), false, false), "it is new");
        assert!(sessions.must_respond(&key("m"), (T, 0), true, false));
        let opened = sessions.open(&key("m"), 2, (&[], &[]), false, 1);
        assert_eq!(opened, Ok(Opened::Places(vec![(T, 1), (T, 0)])), "what had records is read last");
    }

    #[test]
    fn a_connection_takes_its_sessions_along() {
        let sessions = ShareSessions::default();
        for (member, connection) in [("a", 1), ("b", 2)] {
            sessions.open(&key(member), INITIAL, (&[(T, 0)], &[]), false, connection).unwrap();
        }
        let left = sessions.disconnected(1);
        assert_eq!(left.sessions, [(key("a"), vec![(T, 0)])]);
        assert!(left.empty.is_empty());
        assert!(sessions.close(&key("b")).is_some());
        let left = sessions.disconnected(2);
        assert_eq!((left.sessions.len(), left.empty), (0, [(1, "g".to_owned())].into()));
    }

    #[test]
    fn a_node_has_2000_sessions_at_most() {
        let sessions = ShareSessions::default();
        let open = |number: usize| sessions.open(&key(&number.to_string()), INITIAL, (&[], &[]), false, 1);
        (0..2000).for_each(|number| assert!(open(number).is_ok()));
        assert_eq!(open(2000), Err(ErrorCode::SHARE_SESSION_LIMIT_REACHED));
        assert!(open(7).is_ok(), "a session takes its own place");
    }
}
