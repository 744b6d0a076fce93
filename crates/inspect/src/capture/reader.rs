use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::net::SocketAddr;
use std::time::Duration;

use milena_messages::ErrorCode;

use super::facts::Connection;
use super::file::{CaptureError, Packet, Packets};
use super::packet::{self, Segment, Skipped};
use super::talk::{Common, Talk};
use crate::conversation::{Direction, Exchange};
use crate::part::Unreadable;

/// Packets of a connection that is over still come for a while. Later ones are of another with the same ports.
const LINGER: Duration = Duration::from_secs(60);

/// How to read a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureOptions {
    /// The port of brokers: connections with it are read as Kafka's, whatever they look like. Without it they are told by
    /// what they carry.
    pub port: Option<u16>,
    /// Most connections that are followed at a time; 100 000 by default. The one that was silent for longest is given up.
    pub connections: usize,
    /// Most bytes that are kept of all connections: segments out of order, frames that are not whole, requests without
    /// an answer. 512 MiB by default. What is above is given up, and named as missing.
    pub memory: usize,
}

impl Default for CaptureOptions {
    fn default() -> Self {
        Self { port: None, connections: 100_000, memory: 512 << 20 }
    }
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A request and its answer, as far as both passed.
    Exchange(Box<Captured>),
    /// Between two frames bytes are missing, or could not be told to be frames.
    Gap {
        /// Number of the connection.
        connection: u64,
        /// Who said it.
        direction: Direction,
        /// When reading went on.
        time: Duration,
        /// Bytes that passed and were not captured.
        missing: u64,
        /// Bytes that were captured and passed over, up to where a frame could be told.
        passed: u64,
        /// Nobody knows how many bytes are missing: the connection began before the capture, or anew.
        unknown: bool,
    },
    /// A connection is at its end, or the capture is.
    Closed(Box<Connection>),
}

/// An exchange with what was found in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Captured {
    /// Number of the connection, from 1 in the order of their first packets.
    pub connection: u64,
    /// Who asked.
    pub client: SocketAddr,
    /// Who was asked.
    pub broker: SocketAddr,
    /// The frames. Their time is that of the packet with their last byte.
    pub exchange: Exchange,
    /// The error codes of the answer that say that something failed, each once.
    pub errors: Vec<ErrorCode>,
    /// The topics that request and answer name, each once; by the name when an id stands there and the capture has an
    /// answer to Metadata that tells it.
    pub topics: Vec<String>,
    /// The frames that cannot be read, and why. Tokens of SASL and frames in which the connection ended are none of them.
    pub unread: Vec<(Direction, Unreadable)>,
}

/// What was in the file beside exchanges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureStatistics {
    /// Packets.
    pub packets: u64,
    /// Those that are of no use, by the reason.
    pub skipped: BTreeMap<Skipped, u64>,
    /// Connections of TCP.
    pub connections: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Whether the file ended inside of a packet.
    pub cut_off: bool,
}

/// The exchanges in a capture, in the order in which they were complete.
#[derive(Debug)]
pub struct Capture<R> {
    packets: Packets<R>,
    followed: Followed,
    done: bool,
}

#[derive(Debug)]
struct Followed {
    options: CaptureOptions,
    table: HashMap<[SocketAddr; 2], Entry>,
    common: Common,
    /// Bytes that are kept for all connections.
    held: usize,
    statistics: CaptureStatistics,
}

#[derive(Debug)]
enum Entry {
    Talk(Box<Talk>),
    /// It ended then.
    Over(Duration),
}

impl Entry {
    fn last(&self) -> (bool, Duration) {
        match self {
            Self::Over(time) => (false, *time),
            Self::Talk(talk) => (true, talk.last()),
        }
    }
}

impl<R: Read> Capture<R> {
    /// Reads what stands in front of the packets.
    ///
    /// # Errors
    /// It is no pcap or pcapng file, or cannot be read.
    pub fn new(input: R, options: CaptureOptions) -> Result<Self, CaptureError> {
        let followed = Followed {
            options,
            table: HashMap::new(),
            common: Common::default(),
            held: 0,
            statistics: CaptureStatistics::default(),
        };
        Ok(Self { packets: Packets::new(input)?, followed, done: false })
    }

