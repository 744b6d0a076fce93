//! The error codes of the spec against the classes of 34 releases of Kafka.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::collections::BTreeMap;

use milena_schema::Spec;

/// A name of a code, and the jars that have it.
struct Row {
    name: &'static str,
    first: &'static str,
    last: &'static str,
    retriable: bool,
    refresh: bool,
}

/// The rows of each code, in the order of the releases.
fn table() -> BTreeMap<i16, Vec<Row>> {
    let mut table: BTreeMap<i16, Vec<Row>> = BTreeMap::new();
    for line in include_str!("../vectors/errors.tsv").lines().filter(|line| !line.starts_with('#')) {
        let [code, name, first, last, retriable, refresh] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let (retriable, refresh) = (retriable == "retriable", refresh == "refresh");
        table.entry(code.parse().unwrap()).or_default().push(Row { name, first, last, retriable, refresh });
    }
    table
}

/// The feature release of a jar: 0.8.2 of kafka-clients-0.8.2.2, 4.4 of kafka-clients-4.4.0.
fn feature(jar: &str) -> String {
    let version = jar.rsplit_once('-').unwrap().1;
    let parts: Vec<&str> = version.split('.').collect();
    parts[..if parts[0] == "0" { 3 } else { 2 }].join(".")
}

#[test]
fn every_code_is_as_old_as_the_classes_say() {
    let table = table();
    let spec = Spec::kafka();
    assert_eq!(table.len(), spec.errors.len());
    for error in &spec.errors {
        let rows = &table[&error.code];
        // 13 was StaleLeaderEpochCode in 0.8.1, which no later release knows.
        let first = if error.code == 13 { &rows[1] } else { &rows[0] };
        assert_eq!(error.added, feature(first.first), "{} {}", error.code, error.name);
    }
    let added = |code| spec.error(code).unwrap().added.as_str();
    assert_eq!([added(4), added(8), added(12), added(16), added(35)], ["0.8.0", "0.8.0", "0.8.1", "0.8.2", "0.10.0"]);
}

#[test]
fn names_are_those_of_the_java_classes() {
    for (code, rows) in table() {
        let error = Spec::kafka().error(code).unwrap();
        let names: Vec<&str> =
            rows.iter().filter(|row| row.first.starts_with("kafka-clients")).map(|row| row.name).collect();
        let expected: Vec<&str> = error.was.iter().map(String::as_str).chain([error.name.as_str()]).collect();
        assert_eq!(names, expected, "{code}");
    }
}

#[test]
fn advice_is_that_of_the_newest_exceptions() {
    for (code, rows) in table() {
        let error = Spec::kafka().error(code).unwrap();
        let newest = rows.last().unwrap();
        assert_eq!(newest.last, "kafka-clients-4.4.0", "{code}");
        assert_eq!((error.retriable, error.refresh), (newest.retriable, newest.refresh), "{code} {}", error.name);
    }
}
