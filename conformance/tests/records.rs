//! Record sets, as Apache Kafka's Java classes wrote and read them: see `README.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use milena_conformance::{
    Deviations, RecordVector, from_hex, our_sets, read_record_vectors, read_set, record_differences, rewrite,
};
use milena_records::Codec;
use serde_json::{Value, json};

fn here() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn vectors() -> &'static [RecordVector] {
    static VECTORS: OnceLock<Vec<RecordVector>> = OnceLock::new();
    VECTORS.get_or_init(|| {
        let mut vectors = Vec::new();
        read_record_vectors(&here().join("vectors"), |vector| vectors.push(vector)).expect("the vectors can be read");
        vectors
    })
}

#[test]
fn records_are_read_and_written_as_kafka_does() {
    let deviations = Deviations::read(&here().join("deviations.md")).unwrap();
    let mut counts = BTreeMap::<_, usize>::new();
    let mut met = BTreeSet::new();
    for vector in vectors() {
        *counts.entry(vector.kind).or_default() += 1;
        for difference in record_differences(vector) {
            let row = deviations.position(&difference);
            met.insert(row.unwrap_or_else(|| panic!("{difference}")));
        }
    }
    assert!(counts["set"] >= 300 && counts["corruption"] >= 200 && counts["ours"] >= 100, "{counts:?}");
    for (row, deviation) in deviations.0.iter().enumerate() {
        assert_eq!(met.contains(&row), deviation.codec == "records", "{} no longer occurs", deviation.id);
    }
}

/// Without this the rows above could all be about one corner.
#[test]
fn the_sets_cover_every_format() {
    let mut seen = BTreeSet::new();
    for vector in vectors().iter().filter(|vector| vector.kind == "set") {
        assert_eq!(vector.read["ok"], true, "{}", vector.name);
        for batch in vector.read["batches"].as_array().unwrap() {
            seen.insert(format!("{} {} {}", batch["magic"], batch["codec"], batch["timestampType"]));
            seen.extend(batch["isControl"].as_bool().filter(|yes| *yes).map(|_| "control".to_owned()));
            seen.extend(batch["deleteHorizon"].as_i64().map(|_| "horizon".to_owned()));
        }
    }
    for codec in Codec::ALL {
        for time in ["create", "logAppend"] {
            for magic in if codec == Codec::Zstd { 2..=2 } else { 1..=2 } {
                assert!(seen.remove(&format!("{magic} \"{codec}\" \"{time}\"")), "{magic} {codec} {time}");
            }
        }
    }
    let rest: Vec<_> = seen.into_iter().collect();
    let magic0 = ["gzip", "lz4", "none", "snappy"].map(|codec| format!("0 \"{codec}\" \"none\""));
    assert_eq!(rest, [&magic0[..], &["control".to_owned(), "horizon".to_owned()]].concat());
}

/// What Kafka read of our sets speaks for what the builders write today.
#[test]
fn kafka_has_read_what_the_builders_write() {
    let mut read: BTreeMap<String, RecordVector> =
        vectors().iter().filter(|v| v.kind == "ours").cloned().map(|v| (v.name.clone(), v)).collect();
    for ours in our_sets().unwrap() {
        let verdict = read.remove(&ours.name).unwrap_or_else(|| panic!("Kafka has not read {}", ours.name));
        assert_eq!(verdict.read["ok"], true, "{}", ours.name);
        if ours.codec == Codec::None {
            assert_eq!(verdict.bytes, ours.bytes, "{}: write the vectors again", ours.name);
        }
        // Another release of a compressor may give other bytes, but what they hold is the same.
        let mut today = read_set(&ours.bytes);
        let mut kafka = verdict.read;
        for set in [&mut today, &mut kafka] {
            let batches = set["batches"].as_array_mut().unwrap();
            batches.iter_mut().filter(|_| ours.codec != Codec::None).for_each(|batch| {
                batch["crc"] = Value::Null;
                batch["sizeInBytes"] = Value::Null;
            });
        }
        assert_eq!(today, kafka, "{}", ours.name);
    }
    assert!(read.is_empty(), "Kafka has read what is no longer written: {:?}", read.keys());
}

fn changed(change: impl Fn(&mut RecordVector)) -> Vec<String> {
    let mut vector =
        vectors().iter().find(|vector| vector.name == "v2/none/create/none/few").expect("a vector").clone();
    change(&mut vector);
    record_differences(&vector).into_iter().map(|found| format!("{}: {}", found.found.name(), found.detail)).collect()
}

/// The check finds what is wrong: it is no proof otherwise.
#[test]
fn differences_are_found() {
    assert!(changed(|_| {}).is_empty());
    let found = changed(|vector| vector.read["batches"][0]["records"][1]["value"] = json!("eA=="));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("other json: v2/none/create/none/few: .batches[0].records[1].value: "), "{found:?}");
    let found = changed(|vector| vector.read["batches"][0]["error"] = json!("CorruptRecordException"));
    assert!(found[0].starts_with("other json"), "{found:?}");
    let found = changed(|vector| {
        vector.read["ok"] = json!(false);
        vector.read["error"] = json!("CorruptRecordException");
    });
    assert!(found[0].starts_with("reads") && found[0].ends_with("CorruptRecordException"), "{found:?}");
    let found = changed(|vector| vector.bytes = vector.bytes.slice(..vector.bytes.len() - 1));
    assert!(found[0].starts_with("other json") && found[0].contains(".batches: Kafka has 1, milena 0"), "{found:?}");
    let found = changed(|vector| {
        let mut bytes = vector.bytes.to_vec();
        *bytes.last_mut().unwrap() ^= 1;
        vector.bytes = bytes.into();
    });
    assert!(found[0].starts_with("refuses to read") && found[0].contains("bad_crc"), "{found:?}");
}

#[test]
fn bytes_that_no_builder_writes_are_found() {
    // One record whose length takes five bytes.
    let payload = from_hex("9080808000000000026b027600").unwrap();
    let mut batch =
        our_sets().unwrap().into_iter().find(|ours| ours.name == "v2/none/plain/few").unwrap().bytes.to_vec();
    batch.truncate(61);
    batch.extend_from_slice(&payload);
    batch[8..12].copy_from_slice(&(61 - 12 + payload.len() as u32).to_be_bytes());
    batch[57..61].copy_from_slice(&1_u32.to_be_bytes());
    let found = rewrite(&batch.into());
    assert!(found[0].starts_with("batches[0]: batch, byte "), "{found:?}");
}
