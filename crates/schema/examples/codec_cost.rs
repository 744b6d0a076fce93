//! What it costs to walk over messages by the spec, in instructions: run each way under `valgrind --tool=callgrind` or
//! `perf stat -e instructions:u`.
//!
//! ```sh
//! cargo build --release -p milena-schema --example codec_cost
//! for way in none decode json scan annotate; do valgrind --tool=callgrind target/release/examples/codec_cost $way 100; done
//! ```
//!
//! `none` makes the bytes and reads nothing: subtract it from the others.

use std::error::Error;
use std::hint::black_box;

use bytes::Bytes;
use milena_schema::{MessageSpec, Spec};

/// Messages that brokers and clients send most, small and large ones.
const MESSAGES: [(&str, i16); 6] = [
    ("MetadataResponse", 12),
    ("FetchRequest", 13),
    ("FetchResponse", 13),
    ("ProduceRequest", 9),
    ("ApiVersionsResponse", 3),
    ("JoinGroupResponse", 5),
];

fn main() -> Result<(), Box<dyn Error>> {
    let way = std::env::args().nth(1).unwrap_or_default();
    let rounds: usize = std::env::args().nth(2).map_or(Ok(20), |rounds| rounds.parse())?;
    let spec = Spec::kafka();
    let mut samples: Vec<(&MessageSpec, i16, Bytes)> = Vec::new();
    for (name, version) in MESSAGES {
        let message = spec.message(name)?;
        samples.push((message, version, message.encode(&message.sample_json(version, 1)?, version)?));
    }
    // One large response: 50 topics of 20 partitions.
    let metadata = spec.message("MetadataResponse")?;
    let partition =
        serde_json::json!({"partitionIndex": 1, "leaderId": 1, "replicaNodes": [1, 2, 3], "isrNodes": [1, 2, 3]});
    let topic = serde_json::json!({"name": "letters", "partitions": vec![partition; 20]});
    samples.push((metadata, 12, metadata.encode(&serde_json::json!({"topics": vec![topic; 50]}), 12)?));

    for _ in 0..rounds {
        for (message, version, bytes) in &samples {
            match way.as_str() {
                "decode" => drop(black_box(message.decode(bytes.clone(), *version)?)),
                "json" => {
                    let mut text = Vec::new();
                    message.write_json(bytes.clone(), *version, &mut text)?;
                    black_box(&text);
                }
                "scan" => drop(black_box(message.scan(bytes.clone(), *version, |_, value| drop(black_box(value)))?)),
                "annotate" => drop(black_box(message.decode_annotated(bytes.clone(), *version))),
                _ => {}
            }
        }
    }
    Ok(())
}
