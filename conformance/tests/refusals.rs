//! Error responses are those of Kafka's own classes.

use std::collections::BTreeSet;
use std::path::Path;

use milena_conformance::{REFUSAL_DIFFERENCES, Refusal, RefusalOutcome, read_refusals, refusal_outcome};
use milena_fault::{FaultedRequest, Injection, Level, level, respond};
use milena_messages::ApiKey;
use milena_schema::Spec;
use serde_json::json;

fn refusals() -> Vec<Refusal> {
    read_refusals(&Path::new(env!("CARGO_MANIFEST_DIR")).join("vectors")).expect("the vectors can be read")
}

#[test]
fn every_api_is_refused_as_kafka_refuses_it() {
    let (mut same, mut of_elements) = (0, 0);
    let (mut asked, mut compared) = (BTreeSet::new(), BTreeSet::new());
    let (mut unknown, mut listed) = (BTreeSet::new(), BTreeSet::new());
    for refusal in refusals().iter().filter(|refusal| refusal.whole) {
        let pair = (refusal.api, refusal.version);
        asked.insert(pair);
        match refusal_outcome(refusal).unwrap() {
            RefusalOutcome::Same => {
                same += 1;
                compared.insert(pair);
            }
            RefusalOutcome::OfElements => of_elements += 1,
            RefusalOutcome::Differs(fields) => {
                for (field, what) in fields {
                    let entry = REFUSAL_DIFFERENCES.iter().find(|(api, known, _)| match *api {
                        "*" => field.split('.').next_back() == Some(*known),
                        api => refusal.api.name() == Some(api) && field == *known,
                    });
                    match entry {
                        Some(entry) => {
                            listed.insert(entry);
                            compared.insert(pair);
                        }
                        None => {
                            let Refusal { api, version, code, .. } = refusal;
                            unknown.insert(format!("{api} {version} {code}: {field}: {what}"));
                        }
                    }
                }
            }
        }
    }
    assert!(unknown.is_empty(), "{unknown:#?}");
    let stale: Vec<_> = REFUSAL_DIFFERENCES.iter().filter(|entry| !listed.contains(entry)).collect();
    assert!(stale.is_empty(), "listed, but no longer there: {stale:#?}");
    // Metadata is patched into the broker's own response, and there is nothing to compare in DescribeLogDirs 0 to 2.
    let missing: Vec<_> = asked.difference(&compared).filter(|(api, _)| *api != ApiKey::METADATA).collect();
    assert!(missing.is_empty(), "never compared: {missing:?}");
    println!("{same} the same, {of_elements} about elements only, {} pairs of {}", compared.len(), asked.len());
    assert!(asked.len() == 368 && same > 4_900, "{} pairs, {same} the same", asked.len());
}

#[test]
fn a_partition_of_a_fetch_fails_as_kafka_lets_it_fail() {
    let request = Spec::kafka().message("FetchRequest").unwrap();
    let response = Spec::kafka().message("FetchResponse").unwrap();
    let json = json!({ "topics": [{ "topic": "letters", "partitions": [{ "partition": 3, "logStartOffset": 9 }] }] });
    let mut compared = 0;
    for refusal in refusals().iter().filter(|refusal| !refusal.whole && refusal.release == "4.4.0") {
        let Refusal { api, version, code, .. } = *refusal;
        if level(api, code) != Some(Level::Elements) {
            continue;
        }
        let body = request.encode(&json, version).unwrap();
        let Injection::Response(frame) = respond(&FaultedRequest { api, version, correlation_id: 7, body }, code, None)
        else {
            panic!("{code}");
        };
        let theirs = response.decode(refusal.response.clone().unwrap(), version).unwrap().json;
        let ours = response.decode(frame.slice(5..), version).unwrap().json;
        assert_eq!(ours.to_string(), theirs.to_string(), "{code}");
        compared += 1;
    }
    // 138 codes without NONE and those of whole requests.
    assert_eq!(compared, 138 - 1 - 6);
}
