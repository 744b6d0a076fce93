use milena_wire::Uuid;
use serde_json::{Map, Value};

use super::decode::base64_json;
use super::default;
use crate::model::{Entity, Field, FieldDefault, MessageSpec, StructId, StructSpec, Type};

/// One record, key `prague` and value `Dear Milena`, in each of the three formats; base64.
const RECORDS: [&str; 3] = [
    "AAAAAAAAAAAAAAAfvx2UpAAAAAAABnByYWd1ZQAAAAtEZWFyIE1pbGVuYQ==",
    "AAAAAAAAAAAAAAAnvU9+6AEAAAABi8/laAAAAAAGcHJhZ3VlAAAAC0RlYXIgTWlsZW5h",
    "AAAAAAAAAAAAAABJ/////wIcugtFAAAAAAAAAAABi8/laAAAAAGLz+VoAP//////////////////AAAAAS4AAAAMcHJhZ3VlFkRlYXIgTWls\
     ZW5hAA==",
];

/// The first second of 2026, in milliseconds since 1970.
const NOW: i64 = 1_767_225_600_000;

/// Text by the name of its field; the first row that fits counts. `*` stands for any start or end.
const TEXTS: &[(&str, &str)] = &[
    ("clientSoftwareName", "milena"),
    ("clientSoftwareVersion", "0.1.0"),
    ("clientId", "milena"),
    ("clientHost", "/192.0.2.7"),
    ("clusterId", "bWlsZW5hLWNsdXN0ZXItMQ"),
    ("host*", "broker-1.example"),
    ("rack*", "vienna"),
    ("memberId", "milena-1"),
    ("*nstanceId", "desk-1"),
    ("protocolType", "consumer"),
    ("protocol*", "range"),
    ("*ssignor*", "uniform"),
    ("mechanism*", "SCRAM-SHA-256"),
    ("group*Type", "consumer"),
    ("type*Filter", "consumer"),
    ("*tate", "Stable"),
    ("state*Filter", "Stable"),
    ("group*", "readers"),
    ("coordinatorKeys", "readers"),
    ("transactionalId*", "post-office"),
    ("topic*", "letters"),
    ("*ourceTopicRegex", "let.*"),
    ("*ourceTopics", "letters"),
    ("*inkTopic*", "responses"),
    ("*egularExpression", "let.*"),
    ("*Regex", "let.*"),
    ("*Filter", "letters"),
    ("*rincipalType", "User"),
    ("*rincipalName", "milena"),
    ("*rincipal", "User:milena"),
    ("renewers", "User:milena"),
    ("owner", "User:milena"),
    ("requester", "User:milena"),
    ("user", "milena"),
    ("entityType", "user"),
    ("entityName", "milena"),
    ("resourceName", "letters"),
    ("configurationKeys", "retention.ms"),
    ("*feature", "metadata.version"),
    ("listener*", "PLAINTEXT"),
    ("logDir*", "/var/lib/kafka"),
    ("path", "/var/lib/kafka"),
    ("reason", "going home"),
    ("*subtopologyId", "0"),
    ("stores", "counts"),
    ("tokenId", "token-1"),
    ("requestedMetrics", "org.apache.kafka."),
    ("value", "604800000"),
    ("*etadata", "a note"),
];

/// What the field `name` of a struct stands for, by the name of the struct.
const NAMES: &[(&str, &str)] = &[
    ("*Feature*", "metadata.version"),
    ("*Endpoint", "PLAINTEXT"),
    ("*EndPoint", "PLAINTEXT"),
    ("*Listener*", "PLAINTEXT"),
    ("*Protocol*", "range"),
    ("*Topic*", "letters"),
    ("*Config*", "retention.ms"),
    ("*Component*", "user"),
    ("*User*", "milena"),
    ("*", "retention.ms"),
];

/// Numbers by the name of their field; the first row that fits counts.
const NUMBERS: &[(&str, i64)] = &[
    ("*rrorCode", 0),
    ("throttleTimeMs", 0),
    ("maxWaitMs", 500),
    ("sessionTimeout*", 45_000),
    ("rebalanceTimeout*", 300_000),
    ("heartbeatIntervalMs", 5_000),
    ("*imestamp*", NOW),
    ("*imeoutMs", 30_000),
    ("*artTimeMs", NOW),
    ("*TimeMs", NOW),
    ("*TimePeriodMs", 86_400_000),
    ("*LifetimeMs", 86_400_000),
    ("*PeriodMs", 86_400_000),
    ("*Ms", 60_000),
    ("port", 9092),
    ("*roducerEpoch", 0),
    ("*emberEpoch", 3),
    ("correlationId", 7),
    ("acks", -1),
    ("minBytes", 1),
    ("maxBytes", 52_428_800),
    ("*MaxBytes", 1_048_576),
    ("*egmentSizeInBytes", 1_048_576),
    ("*poch", 5),
    ("*artitionIndex*", 0),
    ("partition*", 0),
    ("numPartitions", 3),
    ("count", 3),
    ("replicationFactor", 3),
    ("*LogStartOffset", 0),
    ("logStartOffset", 0),
    ("lowWatermark", 0),
    ("highWatermark", 43),
    ("lastStableOffset", 43),
    ("endOffset", 43),
    ("*ogEndOffset", 43),
    ("baseOffset", 42),
    ("*ffset", 42),
    ("*roducerId*", 4_000),
    ("generation*", 3),
    ("min*ersion*", 0),
    ("max*ersion*", 1),
    ("*apiKey", 3),
    ("iterations", 4_096),
    ("crc", 0x1cba_0b45),
    ("*Bytes", 1_048_576),
];

