//! A few messages, as Apache Kafka's Java classes wrote them: see `vectors/first.txt`.

use std::collections::BTreeSet;

use milena_conformance::{Outcome, from_hex, reencode};
use milena_schema::Spec;
use serde_json::Value;

#[test]
fn the_most_used_messages_are_those_of_kafka() {
    let mut pairs = BTreeSet::new();
    for line in include_str!("../vectors/first.txt").lines().filter(|line| !line.starts_with('#')) {
        let [name, version, release, hex, json] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("not a vector: {line}");
        };
        let what = format!("{name} v{version} of Kafka {release}");
        let version = version.parse().unwrap();
        let kafka = from_hex(hex).unwrap();
        pairs.insert((name, version));

        match reencode(name, version, kafka.clone()) {
            Some(Outcome::Read { leftover: 0, written }) => assert_eq!(written.unwrap(), kafka, "{what}"),
            outcome => panic!("{what}: {outcome:?}"),
        }
        let message = Spec::kafka().message(name).unwrap();
        let json: Value = serde_json::from_str(json).unwrap();
        assert_eq!(message.decode(kafka.clone(), version).unwrap().json, json, "{what}");
        assert_eq!(message.encode(&json, version).unwrap(), kafka, "{what}");
    }
    assert_eq!(pairs.len(), 2 * 7 * 3, "request and response of seven APIs at three versions");
}
