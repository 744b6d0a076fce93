//! One TCP connection: what both sides send, from segments to exchanges.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use milena_connection::DEFAULT_MAX_FRAME;

use super::connection::{Connection, Protocol};
use super::event::{CaptureEvent, Captured};
use super::framer::{Framer, Lost, Sink};
use super::packet::Segment;
use super::recognise::{self, Verdict};
use super::stream::{Moment, Piece, Stream};
use crate::conversation::{Bounds, Conversation, Direction, Endpoints, Exchange, FactReader, Frame, Remark};

/// What one connection may keep; the reader bounds what all of them do. Captures on several queues of a network card mix up
/// the order of packets by a few.
const BOUNDS: Bounds = Bounds { requests: 1000, bytes: DEFAULT_MAX_FRAME, late_requests: 8 };

/// Requests whose responses are looked for in bytes of unknown meaning.
const MAX_AWAITED: usize = 64;

/// Bytes of a broker that are kept until its client's first request turns up.
const MAX_EARLY: usize = 64 * 1024;

/// Exchanges that wait for a first request that can be read, and their bytes.
const MAX_UNCONFIRMED: usize = 64;
const MAX_UNCONFIRMED_BYTES: usize = 1 << 20;

/// What was found, and what is known of all connections together.
#[derive(Debug, Default)]
pub(super) struct Common {
    pub(super) events: VecDeque<CaptureEvent>,
    facts: FactReader,
}

/// A TCP connection. Its sides have numbers: 0 is the one whose packet came first.
#[derive(Debug)]
pub(super) struct Flow {
    ends: [SocketAddr; 2],
    packets: u64,
    streams: [Stream; 2],
    framers: [Framer; 2],
    /// Whether each side has sent all that it will.
    ended: [bool; 2],
    /// Whether one side has cut it off.
    reset: bool,
    decoder: Decoder,
}

/// What is made of the bytes of both sides.
#[derive(Debug)]
struct Decoder {
    facts: Connection,
    conversation: Conversation,
    /// The side of the client, where it is known.
    client: Option<usize>,
    /// The start of what the client sends, until it is known what it is.
    opening: Vec<u8>,
    /// What the broker sent before the client, as it seems where a capture mixed up the order of packets, and when.
    early: (Vec<u8>, Duration),
    /// What was found while no request could be read: what looks like Kafka at first sight may not be it.
    unconfirmed: Option<Vec<Unconfirmed>>,
    /// Bytes of each side that passed before anything was known.
    lost: [Lost; 2],
    time: Duration,
    /// Nothing more will come.
    ending: bool,
    /// Each side that stopped in the middle of a frame.
    unfinished: [bool; 2],
}

#[derive(Debug)]
enum Unconfirmed {
    Exchange(Box<Exchange>),
    Gap(usize, Duration, Lost),
}