    /// What was in the file so far.
    pub fn statistics(&self) -> CaptureStatistics {
        CaptureStatistics {
            bytes: self.packets.position(),
            cut_off: self.packets.cut_off(),
            ..self.followed.statistics.clone()
        }
    }
}

/// After an error there is nothing more; what was read before it comes first.
impl<R: Read> Iterator for Capture<R> {
    type Item = Result<Event, CaptureError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(event) = self.followed.common.events.pop_front() {
                return Some(Ok(event));
            }
            if self.done {
                return None;
            }
            let failed = match self.packets.next() {
                Ok(Some(packet)) => {
                    self.followed.packet(&packet);
                    continue;
                }
                Ok(None) => None,
                Err(error) => Some(Err(error)),
            };
            self.done = true;
            self.followed.finish();
            if failed.is_some() {
                return failed;
            }
        }
    }
}

impl Followed {
    fn packet(&mut self, packet: &Packet<'_>) {
        self.statistics.packets += 1;
        match packet::segment(packet) {
            Ok(segment) => self.segment(&segment, packet.time),
            Err(why) => *self.statistics.skipped.entry(why).or_default() += 1,
        }
    }

    fn segment(&mut self, segment: &Segment<'_>, time: Duration) {
        let mut key = [segment.from, segment.to];
        key.sort_unstable();
        let talk = match self.table.get_mut(&key) {
            Some(Entry::Talk(talk)) if !talk.is_another(segment) => talk,
            before => {
                let wanted = match before {
                    Some(Entry::Talk(_)) => true,
                    // A new one, or the last of one that is over.
                    Some(Entry::Over(end)) => segment.syn || (segment.length > 0 && time.saturating_sub(*end) > LINGER),
                    None => segment.syn || segment.length > 0,
                };
                if !wanted {
                    return;
                }
                self.close(key, None);
                if self.table.len() >= self.options.connections.max(1) {
                    self.make_room();
                }
                self.statistics.connections += 1;
                let talk = Talk::new(self.statistics.connections, segment, time, self.options.port);
                let entry = self.table.entry(key).insert_entry(Entry::Talk(Box::new(talk))).into_mut();
                let Entry::Talk(talk) = entry else { return };
                talk
            }
        };
        let before = talk.held();
        talk.segment(segment, time, &mut self.common);
        if self.held + talk.held() - before > self.options.memory && talk.held() > before {
            talk.shed(&mut self.common);
        }
        self.held = self.held + talk.held() - before;
        if talk.is_over() {
            self.close(key, Some(time));
        }
    }

    /// Ends a connection; leaves a mark where one that is over may still have packets to come.
    fn close(&mut self, key: [SocketAddr; 2], over: Option<Duration>) {
        let before = match over {
            Some(time) => self.table.insert(key, Entry::Over(time)),
            None => self.table.remove(&key),
        };
        if let Some(Entry::Talk(talk)) = before {
            self.held -= talk.held();
            talk.finish(&mut self.common);
        }
    }

    /// Gives up a quarter of the connections: marks first, then those that were silent for longest.
    fn make_room(&mut self) {
        let mut by_age: Vec<_> = self.table.iter().map(|(key, entry)| (entry.last(), *key)).collect();
        by_age.sort_unstable();
        by_age.truncate(by_age.len().div_ceil(4));
        for (_, key) in by_age {
            self.close(key, None);
        }
    }

    fn finish(&mut self) {
        let mut talks: Vec<_> = self
            .table
            .drain()
            .filter_map(|(_, entry)| match entry {
                Entry::Talk(talk) => Some(talk),
                Entry::Over(_) => None,
            })
            .collect();
        talks.sort_unstable_by_key(|talk| talk.number());
        for talk in talks {
            talk.finish(&mut self.common);
        }
        self.held = 0;
    }
}
