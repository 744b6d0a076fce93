//! Ranges of offsets with their delivery state, laid over each other.

use std::collections::BTreeMap;

/// Offsets that share one state of delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StateBatch {
    pub(crate) first: i64,
    /// Included.
    pub(crate) last: i64,
    /// As Kafka's records have it: 0 available, 2 acknowledged, 4 archived.
    pub(crate) state: i8,
    /// How often the records were delivered.
    pub(crate) deliveries: i16,
}

/// Deliveries and state: the greater one wins.
type Rank = (i16, i8);

/// One list of ranges out of two. Where ranges overlap, the one that was delivered more often counts, and of those the one
/// with the later state. What is before the start offset is cut off, unless it is -1.
pub(crate) fn combine(before: &[StateBatch], after: &[StateBatch], start_offset: i64) -> Vec<StateBatch> {
    let kept: Vec<StateBatch> = before
        .iter()
        .chain(after)
        .filter(|batch| start_offset == -1 || batch.last >= start_offset)
        .map(|batch| StateBatch { first: batch.first.max(start_offset), ..*batch })
        .collect();
    if kept.len() < 2 {
        return kept;
    }
    // Where ranges begin and end, in order; the winner changes only there.
    let mut edges: BTreeMap<i64, Vec<(Rank, bool)>> = BTreeMap::new();
    for batch in &kept {
        let rank = (batch.deliveries, batch.state);
        edges.entry(batch.first).or_default().push((rank, true));
        edges.entry(batch.last.saturating_add(1)).or_default().push((rank, false));
    }
    let mut open: BTreeMap<Rank, usize> = BTreeMap::new();
    let mut combined: Vec<StateBatch> = Vec::new();
    let mut from = 0;
    for (offset, changes) in edges {
        if let Some((&(deliveries, state), _)) = open.last_key_value() {
            match combined.last_mut() {
                Some(last) if (last.last + 1, last.deliveries, last.state) == (from, deliveries, state) => {
                    last.last = offset - 1;
                }
                _ => combined.push(StateBatch { first: from, last: offset - 1, state, deliveries }),
            }
        }
        for (rank, begins) in changes {
            let count = open.entry(rank).or_default();
            *count = if begins { *count + 1 } else { count.saturating_sub(1) };
        }
        open.retain(|_, count| *count > 0);
        from = offset;
    }
    combined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch((first, last, state, deliveries): (i64, i64, i8, i16)) -> StateBatch {
        StateBatch { first, last, state, deliveries }
    }

    fn combined(before: &[(i64, i64, i8, i16)], after: &[(i64, i64, i8, i16)], start: i64) -> Vec<(i64, i64, i8, i16)> {
        let [before, after] = [before, after].map(|list| list.iter().copied().map(batch).collect::<Vec<_>>());
        let out = combine(&before, &after, start);
        out.iter().map(|batch| (batch.first, batch.last, batch.state, batch.deliveries)).collect()
    }

    /// The expected values are those of `PersisterStateBatchCombiner` of Kafka 4.4.
    #[test]
    fn the_range_that_was_delivered_more_often_wins() {
        assert_eq!(combined(&[], &[], 0), []);
        assert_eq!(combined(&[(100, 110, 0, 1)], &[(111, 119, 2, 2)], 100), [(100, 110, 0, 1), (111, 119, 2, 2)]);
        assert_eq!(combined(&[(100, 110, 0, 1)], &[(111, 119, 0, 1)], -1), [(100, 119, 0, 1)]);
        assert_eq!(combined(&[(100, 110, 0, 1)], &[(100, 110, 2, 1)], 0), [(100, 110, 2, 1)]);
        assert_eq!(
            combined(&[(100, 120, 0, 2)], &[(105, 110, 2, 1), (112, 115, 0, 3)], 0),
            [(100, 111, 0, 2), (112, 115, 0, 3), (116, 120, 0, 2)]
        );
        assert_eq!(combined(&[(100, 110, 0, 1)], &[(115, 119, 2, 1)], 105), [(105, 110, 0, 1), (115, 119, 2, 1)]);
        assert_eq!(combined(&[(100, 110, 0, 1)], &[(105, 130, 2, 1)], 120), [(120, 130, 2, 1)]);
    }
}
