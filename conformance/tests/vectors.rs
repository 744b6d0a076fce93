//! Everything that Apache Kafka's Java classes wrote, read and refused: see `README.md`.

use std::path::Path;

use milena_conformance::{Report, rebuild, run};

fn check(vectors: &Path) -> Report {
    let deviations = Path::new(env!("CARGO_MANIFEST_DIR")).join("deviations.md");
    let report = run(vectors, &deviations).expect("the vectors can be read");
    assert!(report.is_clean(), "{report}");
    assert_eq!(report.pairs(), 879);
    assert_eq!(report.headers, 368);
    assert_eq!(report.errors, 138);
    for (name, message) in &report.messages {
        let versions = message.covered.len();
        assert!(message.vectors >= versions * (1 + 1 + 3 + 5), "{name}: {} vectors", message.vectors);
    }
    report
}

#[test]
fn both_codecs_do_what_kafka_does() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let report = check(&here.join("vectors"));
    let stale = "`cargo xtask conformance` writes other figures";
    let readme = std::fs::read_to_string(here.join("README.md")).unwrap();
    assert_eq!(report.insert_summary(&readme).as_ref(), Some(&readme), "{stale}");
    let first = std::fs::read_to_string(here.join("../README.md")).unwrap();
    assert_eq!(report.insert_brief(&first).as_ref(), Some(&first), "{stale}");
}

#[test]
#[ignore = "needs Java, Maven and a repository with Kafka's artifacts; takes two minutes"]
fn both_codecs_do_what_kafka_does_with_values_of_another_seed() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("vectors");
    let seed = std::process::id().into();
    rebuild(here, seed, &out).unwrap();
    println!("seed {seed}");
    check(&out);
}