/// Byte strings by the name of their field.
const BYTES: &[(&str, &[u8])] = &[
    ("authBytes", b"\0milena\0secret"),
    ("*HostAddress", &[192, 0, 2, 7]),
    ("value", b"Dear Milena"),
    ("key", b"prague"),
    ("*", b"\x01\x02\x03\x04"),
];

/// Makes values that show what a field is for. Nothing is random.
pub(super) struct Exampler<'a> {
    message: &'a MessageSpec,
    version: i16,
}

impl<'a> Exampler<'a> {
    pub(super) fn new(message: &'a MessageSpec, version: i16) -> Self {
        Self { message, version }
    }

    pub(super) fn structure(&self, id: StructId) -> Value {
        let structure = self.message.structure(id);
        let fields = structure.fields.iter().filter(|field| field.versions.contains(self.version));
        Value::Object(
            fields.map(|field| (field.json_name.clone(), self.field(structure, field))).collect::<Map<_, _>>(),
        )
    }

    fn field(&self, owner: &StructSpec, field: &Field) -> Value {
        // Errors and their texts are as when all went well; the text shows what null looks like.
        let nothing = field.json_name.ends_with("rrorMessage") && field.is_nullable(self.version);
        if nothing && field.tag.is_none() {
            return Value::Null;
        }
        let value = self.value(owner, field, &field.ty);
        // A tagged field shows only when it is not the default.
        if field.tag.is_some() && default::is_default(self.message, field, &value) {
            return if field.ty == Type::Bool { Value::Bool(true) } else { Value::from(1) };
        }
        value
    }

    fn value(&self, owner: &StructSpec, field: &Field, ty: &Type) -> Value {
        let name = field.json_name.as_str();
        match ty {
            Type::Bool => default::value(field, self.version),
            Type::Int8 | Type::Int16 | Type::Int32 | Type::Int64 | Type::Uint16 | Type::Uint32 => {
                Value::from(self.number(field, ty))
            }
            Type::Float64 => Value::from(1_000_000.5),
            Type::Uuid => {
                let bytes = if name == "topicId" { b"letters-topic-id" } else { b"milena-directory" };
                Value::String(Uuid::from_bytes(*bytes).to_string())
            }
            Type::String => Value::from(text(owner, field)),
            Type::Bytes => base64_json(find(BYTES, name).unwrap_or_default()),
            Type::Records => Value::from(RECORDS[self.magic()]),
            Type::Struct(id) => self.structure(*id),
            // Two numbers show that there can be several; one of anything else is enough to read.
            Type::Array(element) if **element == Type::Int32 && field.entity == Some(Entity::BrokerId) => {
                Value::from(vec![1, 2])
            }
            Type::Array(element) => Value::Array(vec![self.value(owner, field, element)]),
        }
    }

    fn number(&self, field: &Field, ty: &Type) -> i64 {
        let name = field.json_name.as_str();
        let fits = |number: &i64| match ty {
            Type::Int8 => i8::try_from(*number).is_ok(),
            Type::Int16 => i16::try_from(*number).is_ok(),
            Type::Int32 => i32::try_from(*number).is_ok(),
            _ => true,
        };
        match (field.default.clone(), field.entity) {
            // Which replica follows which, and what an operator may do is mostly left at its default.
            (FieldDefault::Number(number), _) if name.ends_with("Operations") || name == "replicaId" => number,
            (_, Some(Entity::BrokerId)) => 1,
            _ => find(NUMBERS, name).filter(fits).unwrap_or(1),
        }
    }

    /// The format of records that went with a version of Produce or Fetch; the newest anywhere else.
    fn magic(&self) -> usize {
        match (self.message.name.as_str(), self.version) {
            ("ProduceRequest" | "FetchResponse", 0 | 1) => 0,
            ("ProduceRequest", 2) | ("FetchResponse", 2 | 3) => 1,
            _ => 2,
        }
    }
}

fn text(owner: &StructSpec, field: &Field) -> &'static str {
    match field.entity {
        Some(Entity::TopicName) if !field.json_name.contains("ink") => "letters",
        Some(Entity::GroupId) => "readers",
        Some(Entity::TransactionalId) => "post-office",
        _ if field.json_name == "name" => find(NAMES, &owner.name).unwrap_or("name"),
        _ => find(TEXTS, &field.json_name).unwrap_or("text"),
    }
}

fn find<T: Copy>(table: &[(&str, T)], name: &str) -> Option<T> {
    table.iter().find(|(pattern, _)| fits(pattern, name)).map(|(_, value)| *value)
}

/// Whether a name fits a pattern, in which a `*` stands for anything.
fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;

    #[test]
    fn patterns_stand_for_any_start_and_end() {
        assert!(fits("host*", "hostName") && fits("*Ms", "maxWaitMs") && fits("port", "port") && fits("*", "x"));
        assert!(fits("min*ersion*", "minSupportedVersion") && fits("*Feature*", "SupportedFeatureKey"));
        assert!(!fits("port", "ports") && !fits("*Ms", "messages") && !fits("a*a", "a"));
    }

    #[test]
    fn every_example_is_written_and_read_back_as_it_was() {
        for message in &Spec::kafka().messages {
            for version in message.versions.iter() {
                let json = message.example_json(version).unwrap();
                let bytes = message.encode(&json, version).unwrap_or_else(|error| panic!("{version}: {error}"));
                let back = message.decode(bytes, version).unwrap();
                assert_eq!((back.json, back.leftover), (json, 0), "{} version {version}", message.name);
            }
        }
    }
}
