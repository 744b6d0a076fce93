//! Each target over its seeds and a few damaged copies of them: no substitute for fuzzing, but it runs everywhere, and
//! what was found once stays among the seeds.

#[path = "../../crates/milena/tests/mutate/mod.rs"]
mod mutate;

use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use milena_fuzz::TARGETS;

use mutate::{Random, mutate};

/// Damaged inputs for each target; `FUZZ_ROUNDS` asks for more.
const ROUNDS: usize = 400;
/// So many places at most are damaged in one of them.
const DEPTH: usize = 4;

#[test]
fn seeds_and_damaged_seeds_keep_the_promises() {
    let rounds = std::env::var("FUZZ_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(ROUNDS);
    for (name, target) in TARGETS {
        let seeds = seeds(name);
        assert!(!seeds.is_empty(), "{name} has no seeds");
        let run = |input: &[u8]| {
            if catch_unwind(|| target(input)).is_err() {
                panic!("{name} fails on {} bytes: {}", input.len(), input.escape_ascii());
            }
        };
        seeds.iter().for_each(|seed| run(seed));
        let mut random = Random::new(1920);
        for _ in 0..rounds {
            let mut input = seeds[random.below(seeds.len())].clone();
            for _ in 0..=random.below(DEPTH) {
                mutate(&mut input, &mut random);
            }
            run(&input);
        }
    }
}

/// In the order of their names.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("seeds").join(target);
    let Ok(entries) = fs::read_dir(&folder) else { panic!("{target} has no folder of seeds") };
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a seed")).collect()
}
