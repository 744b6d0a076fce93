//! One direction of a TCP connection: segments in any order, bytes in theirs.

use std::collections::BTreeMap;
use std::time::Duration;

/// Most bytes that wait for what is missing in front of them.
const MAX_PENDING: usize = 4 << 20;
/// Most segments that do.
const MAX_SEGMENTS: usize = 4096;
/// Bytes that the peer acknowledged reached it, though not the capture. So many packets later they will not turn up any
/// more, even where a capture mixes up the order of packets a little.
const PATIENCE: u64 = 16;
/// The same when nobody acknowledges, as in a capture of one direction. Longer than TCP waits to send once more.
const PATIENCE_TIME: Duration = Duration::from_secs(30);
/// A segment that lies so far back is no repetition, but of another connection with the same ports.
const FAR: i32 = 1 << 24;
/// So many of them in a row are believed.
const FAR_SEGMENTS: u8 = 4;

/// What comes out of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// Bytes of one segment that follow all before.
    Data(&'a [u8]),
    /// So many bytes passed that were not captured.
    Hole(u64),
    /// What follows has nothing to do with what was before: how much is missing cannot be said.
    Break,
}

/// Where in time a packet stands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Moment {
    /// How many packets of the connection came before.
    pub(super) packet: u64,
    pub(super) time: Duration,
}

#[derive(Debug)]
struct Pending {
    bytes: Vec<u8>,
    /// On the wire; what is more than `bytes` was not captured.
    length: usize,
    since: Moment,
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub(super) struct Stream {
    /// The number of the byte that comes next.
    next: Option<u32>,
    /// The same as a count from the first byte that was seen.
    at: u64,
    /// Segments after a hole, by the count at which they begin.
    pending: BTreeMap<u64, Pending>,
    /// Bytes in `pending`.
    held: usize,
    /// Up to where the peer has acknowledged, as a count.
    acked: u64,
    /// Segments from far back, in a row.
    far: u8,
}

impl Stream {
    /// The connection begins: its first byte will have this number.
    pub(super) fn begin(&mut self, next: u32) {
        *self = Self { next: Some(next), ..Self::default() };
    }

    /// Bytes that came out, holes and all.
    pub(super) fn at(&self) -> u64 {
        self.at
    }

    pub(super) fn is_begun(&self) -> bool {
        self.next.is_some()
    }

    /// Bytes that wait for others.
    pub(super) fn held(&self) -> usize {
        self.held
    }

    /// The peer has bytes up to this number.
    pub(super) fn acknowledged(&mut self, ack: u32) {
        let Some(next) = self.next else { return };
        let ahead = ack.wrapping_sub(next) as i32;
        if ahead > 0 {
            self.acked = self.acked.max(self.at + ahead as u64);
        }
    }

