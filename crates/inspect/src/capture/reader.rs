use std::collections::{BTreeMap, HashMap};
use std::io::Read;
use std::net::SocketAddr;
use std::time::Duration;

use super::event::CaptureEvent;
use super::file::{CaptureError, Packet, Packets};
use super::flow::{Common, Flow};
use super::packet::{self, Segment, SkippedPackets};

/// Packets of a connection that is over still come for a while. Later ones are of another with the same ports.
const LINGER: Duration = Duration::from_secs(60);

/// How to read a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureOptions {
    /// The port of brokers: only connections with it are looked at, and they are read as Kafka's whatever they look like.
    /// Without it all are, and what they carry says which are Kafka's.
    pub port: Option<u16>,
    /// Most connections that are followed at a time; 100 000 by default. The one that was silent for longest is given up.
    pub connections: usize,
    /// Most bytes that are kept of all connections: segments out of order, frames that are not whole, requests without
    /// a response. 512 MiB by default. What is above is given up, and named as missing.
    pub memory: usize,
}

impl Default for CaptureOptions {
    fn default() -> Self {
        Self { port: None, connections: 100_000, memory: 512 << 20 }
    }
}

/// What was in the file beside exchanges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaptureStatistics {
    /// Packets.
    pub packets: u64,
    /// Those that could not be used, by the reason.
    pub skipped: BTreeMap<SkippedPackets, u64>,
    /// Connections of TCP.
    pub connections: u64,
    /// Packets of connections to other ports than the one that was asked for.
    pub other_ports: u64,
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
    Open(Box<Flow>),
    /// It ended then.
    Over(Duration),
}

impl Entry {
    fn last(&self) -> (bool, Duration) {
        match self {
            Self::Over(time) => (false, *time),
            Self::Open(flow) => (true, flow.last()),
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
    type Item = Result<CaptureEvent, CaptureError>;

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
        if self.options.port.is_some_and(|port| segment.from.port() != port && segment.to.port() != port) {
            self.statistics.other_ports += 1;
            return;
        }
        let mut key = [segment.from, segment.to];
        key.sort_unstable();
        let flow = match self.table.get_mut(&key) {
            Some(Entry::Open(flow)) if !flow.is_another(segment) => flow,
            before => {
                let wanted = match before {
                    Some(Entry::Open(_)) => true,
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
                let flow = Flow::new(self.statistics.connections, segment, time, self.options.port);
                let entry = self.table.entry(key).insert_entry(Entry::Open(Box::new(flow))).into_mut();
                let Entry::Open(flow) = entry else { return };
                flow
            }
        };
        let before = flow.held();
        flow.segment(segment, time, &mut self.common);
        if self.held + flow.held() - before > self.options.memory && flow.held() > before {
            flow.shed(&mut self.common);
        }
        self.held = self.held + flow.held() - before;
        if flow.is_over() {
            self.close(key, Some(time));
        }
    }

    /// Ends a connection; leaves a mark where one that is over may still have packets to come.
    fn close(&mut self, key: [SocketAddr; 2], over: Option<Duration>) {
        let before = match over {
            Some(time) => self.table.insert(key, Entry::Over(time)),
            None => self.table.remove(&key),
        };
        if let Some(Entry::Open(flow)) = before {
            self.held -= flow.held();
            flow.finish(&mut self.common);
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
        let mut flows: Vec<_> = self
            .table
            .drain()
            .filter_map(|(_, entry)| match entry {
                Entry::Open(flow) => Some(flow),
                Entry::Over(_) => None,
            })
            .collect();
        flows.sort_unstable_by_key(|flow| flow.number());
        for flow in flows {
            flow.finish(&mut self.common);
        }
        self.held = 0;
    }
}