impl Flow {
    /// `port` is that of brokers, if the caller knows it.
    pub(super) fn new(number: u64, segment: &Segment<'_>, time: Duration, port: Option<u16>) -> Self {
        let ends = [segment.from, segment.to];
        let broker = port.and_then(|port| [1, 0].into_iter().find(|side| ends[*side].port() == port));
        let mut decoder = Decoder {
            facts: Connection::new(number, ends[0], ends[1], time),
            conversation: Conversation::with_bounds(BOUNDS),
            client: broker.map(|broker| 1 - broker),
            opening: Vec::new(),
            early: (Vec::new(), Duration::ZERO),
            unconfirmed: None,
            lost: [Lost::default(); 2],
            time,
            ending: false,
            unfinished: [false; 2],
        };
        if broker.is_some() {
            decoder.facts.protocol = Protocol::Kafka;
            decoder.set_endpoints();
        }
        Self {
            ends,
            packets: 0,
            streams: Default::default(),
            framers: Default::default(),
            ended: [false; 2],
            reset: false,
            decoder,
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.decoder.facts.number
    }

    /// Whether both sides are done, and nothing is missing that may still come.
    pub(super) fn is_over(&self) -> bool {
        self.reset || (self.ended == [true; 2] && self.streams.iter().all(|stream| stream.held() == 0))
    }

    pub(super) fn last(&self) -> Duration {
        self.decoder.facts.last
    }

    /// Bytes that it keeps.
    pub(super) fn held(&self) -> usize {
        let sides = self.streams.iter().map(Stream::held).chain(self.framers.iter().map(Framer::held));
        let decoder = &self.decoder;
        let waiting = decoder.opening.len() + decoder.early.0.len() + decoder.unconfirmed_bytes();
        sides.sum::<usize>() + decoder.conversation.held() + waiting
    }

    /// Whether a segment is the first of another connection with the same ends.
    pub(super) fn is_another(&self, segment: &Segment<'_>) -> bool {
        segment.syn && segment.ack.is_none() && (self.is_over() || self.streams.iter().any(|stream| stream.at() > 0))
    }

    pub(super) fn segment(&mut self, segment: &Segment<'_>, time: Duration, common: &mut Common) {
        let side = usize::from(segment.from != self.ends[0]);
        self.packets += 1;
        self.decoder.time = time;
        self.decoder.facts.last = self.decoder.facts.last.max(time);
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
            let Self { streams, framers, decoder, .. } = self;
            streams[side].push(seq, segment.payload, segment.length, now, &mut |piece| {
                decoder.take(side, piece, framers, common);
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
        if self.decoder.facts.protocol == Protocol::Unknown {
            self.decoder.client = Some(client);
        }
        self.decoder.facts.from_start = true;
    }

    fn settle(&mut self, side: usize, now: Moment, common: &mut Common) {
        let Self { streams, framers, decoder, .. } = self;
        streams[side].settle(now, &mut |piece| decoder.take(side, piece, framers, common));
    }

    /// Gives up what it keeps, to make room.
    pub(super) fn shed(&mut self, common: &mut Common) {
        let Self { streams, framers, decoder, .. } = self;
        for side in [0, 1] {
            streams[side].flush(&mut |piece| decoder.take(side, piece, framers, common));
            framers[side].shed();
        }
        for exchange in decoder.conversation.finish() {
            decoder.emit(exchange, common);
        }
        if decoder.unconfirmed_bytes() > 0 {
            decoder.reject();
        }
    }

    /// Nothing more will come.
    pub(super) fn finish(mut self, common: &mut Common) {
        let Self { streams, framers, decoder, .. } = &mut self;
        for side in [0, 1] {
            streams[side].flush(&mut |piece| decoder.take(side, piece, framers, common));
        }
        decoder.ending = true;
        for side in [0, 1] {
            if decoder.facts.protocol == Protocol::Kafka {
                framers[side].finish(&mut SideSink { decoder, common, side });
            }
        }
        let mut waiting = decoder.conversation.finish();
        if let Some(last) = waiting
            .iter_mut()
            .rfind(|exchange| exchange.request.is_some())
            .filter(|_| decoder.client.is_some_and(|side| decoder.unfinished[side]))
        {
            last.remarks.push(Remark::Unfinished);
        }
        for exchange in waiting {
            decoder.emit(exchange, common);
        }
        decoder.reject();
        for side in [0, 1] {
            decoder.account(decoder.lost[side]);
        }
        decoder.facts.passed += (decoder.opening.len() + decoder.early.0.len()) as u64;
        if decoder.facts.protocol == Protocol::Unknown && decoder.facts.from_start && decoder.facts.passed > 0 {
            decoder.facts.protocol = Protocol::Other;
        }
        let mut facts = self.decoder.facts;
        if self.decoder.client == Some(1) {
            std::mem::swap(&mut facts.client, &mut facts.broker);
        }
        common.events.push_back(CaptureEvent::Closed(Box::new(facts)));
    }
}

impl Decoder {
    /// Takes what a side sends next.
    fn take(&mut self, side: usize, piece: Piece<'_>, framers: &mut [Framer; 2], common: &mut Common) {
        if self.facts.protocol == Protocol::Kafka {
            return framers[side].take(piece, &mut SideSink { decoder: self, common, side });
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
                Protocol::Unknown if self.is_early(side, bytes) => {
                    self.early.0.extend_from_slice(bytes);
                    self.early.1 = self.time;
                }
                Protocol::Unknown => self.guess(side, bytes, framers, common),
                _ => self.lost[side].passed += bytes.len() as u64,
            },
        }
    }

    /// Whether all that this side sent is there, and it is known to be the client.
    fn opened(&self, side: usize) -> bool {
        self.facts.from_start && self.client == Some(side)
    }

    /// Whether bytes of the broker came before the client's first request is there. No broker sends first: the capture may
    /// have mixed up the order.
    fn is_early(&self, side: usize, bytes: &[u8]) -> bool {
        self.facts.from_start
            && self.client == Some(1 - side)
            && self.early.0.len() + bytes.len() <= MAX_EARLY
            && recognise::foreign(if self.early.0.is_empty() { bytes } else { &self.early.0 }).is_none()
    }

    fn unconfirmed_bytes(&self) -> usize {
        let size = |found: &Unconfirmed| match found {
            Unconfirmed::Exchange(exchange) => {
                exchange.request.iter().chain(&exchange.response).map(|frame| frame.bytes.len()).sum()
            }
            Unconfirmed::Gap(..) => 0,
        };
        self.unconfirmed.iter().flatten().map(size).sum()
    }

    /// Something is missing, so that what comes cannot be taken for the start.
    fn unsure(&mut self, framers: &mut [Framer; 2]) {
        self.client = None;
        *framers = Default::default();
        self.lost[0].passed += self.take_start();
    }

    /// Drops the start of both sides, which is no Kafka. Gives its size.
    fn take_start(&mut self) -> u64 {
        (std::mem::take(&mut self.opening).len() + std::mem::take(&mut self.early.0).len()) as u64
    }

    /// The client sends, and what it sent so far is in `opening`.
    fn open(&mut self, side: usize, bytes: &[u8], framers: &mut [Framer; 2], common: &mut Common) {
        self.opening.extend_from_slice(bytes);
        if let Some(foreign) = recognise::foreign(&self.opening) {
            return self.is(Protocol::Foreign(foreign), side);
        }
        match recognise::opening(&self.opening) {
            Verdict::Short => {}
            Verdict::ZooKeeper => self.is(Protocol::ZooKeeper, side),
            Verdict::Request => {
                self.unconfirmed = Some(Vec::new());
                self.kafka(side, framers, common);
            }
            // The first token of GSSAPI, as Kafka 0.9 takes it.
            Verdict::Not if self.opening.get(4) == Some(&0x60) && self.opening.first() == Some(&0) => {
                self.unconfirmed = Some(Vec::new());
                self.kafka(side, framers, common);
            }
            Verdict::Not => {
                self.lost[side].passed += self.take_start();
                self.client = None;
                *framers = Default::default();
            }
        }
    }

    fn kafka(&mut self, side: usize, framers: &mut [Framer; 2], common: &mut Common) {
        self.facts.protocol = Protocol::Kafka;
        self.client = Some(side);
        self.set_endpoints();
        for side in [0, 1] {
            self.report(side, common);
        }
        let (early, now) = (std::mem::take(&mut self.early), self.time);
        if !early.0.is_empty() {
            self.time = early.1;
            framers[1 - side].take(Piece::Data(&early.0), &mut SideSink { decoder: self, common, side: 1 - side });
            self.time = now;
        }
        let opening = std::mem::take(&mut self.opening);
        framers[side].take(Piece::Data(&opening), &mut SideSink { decoder: self, common, side });
    }

    /// A side sends of which is not known whether it is the client, and where it is in what it sends.
    fn guess(&mut self, side: usize, bytes: &[u8], framers: &mut [Framer; 2], common: &mut Common) {
        if let Some(foreign) = recognise::foreign(bytes) {
            return self.is(Protocol::Foreign(foreign), side);
        }
        if recognise::request(bytes) != Verdict::Request {
            // A broker does not send first.
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
        self.lost[side].passed += self.take_start();
    }

    fn emit(&mut self, exchange: Exchange, common: &mut Common) {
        // Bytes that came after it was given up as no Kafka.
        if self.facts.protocol != Protocol::Kafka {
            return self.count_passed(&exchange);
        }
        let Some(unconfirmed) = &mut self.unconfirmed else { return self.give(exchange, common) };
        let is_confirmed = is_proof(&exchange);
        unconfirmed.push(Unconfirmed::Exchange(Box::new(exchange)));
        if is_confirmed {
            for found in self.unconfirmed.take().into_iter().flatten() {
                match found {
                    Unconfirmed::Exchange(exchange) => self.give(*exchange, common),
                    Unconfirmed::Gap(side, time, lost) => self.give_gap(side, time, lost, common),
                }
            }
        } else if unconfirmed.len() > MAX_UNCONFIRMED || self.unconfirmed_bytes() > MAX_UNCONFIRMED_BYTES {
            self.reject();
        }
    }

    /// No request could be read: this is not Kafka.
    fn reject(&mut self) {
        for found in self.unconfirmed.take().into_iter().flatten() {
            self.facts.protocol = Protocol::Other;
            match found {
                Unconfirmed::Exchange(exchange) => self.count_passed(&exchange),
                Unconfirmed::Gap(_, _, lost) => self.account(lost),
            }
        }
    }

    fn count_passed(&mut self, exchange: &Exchange) {
        let frames = exchange.request.iter().chain(&exchange.response);
        self.facts.passed += frames.map(|frame| 4 + frame.bytes.len() as u64).sum::<u64>();
    }

    fn give(&mut self, exchange: Exchange, common: &mut Common) {
        let facts = common.facts.read(&exchange);
        self.facts.count(&exchange, &facts);
        common.events.push_back(CaptureEvent::Exchange(Box::new(Captured { exchange, facts })));
    }

    fn give_gap(&mut self, side: usize, time: Duration, lost: Lost, common: &mut Common) {
        self.account(lost);
        common.events.push_back(CaptureEvent::Gap {
            connection: self.facts.number,
            direction: self.direction(side),
            time,
            missing: lost.missing,
            passed: lost.passed,
            unknown: lost.unknown,
        });
    }

    fn set_endpoints(&mut self) {
        let (client, broker) = self.ends();
        // An IPv4 address in the form of IPv6 is still that.
        let text = |end: SocketAddr| SocketAddr::new(end.ip().to_canonical(), end.port()).to_string();
        let (client, broker) = (text(client), text(broker));
        let endpoints = Endpoints { connection: self.facts.number, client, broker };
        self.conversation.set_endpoints(Arc::new(endpoints));
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

    /// Gives what lies between frames.
    fn report(&mut self, side: usize, common: &mut Common) {
        let lost = std::mem::take(&mut self.lost[side]);
        if lost == Lost::default() {
            return;
        }
        match &mut self.unconfirmed {
            Some(unconfirmed) => unconfirmed.push(Unconfirmed::Gap(side, self.time, lost)),
            None => self.give_gap(side, self.time, lost, common),
        }
    }
}

/// Whether an exchange proves that a connection is Kafka's: its request can be read to its end, or is of a version to come
/// and has a response. Of a request that is cut off too little is there to say no.
fn is_proof(exchange: &Exchange) -> bool {
    let Some(frame) = &exchange.request else { return false };
    let Some(head) = &frame.head else { return false };
    if frame.missing > 0 {
        return true;
    }
    match head.api_key.versions().contains(head.api_version) {
        true => recognise::is_whole_request(&frame.bytes, head.api_key, head.api_version) == Verdict::Request,
        false => head.api_key.name().is_some() && exchange.response.is_some(),
    }
}

/// Where the frames of one side go.
struct SideSink<'a> {
    decoder: &'a mut Decoder,
    common: &'a mut Common,
    side: usize,
}

impl Sink for SideSink<'_> {
    fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        if self.decoder.direction(self.side) == Direction::Request {
            return recognise::find_request(bytes);
        }
        let awaited: Vec<i32> = self.decoder.conversation.waiting().take(MAX_AWAITED).filter_map(id).collect();
        recognise::find_response(bytes, |id| awaited.contains(&id))
    }

    fn can_be(&self, size: usize) -> bool {
        // Four bytes are a correlation id; a token of SASL may be empty.
        size <= DEFAULT_MAX_FRAME
    }

    fn frame(&mut self, bytes: Bytes, missing: usize) {
        let Self { decoder, common, side } = self;
        match decoder.ending {
            true => decoder.unfinished[*side] = true,
            false => decoder.facts.missing += missing as u64,
        }
        let direction = decoder.direction(*side);
        if let Some(mut exchange) = decoder.conversation.feed_cut(direction, decoder.time, bytes, missing) {
            if decoder.ending {
                exchange.remarks.push(Remark::Unfinished);
            }
            decoder.emit(exchange, common);
        }
    }

    fn gap(&mut self, gap: Lost) {
        self.decoder.lost[self.side] = gap;
        self.decoder.report(self.side, self.common);
    }
}

fn id(frame: &Frame) -> Option<i32> {
    frame.head.as_ref().map(|head| head.correlation_id)
}
