//! One TCP connection: what both sides say, from segments to exchanges.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use milena_connection::DEFAULT_MAX_FRAME;

use super::facts::{Connection, Protocol, Topics};
use super::framer::{Framer, Lost, Sink};
use super::packet::Segment;
use super::reader::{Captured, Event};
use super::recognise::{self, Verdict};
use super::stream::{Moment, Piece, Stream};
use crate::conversation::{Bounds, Conversation, Direction, Exchange, Remark};

/// What one connection may keep; the reader bounds what all of them do.
const BOUNDS: Bounds = Bounds { requests: 1000, bytes: DEFAULT_MAX_FRAME };

/// Requests whose answers are looked for in bytes of unknown meaning.
const MAX_AWAITED: usize = 64;

/// What was found, and what is known of all connections together.
#[derive(Debug, Default)]
pub(super) struct Common {
    pub(super) events: VecDeque<Event>,
    pub(super) topics: Topics,
}

/// A connection. Its sides are told by number: 0 is the one whose packet came first.
#[derive(Debug)]
pub(super) struct Talk {
    ends: [SocketAddr; 2],
    packets: u64,
    streams: [Stream; 2],
    framers: [Framer; 2],
    /// Whether each side has sent all that it will.
    ended: [bool; 2],
    /// Whether one side has cut it off.
    reset: bool,
    mouth: Mouth,
}

/// What is said, beside the bytes.
#[derive(Debug)]
struct Mouth {
    facts: Connection,
    conversation: Conversation,
    /// The side of the client, where it is known.
    client: Option<usize>,
    /// The start of what the client says, until it is known what it is.
    opening: Vec<u8>,
    /// Bytes of each side that passed before anything was known.
    lost: [Lost; 2],
    time: Duration,
    /// Nothing more will be said.
    ending: bool,
    /// Each side that stopped in the middle of a frame.
    unfinished: [bool; 2],
}

