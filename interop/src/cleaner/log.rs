//! Random logs: who writes what, in which order.

use milena_client::Codec;

use crate::differential::random::Random;

/// How often a log is written to and compacted.
pub(super) const ROUNDS: usize = 4;

/// Something that is done to a log.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// A batch of a producer; `None` is one without an id. Keys and values; a record without a value is a tombstone.
    Batch { producer: Option<usize>, codec: Codec, records: Vec<(String, Option<String>)> },
    /// Ends the transaction of a transactional producer.
    End { producer: usize, commit: bool },
    /// A setting of the topic.
    Configure { name: &'static str, value: String },
}

impl Step {
    pub(super) fn configure(name: &'static str, value: &str) -> Self {
        Self::Configure { name, value: value.to_owned() }
    }
}

/// Producers with a transactional id; the others are idempotent only.
pub(super) const TRANSACTIONAL: usize = 2;
pub(super) const PRODUCERS: usize = 4;

pub(super) type Settings = Vec<(&'static str, String)>;

/// The settings of the topic, and what is done in each round.
pub(super) fn steps(seed: u64) -> (Settings, Vec<Vec<Step>>) {
    let random = &mut Random::new(seed);
    let of = |name, value: &str| (name, value.to_owned());
    let mut settings = vec![
        of("cleanup.policy", "compact"),
        of("min.cleanable.dirty.ratio", "1"),
        of("internal.segment.bytes", ["400", "700", "2000"][random.below(3)]),
        of("delete.retention.ms", ["0", "86400000"][random.below(2)]),
    ];
    if random.chance(20) {
        settings.push(of("message.timestamp.type", "LogAppendTime"));
    }
    let mut open = [false; TRANSACTIONAL];
    let rounds = (0..ROUNDS).map(|_| round(random, &mut open)).collect();
    (settings, rounds)
}

fn round(random: &mut Random, open: &mut [bool; TRANSACTIONAL]) -> Vec<Step> {
    let keys = 1 + random.below(12);
    let mut steps = Vec::new();
    for _ in 0..5 + random.below(25) {
        let producer = Some(random.below(PRODUCERS)).filter(|_| random.chance(70));
        if let Some(producer) = producer.filter(|producer| *producer < TRANSACTIONAL) {
            if open[producer] && random.chance(40) {
                steps.push(Step::End { producer, commit: random.chance(50) });
                open[producer] = false;
                continue;
            }
            open[producer] = true;
        }
        let record = |random: &mut Random| {
            let value = (!random.chance(25)).then(|| "v".repeat(random.below(40)));
            (format!("k{}", random.below(keys)), value)
        };
        let records = (0..1 + random.below(4)).map(|_| record(random)).collect();
        let codec = *random.pick(&[Codec::None, Codec::None, Codec::Lz4, Codec::Gzip, Codec::Zstd, Codec::Snappy]);
        steps.push(Step::Batch { producer, codec, records });
    }
    // Nothing is compacted after the begin of an open transaction.
    if random.chance(70) {
        for (producer, open) in open.iter_mut().enumerate().filter(|(_, open)| **open) {
            steps.push(Step::End { producer, commit: random.chance(50) });
            *open = false;
        }
    }
    steps
}
