/// Small random numbers that a seed repeats: SplitMix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        // Mixed, so that the states of neighbouring seeds are no steps of one another.
        Self(mix(seed.wrapping_add(INCREMENT)))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(INCREMENT);
        mix(self.0)
    }

    /// From 0 to below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// True in so many of 100 cases.
    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }
}

/// By how much the state grows at each step.
const INCREMENT: u64 = 0x9e37_79b9_7f4a_7c15;

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_seeds_share_no_run_of_numbers() {
        let numbers = |seed| {
            let mut random = Random::new(seed);
            (0..64).map(|_| random.next()).collect::<std::collections::BTreeSet<u64>>()
        };
        let all: Vec<_> = (0..64).map(numbers).collect();
        for (index, one) in all.iter().enumerate() {
            assert!(all[index + 1..].iter().all(|other| one.is_disjoint(other)), "seed {index}");
        }
    }

    #[test]
    fn a_seed_repeats_its_numbers_and_another_has_others() {
        let numbers = |seed| {
            let mut random = Random::new(seed);
            [(); 8].map(|()| random.below(1000))
        };
        assert_eq!(numbers(1), numbers(1));
        assert_ne!(numbers(1), numbers(2));
    }
}