impl Talk {
    /// `port` is that of brokers, if somebody said so.
    pub(super) fn new(number: u64, segment: &Segment<'_>, time: Duration, port: Option<u16>) -> Self {
        let ends = [segment.from, segment.to];
        let told = port.and_then(|port| [1, 0].into_iter().find(|side| ends[*side].port() == port));
        let mut mouth = Mouth {
            facts: Connection::new(number, ends[0], ends[1], time),
            conversation: Conversation::with_bounds(BOUNDS),
            client: told.map(|broker| 1 - broker),
            opening: Vec::new(),
            lost: [Lost::default(); 2],
            time,
            ending: false,
            unfinished: [false; 2],
        };
        if told.is_some() {
            mouth.facts.protocol = Protocol::Kafka;
        }
        Self {
            ends,
            packets: 0,
            streams: Default::default(),
            framers: Default::default(),
            ended: [false; 2],
            reset: false,
            mouth,
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.mouth.facts.number
    }

    /// Whether both sides are done, and nothing is missing that may still come.
    pub(super) fn is_over(&self) -> bool {
        self.reset || (self.ended == [true; 2] && self.streams.iter().all(|stream| stream.held() == 0))
    }

    pub(super) fn last(&self) -> Duration {
        self.mouth.facts.last
    }

    /// Bytes that it keeps.
    pub(super) fn held(&self) -> usize {
        let sides = self.streams.iter().map(Stream::held).chain(self.framers.iter().map(Framer::held));
        sides.sum::<usize>() + self.mouth.conversation.held() + self.mouth.opening.len()
    }

    /// Whether a segment is the first of another connection with the same ends.
    pub(super) fn is_another(&self, segment: &Segment<'_>) -> bool {
        segment.syn && segment.ack.is_none() && (self.is_over() || self.streams.iter().any(|stream| stream.at() > 0))
    }

    pub(super) fn segment(&mut self, segment: &Segment<'_>, time: Duration, common: &mut Common) {
        let side = usize::from(segment.from != self.ends[0]);
        self.packets += 1;
        self.mouth.time = time;
        self.mouth.facts.last = self.mouth.facts.last.max(time);
        let now = Moment { packet: self.packets, time };
        if segment.syn {
            self.begin(side, segment);
        }
        if let Some(ack) = segment.ack {
            self.streams[1 - side].acknowledged(ack);
            self.settle(1 - side, now, common);
        }
        if segment.length > 0 {
            let seq = segment.seq.wrapping_add(u32::from(segment.syn));
            let Self { streams, framers, mouth, .. } = self;
            streams[side].push(seq, segment.payload, segment.length, now, &mut |piece| {
                mouth.hear(side, piece, framers, common);
            });
        }
        self.ended[side] |= segment.fin;
        self.reset |= segment.rst;
    }

    fn begin(&mut self, side: usize, segment: &Segment<'_>) {
        if self.streams[side].is_begun() {
            return;
        }
        self.streams[side].begin(segment.seq.wrapping_add(1));
        self.framers[side].begin();
        let client = if segment.ack.is_none() { side } else { 1 - side };
        if self.mouth.facts.protocol == Protocol::Unknown {
            self.mouth.client = Some(client);
        }
        self.mouth.facts.from_start = true;
    }

    fn settle(&mut self, side: usize, now: Moment, common: &mut Common) {
        let Self { streams, framers, mouth, .. } = self;
        streams[side].settle(now, &mut |piece| mouth.hear(side, piece, framers, common));
    }

    /// Gives up what it keeps, to make room.
    pub(super) fn shed(&mut self, common: &mut Common) {
        let Self { streams, framers, mouth, .. } = self;
        for side in [0, 1] {
            streams[side].flush(&mut |piece| mouth.hear(side, piece, framers, common));
            framers[side].shed();
        }
        for exchange in mouth.conversation.finish() {
            mouth.tell(exchange, common);
        }
    }

    /// Nothing more will come.
    pub(super) fn finish(mut self, common: &mut Common) {
        let Self { streams, framers, mouth, .. } = &mut self;
        for side in [0, 1] {
            streams[side].flush(&mut |piece| mouth.hear(side, piece, framers, common));
        }
        mouth.ending = true;
        for side in [0, 1] {
            if mouth.facts.protocol == Protocol::Kafka {
                framers[side].finish(&mut Ear { mouth, common, side });
            }
        }
        let mut waiting = mouth.conversation.finish();
        if let Some(last) = waiting.last_mut().filter(|_| mouth.client.is_some_and(|side| mouth.unfinished[side])) {
            last.remarks.push(Remark::Unfinished);
        }
        for exchange in waiting {
            mouth.tell(exchange, common);
        }
        for side in [0, 1] {
            mouth.account(mouth.lost[side]);
        }
        mouth.facts.passed += mouth.opening.len() as u64;
        let mut facts = self.mouth.facts;
        if self.mouth.client == Some(1) {
            std::mem::swap(&mut facts.client, &mut facts.broker);
        }
        common.events.push_back(Event::Closed(Box::new(facts)));
    }
}

impl Mouth {
    /// Takes what a side says next.
    fn hear(&mut self, side: usize, piece: Piece<'_>, framers: &mut [Framer; 2], common: &mut Common) {
        if self.facts.protocol == Protocol::Kafka {
            return framers[side].take(piece, &mut Ear { mouth: self, common, side });
        }
        match piece {
            Piece::Hole(size) => {
                self.lost[side].missing += size;
                self.unsure(framers);
            }
            Piece::Break => {
                self.lost[side].unknown = true;
                self.unsure(framers);
            }
            Piece::Data(bytes) => match self.facts.protocol {
                Protocol::Unknown if self.opened(side) => self.open(side, bytes, framers, common),
                Protocol::Unknown => self.guess(side, bytes, framers, common),
                _ => self.lost[side].passed += bytes.len() as u64,
            },
        }
    }

    /// Whether all that this side said is there, and it is known to be the client.
    fn opened(&self, side: usize) -> bool {
        self.facts.from_start && self.client == Some(side)
    }

    /// Something is missing, so that what comes cannot be taken for the start.
    fn unsure(&mut self, framers: &mut [Framer; 2]) {
        self.client = None;
        *framers = Default::default();
        if let Some(client) = self.lost.first_mut() {
            client.passed += std::mem::take(&mut self.opening).len() as u64;
        }
    }

    /// The client speaks, and what it said so far is in `opening`.
    fn open(&mut self, side: usize, bytes: &[u8], framers: &mut [Framer; 2], common: &mut Common) {
        self.opening.extend_from_slice(bytes);
        if let Some(foreign) = recognise::foreign(&self.opening) {
            return self.is(Protocol::Foreign(foreign), side);
        }
        match recognise::opening(&self.opening) {
            Verdict::Short => {}
            Verdict::Request => self.kafka(side, framers, common),
            // The first token of GSSAPI, as Kafka 0.9 takes it.
            Verdict::Not if self.opening.get(4) == Some(&0x60) && self.opening.first() == Some(&0) => {
                self.kafka(side, framers, common);
            }
            Verdict::Not => {
                self.lost[side].passed += std::mem::take(&mut self.opening).len() as u64;
                self.client = None;
                *framers = Default::default();
            }
        }
    }