    /// Takes a segment of `length` bytes of which `bytes` were captured, and gives what is now in order.
    pub(super) fn push(
        &mut self,
        seq: u32,
        bytes: &[u8],
        length: usize,
        now: Moment,
        give: &mut impl FnMut(Piece<'_>),
    ) {
        let next = *self.next.get_or_insert(seq);
        let ahead = seq.wrapping_sub(next) as i32;
        if ahead < -FAR {
            self.far += 1;
            if self.far >= FAR_SEGMENTS {
                self.flush(give);
                give(Piece::Break);
                self.begin(seq);
                self.push(seq, bytes, length, now, give);
            }
            return;
        }
        self.far = 0;
        if ahead > 0 {
            self.keep(self.at + ahead as u64, bytes, length, now);
            self.settle(now, give);
            return;
        }
        // What was there before is as good; of a repetition only what is new counts.
        let known = ahead.unsigned_abs() as usize;
        if known < length {
            self.emit(bytes.get(known..).unwrap_or_default(), length - known, give);
            self.advance(give);
        }
    }

    /// Looks whether what is missing can still come.
    pub(super) fn settle(&mut self, now: Moment, give: &mut impl FnMut(Piece<'_>)) {
        while let Some((&first, Pending { since, .. })) = self.pending.first_key_value() {
            let passed = now.packet.saturating_sub(since.packet);
            let acknowledged = self.acked >= first && passed >= PATIENCE;
            let waited = now.time.saturating_sub(since.time) > PATIENCE_TIME;
            let full = self.held > MAX_PENDING || self.pending.len() > MAX_SEGMENTS;
            if !(acknowledged || waited || full) {
                return;
            }
            self.hole(first, give);
            self.advance(give);
        }
    }

    /// Nothing that is missing will come.
    pub(super) fn flush(&mut self, give: &mut impl FnMut(Piece<'_>)) {
        while let Some((&first, _)) = self.pending.first_key_value() {
            self.hole(first, give);
            self.advance(give);
        }
    }

    fn keep(&mut self, at: u64, bytes: &[u8], length: usize, now: Moment) {
        let (known, since) = self.pending.get(&at).map_or((0, now), |pending| (pending.length, pending.since));
        if length > known {
            self.held += bytes.len();
            let before = self.pending.insert(at, Pending { bytes: bytes.to_vec(), length, since });
            self.held -= before.map_or(0, |before| before.bytes.len());
        }
    }

    /// Gives what waited and is now in order.
    fn advance(&mut self, give: &mut impl FnMut(Piece<'_>)) {
        while let Some(entry) = self.pending.first_entry() {
            if *entry.key() > self.at {
                break;
            }
            let known = (self.at - entry.key()) as usize;
            let pending = entry.remove();
            self.held -= pending.bytes.len();
            if known < pending.length {
                self.emit(pending.bytes.get(known..).unwrap_or_default(), pending.length - known, give);
            }
        }
    }

    fn hole(&mut self, to: u64, give: &mut impl FnMut(Piece<'_>)) {
        if to > self.at {
            give(Piece::Hole(to - self.at));
            self.move_to(to);
        }
    }

    fn emit(&mut self, bytes: &[u8], length: usize, give: &mut impl FnMut(Piece<'_>)) {
        if !bytes.is_empty() {
            give(Piece::Data(bytes));
        }
        if length > bytes.len() {
            give(Piece::Hole((length - bytes.len()) as u64));
        }
        self.move_to(self.at + length as u64);
    }

    fn move_to(&mut self, at: u64) {
        // The number wraps around; the count does not.
        self.next = self.next.map(|next| next.wrapping_add((at - self.at) as u32));
        self.at = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes out of segments of a text, each with where it begins and ends.
    fn pieces(start: u32, segments: &[(usize, usize)], acknowledged: Option<usize>) -> String {
        const TEXT: &[u8] = b"abcdefghij";
        let mut stream = Stream::default();
        stream.begin(start);
        let mut out = String::new();
        let mut give = |piece: Piece<'_>| match piece {
            Piece::Data(bytes) => out.push_str(std::str::from_utf8(bytes).unwrap()),
            Piece::Hole(size) => out.push_str(&format!("<{size}>")),
            Piece::Break => out.push('!'),
        };
        for (packet, &(from, to)) in segments.iter().enumerate() {
            let now = Moment { packet: packet as u64, time: Duration::ZERO };
            stream.push(start.wrapping_add(from as u32), &TEXT[from..to], to - from, now, &mut give);
        }
        if let Some(acknowledged) = acknowledged {
            stream.acknowledged(start.wrapping_add(acknowledged as u32));
            stream.settle(Moment { packet: 100, time: Duration::ZERO }, &mut give);
            assert_eq!(stream.held(), 0);
        }
        out
    }

    #[test]
    fn segments_come_out_in_order_whatever_order_they_came_in() {
        for start in [0, 7, u32::MAX - 4, u32::MAX] {
            assert_eq!(pieces(start, &[(0, 3), (3, 6), (6, 10)], None), "abcdefghij");
            assert_eq!(pieces(start, &[(6, 10), (3, 6), (0, 3)], None), "abcdefghij");
            assert_eq!(pieces(start, &[(0, 3), (6, 10), (3, 6)], None), "abcdefghij");
        }
    }

    #[test]
    fn repetitions_and_overlaps_count_once() {
        assert_eq!(pieces(9, &[(0, 5), (0, 5), (2, 8), (4, 10), (0, 10)], None), "abcdefghij");
        assert_eq!(pieces(9, &[(4, 8), (2, 10), (0, 3)], None), "abcdefghij");
        assert_eq!(pieces(9, &[(4, 6), (4, 9), (0, 4)], None), "abcdefghi");
        // What TCP sends to see whether the peer is there repeats the last byte.
        assert_eq!(pieces(9, &[(0, 5), (4, 5), (5, 10)], None), "abcdefghij");
    }

    #[test]
    fn what_the_peer_has_and_the_capture_has_not_is_a_hole() {
        assert_eq!(pieces(9, &[(0, 3), (5, 10)], None), "abc");
        assert_eq!(pieces(9, &[(0, 3), (5, 10)], Some(10)), "abc<2>fghij");
    }

    #[test]
    fn holes_have_a_size() {
        assert_eq!(pieces(u32::MAX - 3, &[(0, 3), (5, 7), (9, 10)], Some(10)), "abc<2>fg<2>j");
    }

    #[test]
    fn what_the_capture_cut_off_is_a_hole() {
        let mut stream = Stream::default();
        let mut out = Vec::new();
        let mut give = |piece: Piece<'_>| match piece {
            Piece::Data(bytes) => out.push(bytes.len() as u64),
            Piece::Hole(size) => out.push(1000 + size),
            Piece::Break => out.push(u64::MAX),
        };
        stream.push(1, b"abc", 10, Moment::default(), &mut give);
        stream.push(11, b"d", 1, Moment::default(), &mut give);
        assert_eq!(out, [3, 1007, 1]);
    }

    #[test]
    fn what_waits_is_bounded() {
        let mut stream = Stream::default();
        stream.begin(0);
        let mut holes = 0;
        for number in 0..100_000u32 {
            let give = &mut |piece: Piece<'_>| holes += u32::from(matches!(piece, Piece::Hole(_)));
            stream.push(10 + number * 1000, &[0; 500], 500, Moment { packet: 1, time: Duration::ZERO }, give);
            assert!(stream.held() <= MAX_PENDING + 500 && stream.pending.len() <= MAX_SEGMENTS + 1);
        }
        assert!(holes > 90_000);
    }
}
