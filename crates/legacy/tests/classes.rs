//! The table of classes names messages, versions and fields that exist.

use std::collections::HashSet;

use milena_legacy::classes::Versioned;
use milena_messages::FetchRequest;
use milena_schema::Spec;

/// `MaxWaitMs` and `max_wait_ms` alike.
fn folded(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

#[test]
fn every_row_names_a_message_its_versions_and_its_fields() {
    let rows = include_str!("../src/classes.md").lines().filter(|line| line.starts_with("| `"));
    let mut count = 0;
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let message = Spec::kafka().message(cells[3].trim_matches('`')).unwrap();
        let (first, last) = cells[2].split_once('-').unwrap_or((cells[2], cells[2]));
        for version in [first, last] {
            assert!(message.versions.contains(version.parse().unwrap()), "{row}");
        }
        let fields: HashSet<String> =
            message.structs.iter().flat_map(|owner| &owner.fields).map(|field| folded(&field.name)).collect();
        for pair in cells[4].split(", ").filter(|pair| !pair.is_empty()) {
            let (_, ours) = pair.split_once(" = ").unwrap();
            assert!(fields.contains(&folded(ours.trim_matches('`'))), "{pair} in {row}");
        }
        count += 1;
    }
    // What kafka-python 1.4.7 has classes for, requests and responses.
    assert_eq!(count, 48);
}

#[test]
fn a_versioned_message_writes_the_bytes_of_its_class() {
    // kafka-python 1.4.7: FetchRequest_v4(-1, 100, 1, 1024, 0, []).encode().
    let request = FetchRequest { max_wait_ms: 100, min_bytes: 1, max_bytes: 1024, ..Default::default() };
    let bytes = Versioned::<FetchRequest, 4>::new(request).to_bytes().unwrap();
    assert_eq!(bytes[..], *b"\xff\xff\xff\xff\x00\x00\x00\x64\x00\x00\x00\x01\x00\x00\x04\x00\x00\x00\x00\x00\x00");
}