    fn kafka(&mut self, side: usize, framers: &mut [Framer; 2], common: &mut Common) {
        self.facts.protocol = Protocol::Kafka;
        self.client = Some(side);
        for side in [0, 1] {
            self.report(side, common);
        }
        let opening = std::mem::take(&mut self.opening);
        framers[side].take(Piece::Data(&opening), &mut Ear { mouth: self, common, side });
    }

    /// A side speaks of which it is not known who it is, and where it is in what it says.
    fn guess(&mut self, side: usize, bytes: &[u8], framers: &mut [Framer; 2], common: &mut Common) {
        if let Some(foreign) = recognise::foreign(bytes) {
            return self.is(Protocol::Foreign(foreign), side);
        }
        if recognise::request(bytes) != Verdict::Request {
            // A broker does not speak first.
            self.lost[side].passed += bytes.len() as u64;
            if self.client.is_some() && self.opening.is_empty() {
                self.unsure(framers);
            }
            return;
        }
        framers[side].begin();
        self.opening = bytes.to_vec();
        self.kafka(side, framers, common);
    }

    fn is(&mut self, protocol: Protocol, side: usize) {
        self.facts.protocol = protocol;
        self.lost[side].passed += std::mem::take(&mut self.opening).len() as u64;
    }

    fn tell(&mut self, exchange: Exchange, common: &mut Common) {
        let digest = self.facts.count(&exchange, &mut common.topics);
        let (client, broker) = self.ends();
        common.events.push_back(Event::Exchange(Box::new(Captured {
            connection: self.facts.number,
            client,
            broker,
            exchange,
            errors: digest.errors,
            topics: digest.topics,
            unread: digest.unread,
        })));
    }

    fn ends(&self) -> (SocketAddr, SocketAddr) {
        match self.client {
            Some(1) => (self.facts.broker, self.facts.client),
            _ => (self.facts.client, self.facts.broker),
        }
    }

    fn direction(&self, side: usize) -> Direction {
        if self.client == Some(side) { Direction::Request } else { Direction::Response }
    }

    fn account(&mut self, lost: Lost) {
        self.facts.missing += lost.missing;
        self.facts.passed += lost.passed;
    }

    /// Tells of bytes between frames.
    fn report(&mut self, side: usize, common: &mut Common) {
        let lost = std::mem::take(&mut self.lost[side]);
        if lost == Lost::default() {
            return;
        }
        self.account(lost);
        common.events.push_back(Event::Gap {
            connection: self.facts.number,
            direction: self.direction(side),
            time: self.time,
            missing: lost.missing,
            passed: lost.passed,
            unknown: lost.unknown,
        });
    }
}

/// Who listens to one side.
struct Ear<'a> {
    mouth: &'a mut Mouth,
    common: &'a mut Common,
    side: usize,
}

impl Sink for Ear<'_> {
    fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        if self.mouth.direction(self.side) == Direction::Request {
            return recognise::find_request(bytes);
        }
        let awaited: Vec<i32> = self.mouth.conversation.waiting().take(MAX_AWAITED).filter_map(id).collect();
        recognise::find_response(bytes, |id| awaited.contains(&id))
    }

    fn can_be(&self, size: usize) -> bool {
        // Four bytes are a correlation id; a token of SASL may be empty.
        size <= DEFAULT_MAX_FRAME
    }

    fn frame(&mut self, bytes: Bytes, missing: usize) {
        let Self { mouth, common, side } = self;
        match mouth.ending {
            true => mouth.unfinished[*side] = true,
            false => mouth.facts.missing += missing as u64,
        }
        let direction = mouth.direction(*side);
        if let Some(mut exchange) = mouth.conversation.feed_cut(direction, mouth.time, bytes, missing) {
            if mouth.ending {
                exchange.remarks.push(Remark::Unfinished);
            }
            mouth.tell(exchange, common);
        }
    }

    fn gap(&mut self, gap: Lost) {
        self.mouth.lost[self.side] = gap;
        self.mouth.report(self.side, self.common);
    }
}

fn id(frame: &crate::conversation::Frame) -> Option<i32> {
    frame.head.as_ref().map(|head| head.correlation_id)
}
