use std::collections::{BTreeMap, BTreeSet};

/// What is recorded of a connection: everything, or the first requests of each API and version with their responses.
pub(crate) struct Filter {
    keep: Option<usize>,
    /// How many there were of each API and version.
    seen: BTreeMap<[u8; 4], usize>,
    /// Correlation ids of the requests that were left out and have no response yet.
    left_out: BTreeSet<[u8; 4]>,
}

impl Filter {
    pub(crate) fn new(keep: Option<usize>) -> Self {
        Self { keep, seen: BTreeMap::new(), left_out: BTreeSet::new() }
    }

    /// Key, version and correlation id are at the same place in every version of the request header.
    pub(crate) fn takes_request(&mut self, frame: &[u8]) -> bool {
        let Some((pair, rest)) = frame.split_first_chunk::<4>() else { return true };
        let (Some(keep), Some(correlation)) = (self.keep, rest.first_chunk::<4>()) else { return true };
        let seen = self.seen.entry(*pair).or_default();
        *seen += 1;
        if *seen > keep {
            self.left_out.insert(*correlation);
        }
        *seen <= keep
    }

    pub(crate) fn takes_response(&mut self, frame: &[u8]) -> bool {
        frame.first_chunk::<4>().is_none_or(|correlation| !self.left_out.remove(correlation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(version: u8, correlation: u8) -> [u8; 8] {
        [0, 1, 0, version, 0, 0, 0, correlation]
    }

    #[test]
    fn a_number_of_each_pair_is_taken_with_the_responses() {
        let mut filter = Filter::new(Some(2));
        let taken: Vec<bool> = (1..=4).map(|id| filter.takes_request(&request(4, id))).collect();
        assert_eq!(taken, [true, true, false, false]);
        assert!(filter.takes_request(&request(5, 5)), "another version");
        let taken: Vec<bool> = (1..=5).map(|id| filter.takes_response(&[0, 0, 0, id, 9])).collect();
        assert_eq!(taken, [true, true, false, false, true]);
        // The id can come again later, and what is no frame of Kafka's is not ours to judge.
        assert!(filter.takes_response(&[0, 0, 0, 3]));
        assert!(filter.takes_request(&[1]) && filter.takes_response(&[1]));
    }

    #[test]
    fn all_is_taken_unless_said_otherwise() {
        let mut filter = Filter::new(None);
        assert!((1..=100).all(|id| filter.takes_request(&request(4, id)) && filter.takes_response(&[0, 0, 0, id])));
    }
}
