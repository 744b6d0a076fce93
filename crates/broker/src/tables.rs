//! Keeps the tables of APIs in the documents as the table of handlers is.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::handler::SERVED;

/// The rows of APIs in a text: name and notes.
fn notes(text: &str) -> BTreeMap<&str, &str> {
    text.lines()
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| ")?.strip_suffix('|')?.splitn(3, " |");
            let (name, _, note) = (cells.next()?, cells.next()?, cells.next()?);
            Some((name.trim(), note.trim()))
        })
        .collect()
}

/// What Kafka 4.4 lists in ApiVersions: name, least and greatest version. Recorded from a broker with default settings.
const RECORDED: &str = include_str!("kafka-4.4-api-versions.tsv");

fn recorded() -> impl Iterator<Item = (&'static str, i16, i16)> {
    RECORDED.lines().map(|line| {
        let cells: Vec<&str> = line.split('\t').collect();
        (cells[0], cells[1].parse().unwrap(), cells[2].parse().unwrap())
    })
}

/// The table of the APIs that Kafka has, with these notes.
fn table(notes: &BTreeMap<&str, &str>) -> String {
    let served = SERVED.iter().map(|(api, served)| (api.to_string(), served.to_string()));
    let all = recorded().map(|(name, ..)| (name.to_owned(), "not served".to_owned()));
    let rows: BTreeMap<String, String> = all.chain(served).collect();
    let mut text = "| API | versions | notes |\n|---|---|---|\n".to_owned();
    for (name, versions) in rows {
        let note = notes.get(&*name).copied().unwrap_or_default();
        let space = if note.is_empty() { "" } else { " " };
        text.push_str(&format!("| {name} | {versions} | {note}{space}|\n"));
    }
    text
}

/// Kafka serves telemetry as well, and lists it when it has a receiver of metrics.
const UNLISTED: [&str; 2] = ["GetTelemetrySubscriptions", "PushTelemetry"];

#[test]
fn versions_are_those_of_kafka_4_4_and_older_ones() {
    let kafka: BTreeMap<&str, (i16, i16)> = recorded().map(|(name, min, max)| (name, (min, max))).collect();
    assert_eq!(kafka.len() + UNLISTED.len(), 79, "the APIs of Kafka's broker listener");
    for (api, served) in SERVED {
        let name = api.to_string();
        match kafka.get(&*name) {
            Some((min, max)) => {
                assert!(served.min() <= *min && served.max() == *max, "{name}: {served}, Kafka has {min}-{max}");
            }
            None => assert!(UNLISTED.contains(&&*name), "{name} is not an API of Kafka's brokers"),
        }
    }
}

/// After a change of what is served: `MILENA_UPDATE_TABLES=1 cargo test -p milena-broker tables` writes the tables again and
/// keeps their notes.
#[test]
fn the_tables_of_apis_are_those_of_the_handlers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (crate_page, page) = (root.join("src/apis.md"), root.join("../../docs/broker.md"));
    let known = fs::read_to_string(&crate_page).unwrap();
    let expected = table(&notes(&known));
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once("<!-- apis -->\n").unwrap();
    let (shown, after) = rest.split_once("<!-- end of apis -->").unwrap();
    if std::env::var_os("MILENA_UPDATE_TABLES").is_some() {
        fs::write(&crate_page, &expected).unwrap();
        fs::write(&page, format!("{before}<!-- apis -->\n{expected}<!-- end of apis -->{after}")).unwrap();
        return;
    }
    let help = "run `MILENA_UPDATE_TABLES=1 cargo test -p milena-broker tables`";
    assert_eq!(known, expected, "{help}");
    assert_eq!(shown, expected, "{help}");
}
