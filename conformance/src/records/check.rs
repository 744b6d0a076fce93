use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::check::{Codec, Difference, Found};
use crate::records::read::read_set;
use crate::records::vector::RecordVector;
use crate::records::write::rewrite;
use crate::vector::to_hex;

/// What the vectors of records say.
#[derive(Clone, Debug, Default)]
pub struct RecordsReport {
    /// Vectors by kind and by what came of them.
    pub kinds: BTreeMap<&'static str, Outcomes>,
    /// Vectors by release.
    pub releases: BTreeMap<String, usize>,
}

/// How many vectors of a kind came out how.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcomes {
    /// All of them.
    pub vectors: usize,
    /// Those that Kafka refused.
    pub refused: usize,
    /// Those on which Kafka and milena agree in all.
    pub passes: usize,
    /// Those with differences that are all listed.
    pub deviations: usize,
    /// Those with others.
    pub failures: usize,
}

impl RecordsReport {
    /// Counts a vector.
    pub(crate) fn add(&mut self, vector: &RecordVector, listed: bool, failed: bool) {
        *self.releases.entry(vector.release.clone()).or_default() += 1;
        let outcomes = self.kinds.entry(vector.kind).or_default();
        outcomes.vectors += 1;
        outcomes.refused += usize::from(vector.read["ok"] == false);
        outcomes.failures += usize::from(failed);
        outcomes.deviations += usize::from(listed && !failed);
        outcomes.passes += usize::from(!listed && !failed);
    }

    /// All vectors of a kind, and those that Kafka refused.
    pub fn vectors(&self, kind: &str) -> (usize, usize) {
        self.kinds.get(kind).map_or((0, 0), |outcomes| (outcomes.vectors, outcomes.refused))
    }

    pub(crate) fn sum(&self, of: impl Fn(&Outcomes) -> usize) -> usize {
        self.kinds.values().map(of).sum()
    }

    /// Lines for the summary.
    pub(crate) fn summary(&self) -> Vec<(&'static str, String)> {
        let releases: Vec<_> =
            self.releases.iter().rev().map(|(name, vectors)| format!("{name} ({vectors})")).collect();
        let (corruptions, refused) = self.vectors("corruption");
        vec![
            ("record sets that Kafka wrote", self.vectors("set").0.to_string()),
            ("record sets that milena wrote and Kafka read", self.vectors("ours").0.to_string()),
            ("damaged record sets, and those of them that Kafka refuses", format!("{corruptions}, {refused}")),
            ("records: all is as in Kafka", self.sum(|outcomes| outcomes.passes).to_string()),
            ("records: listed deviation", self.sum(|outcomes| outcomes.deviations).to_string()),
            ("records: unexplained difference", self.sum(|outcomes| outcomes.failures).to_string()),
            ("record sets by release of Kafka", releases.join(", ")),
        ]
    }
}

/// Holds `milena-records` against one vector: what it reads, and for what Kafka or milena wrote whether it writes the same.
pub fn record_differences(vector: &RecordVector) -> Vec<Difference> {
    let mut differences = Vec::new();
    let mut note = |found, detail: String| {
        let hex = to_hex(&vector.bytes);
        let shown = if hex.len() > 2000 { format!("{}…", &hex[..2000]) } else { hex };
        differences.push(Difference {
            message: "records".to_owned(),
            version: vector.bytes.get(16).map_or(-1, |&magic| i16::from(magic as i8)),
            kind: vector.kind,
            codec: Codec::Records,
            found,
            detail: format!("{}: {detail}", vector.name),
            input: shown,
        });
    };
    let ours = read_set(&vector.bytes);
    let verdict = |set: &Value| set["ok"].as_bool().unwrap_or_default();
    match (verdict(&vector.read), verdict(&ours)) {
        (true, false) => note(Found::RefusesToRead, fault(&ours)),
        (false, true) => note(Found::Reads, fault(&vector.read)),
        _ => {
            if let Some(difference) = unequal(&vector.read, &ours, String::new()) {
                note(Found::OtherJson, difference);
            }
            for (kafka, ours) in in_front_of_damage(&vector.read, &ours) {
                note(Found::OtherJson, format!("Kafka gives {kafka} records in front of the fault, milena {ours}"));
            }
        }
    }
    if matches!(vector.kind, "set" | "ours") {
        for difference in rewrite(&vector.bytes) {
            note(Found::OtherBytes, difference);
        }
    }
    differences
}

/// Records of compressed batches that both refuse, where only Kafka has given records before.
fn in_front_of_damage(kafka: &Value, ours: &Value) -> Vec<(usize, usize)> {
    let batches = |set: &Value| set["batches"].as_array().cloned().unwrap_or_default();
    let count = |batch: &Value| batch["records"].as_array().map_or(0, Vec::len);
    let pairs = batches(kafka).into_iter().zip(batches(ours));
    pairs
        .filter(|(kafka, ours)| damaged_payload(kafka, ours))
        .map(|(kafka, ours)| (count(&kafka), count(&ours)))
        .filter(|(kafka, ours)| kafka != ours)
        .collect()
}

/// Whether both refuse a batch, and milena because its payload does not decompress.
fn damaged_payload(kafka: &Value, ours: &Value) -> bool {
    let error = ours["error"].as_str().unwrap_or_default();
    kafka["error"].is_string() && kafka["codec"] != "none" && error.contains("].records: ")
}

/// The first error in what was read.
fn fault(set: &Value) -> String {
    let batches = set["batches"].as_array().into_iter().flatten();
    let errors = batches.chain([set]).find_map(|place| place["error"].as_str());
    errors.unwrap_or("no error").to_owned()
}

/// Where two JSONs first differ. Two errors are equal, whatever they say.
fn unequal(kafka: &Value, ours: &Value, path: String) -> Option<String> {
    match (kafka, ours) {
        (Value::Object(a), Value::Object(b)) => {
            if a.contains_key("magic") && !b.contains_key("magic") {
                return Some(format!("{path}: Kafka shows the header of an entry too small for one"));
            }
            let in_front = damaged_payload(kafka, ours);
            let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            names.into_iter().find_map(|name| {
                let (a, b) = (a.get(name), b.get(name));
                let path = format!("{path}.{name}");
                match (a, b) {
                    (Some(_), Some(_)) if name == "error" || name == "records" && in_front => None,
                    (Some(a), Some(b)) => unequal(a, b, path),
                    _ => Some(format!("{path}: Kafka {}, milena {}", shown(a), shown(b))),
                }
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).enumerate().find_map(|(i, (a, b))| unequal(a, b, format!("{path}[{i}]")))
        }
        (Value::Array(a), Value::Array(b)) => Some(format!("{path}: Kafka has {}, milena {}", a.len(), b.len())),
        _ if kafka == ours => None,
        _ => Some(format!("{path}: Kafka {kafka}, milena {ours}")),
    }
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "none".to_owned(), Value::to_string)
}
