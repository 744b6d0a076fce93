use milena_wire::Reader;
use serde_json::Value;

use super::decode::memory;
use super::*;
use crate::Spec;
use crate::model::{StructSpec, Type};

/// The fewest bytes that a value of this type takes.
fn least(message: &MessageSpec, ty: &Type, version: i16) -> usize {
    let flexible = message.is_flexible(version);
    match ty {
        Type::Bool | Type::Int8 => 1,
        Type::Int16 | Type::Uint16 => 2,
        Type::Int32 | Type::Uint32 => 4,
        Type::Int64 | Type::Float64 => 8,
        Type::Uuid => 16,
        _ if flexible && !matches!(ty, Type::Struct(_)) => 1,
        Type::String => 2,
        Type::Bytes | Type::Records | Type::Array(_) => 4,
        Type::Struct(id) => {
            let fields = message.structure(*id).fields.iter();
            let fields = fields.filter(|field| field.tag.is_none() && field.versions.contains(version));
            usize::from(flexible)
                + fields
                    .map(|field| match &field.ty {
                        Type::Struct(_) if field.nullable.contains(version) => 1,
                        ty => least(message, ty, version),
                    })
                    .sum::<usize>()
        }
    }
}

#[test]
fn the_limits_refuse_no_array_whose_bytes_are_there() {
    let mut highest = 0;
    for message in &Spec::kafka().messages {
        for version in message.versions.iter() {
            let present = |structure: &&StructSpec| structure.versions.contains(version);
            for field in message.structs.iter().filter(present).flat_map(|structure| &structure.fields) {
                let Type::Array(element) = &field.ty else { continue };
                if field.versions.contains(version) {
                    let least = least(message, element, version);
                    let memory = memory(message, version, element);
                    assert!(
                        memory <= JSON_LIMITS.memory_per_byte * least,
                        "{} v{version} {}: {memory} bytes of memory for {least}",
                        message.name,
                        field.name
                    );
                    highest = highest.max(memory / least);
                }
            }
        }
    }
    assert!(highest + highest / 4 > JSON_LIMITS.memory_per_byte, "{highest} would do");
}

#[test]
fn defaults_and_samples_of_every_version_survive() {
    for message in &Spec::kafka().messages {
        for version in message.versions.iter() {
            let json = message.default_json(version).unwrap();
            let bytes = message.encode(&json, version).unwrap();
            assert_eq!(bytes, message.encode(&Value::Object(Default::default()), version).unwrap());
            let back = message.decode(bytes, version).unwrap();
            assert_eq!((back.json, back.leftover), (json, 0), "{} v{version}", message.name);

            let json = message.sample_json(version, 1).unwrap();
            let bytes = message.encode(&json, version).unwrap_or_else(|error| panic!("v{version}: {error}"));
            let back = message.decode(bytes.clone(), version).unwrap();
            assert_eq!((&back.json, back.leftover), (&json, 0), "{} v{version}", message.name);
            assert_eq!(back.json.to_string(), json.to_string(), "order in {} v{version}", message.name);
            let mut reader = Reader::with_limits(bytes, JSON_LIMITS);
            assert_eq!(message.decode_from(&mut reader, version).unwrap(), json);
        }
    }
}
