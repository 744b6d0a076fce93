//! Recorded traffic of real clients and real brokers against both codecs: see `README.md`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use milena_conformance::{Conversation, Direction, Recording, TrafficReport, read_traffic, run_traffic};

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn report() -> &'static TrafficReport {
    static REPORT: OnceLock<TrafficReport> = OnceLock::new();
    REPORT.get_or_init(|| run_traffic(&here().join("traffic")).expect("the recordings can be read"))
}

#[test]
fn every_frame_is_read_and_written_again_or_is_listed() {
    let report = report();
    assert!(report.is_clean(), "{report}");
}

/// Without this the recordings could have shrunk to nothing.
#[test]
fn the_recordings_cover_what_clients_use() {
    let report = report();
    assert!(report.frames() >= 19_000, "{} frames", report.frames());
    assert!(report.understood() >= report.frames(), "{} messages understood", report.understood());
    assert!(report.pairs() >= 260, "{} pairs in both directions", report.pairs());
    assert!(report.records() >= 16_000, "{} records", report.records());
}

#[test]
fn the_index_and_the_table_say_what_the_recordings_have() {
    let index = std::fs::read_to_string(here().join("traffic/index.tsv")).unwrap();
    assert_eq!(index, report().index(), "run `cargo xtask conformance`");
    let readme = std::fs::read_to_string(here().join("README.md")).unwrap();
    assert_eq!(Some(&readme), report().insert_table(&readme).as_ref(), "run `cargo xtask conformance`");
}

/// Without this the check could let anything pass.
#[test]
fn damage_is_found() {
    let recordings = read_traffic(&here().join("traffic")).unwrap();
    let whole = recordings.iter().find(|recording| recording.client.starts_with("kafkajs")).unwrap();
    assert!(Conversation::of(whole).strange.is_empty());
    let found = |damage: &dyn Fn(&mut Recording)| {
        let mut recording = whole.clone();
        damage(&mut recording);
        Conversation::of(&recording).strange.into_iter().map(|strange| strange.what).collect::<Vec<_>>()
    };
    let response = whole.frames.iter().position(|frame| frame.direction == Direction::Response).unwrap();
    let change = |index: usize, how: fn(&mut Vec<u8>)| {
        move |recording: &mut Recording| {
            let mut bytes = recording.frames[index].bytes.to_vec();
            how(&mut bytes);
            recording.frames[index].bytes = bytes.into();
        }
    };
    assert_eq!(found(&change(response, |bytes| bytes.push(0))), ["1 byte left over"]);
    assert_eq!(found(&change(0, |bytes| bytes.extend([1, 2]))), ["2 bytes left over"]);
    assert_eq!(found(&change(response, |bytes| bytes.truncate(bytes.len() - 1))), ["cannot be read"]);
    // Another correlation id: the response has no request, and the request no response.
    assert_eq!(found(&change(response, |bytes| bytes[0] = 0x55)), ["no request", "no response"]);
    assert_eq!(found(&change(0, |bytes| bytes[0] = 0x55)), ["no such API", "no request"]);
    assert_eq!(found(&|recording| drop(recording.frames.remove(response))), ["no response"]);
    assert_eq!(found(&|recording| drop(recording.frames.remove(0))), ["no request"]);
    // The last byte of a Produce request is in its records, and their checksum does not fit any more.
    let is_produce =
        |frame: &milena_conformance::Frame| frame.direction == Direction::Request && frame.bytes[..2] == [0, 0];
    let produce = whole.frames.iter().position(is_produce).unwrap();
    assert_eq!(found(&change(produce, |bytes| *bytes.last_mut().unwrap() ^= 1)), ["records"]);
}
