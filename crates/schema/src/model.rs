use std::fmt;

use milena_wire::VersionRange;

use crate::codec::Plans;

/// One request and its response.
#[derive(Clone, Debug, PartialEq)]
pub struct Api {
    /// Kafka's name, such as `Fetch`.
    pub name: String,
    /// The number in the request header.
    pub key: i16,
    /// Where it can be sent: `broker`, `controller`, `zkBroker`.
    pub listeners: Vec<String>,
    /// Every version ever released.
    pub versions: VersionRange,
    /// The versions with compact lengths and tagged fields (KIP-482).
    pub flexible: VersionRange,
    /// Versions that Kafka 3.7 to 3.9 called deprecated (KIP-896).
    pub deprecated: VersionRange,
    /// The releases in which a version was not offered unless unstable versions were enabled.
    pub unstable: Vec<Since>,
    /// The release that brought a version.
    pub added: Vec<Since>,
    /// The release that no longer has a version.
    pub dropped: Vec<Since>,
    /// Versions whose request header is not the one of the rule.
    pub request_header: Vec<(VersionRange, i16)>,
    /// Versions whose response header is not the one of the rule.
    pub response_header: Vec<(VersionRange, i16)>,
    /// The request's field and the value of it at which no response is sent, in JSON name.
    pub unanswered: Option<(String, i64)>,
    /// Spec file, relative to `spec/`.
    pub file: String,
}

impl Api {
    /// The version of the request header that goes with a version of this API.
    pub fn request_header_version(&self, version: i16) -> i16 {
        header(&self.request_header, version, if self.flexible.contains(version) { 2 } else { 1 })
    }

    /// The version of the response header that goes with a version of this API.
    pub fn response_header_version(&self, version: i16) -> i16 {
        header(&self.response_header, version, if self.flexible.contains(version) { 1 } else { 0 })
    }
}

fn header(exceptions: &[(VersionRange, i16)], version: i16, rule: i16) -> i16 {
    exceptions.iter().find(|(versions, _)| versions.contains(version)).map_or(rule, |(_, header)| *header)
}

/// Versions and the release, or releases, that a statement about them names.
#[derive(Clone, Debug, PartialEq)]
pub struct Since {
    /// The versions.
    pub versions: VersionRange,
    /// A feature release such as `0.10.1` or `3.7`, or two of them with a dash between.
    pub release: String,
}

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// Sent to a broker or controller.
    Request,
    /// The response to a request.
    Response,
    /// Stands in front of a request or response.
    Header,
    /// Key of a record in a coordinator's topic; an int16, its [`MessageSpec::key`], stands in front of it.
    Key,
    /// Value of a record in a coordinator's topic; an int16, its version, stands in front of it.
    Value,
    /// Record of the KRaft metadata log or of the remote log metadata topic.
    Metadata,
    /// Anything else that is carried inside bytes or stored in a file.
    Data,
}

impl MessageKind {
    /// The keyword of the spec language.
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Response => "response",
            Self::Header => "header",
            Self::Key => "key",
            Self::Value => "value",
            Self::Metadata => "metadata",
            Self::Data => "data",
        }
    }
}

impl fmt::Display for MessageKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// One message with all its versions.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageSpec {
    /// Kafka's name, such as `FetchRequest`.
    pub name: String,
    /// What it is.
    pub kind: MessageKind,
    /// API key of a request or response, record type of a key, value or metadata record.
    pub key: Option<i16>,
    /// Name of the spec file without folder, number and extension: `fetch`, `group_coordinator`.
    pub family: String,
    /// Every version ever released.
    pub versions: VersionRange,
    /// The versions with compact lengths and tagged fields.
    pub flexible: VersionRange,
    /// The release that brought a version.
    pub added: Vec<Since>,
    /// The release that no longer has a version.
    pub dropped: Vec<Since>,
    /// What it is for, in one line; may be empty.
    pub doc: String,
    /// The message's own fields at index 0, then every struct inside of it.
    pub structs: Vec<StructSpec>,
    /// Spec file, relative to `spec/`.
    pub file: String,
    /// Line of that file.
    pub line: usize,
    pub(crate) plans: Plans,
}

impl MessageSpec {
    /// The message's own fields.
    pub fn root(&self) -> &StructSpec {
        &self.structs[0]
    }

    /// One of its structs.
    pub fn structure(&self, id: StructId) -> &StructSpec {
        &self.structs[id.0]
    }

    /// Whether a version has compact lengths and tagged fields.
    pub fn is_flexible(&self, version: i16) -> bool {
        self.flexible.contains(version)
    }
}

/// Index of a struct in [`MessageSpec::structs`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StructId(pub(crate) usize);

impl StructId {
    /// The message's own fields.
    pub const ROOT: Self = Self(0);

    /// The index in [`MessageSpec::structs`].
    pub fn index(self) -> usize {
        self.0
    }
}

/// A run of fields: the message itself, or a struct inside.
#[derive(Clone, Debug, PartialEq)]
pub struct StructSpec {
    /// Kafka's name, unique in the message.
    pub name: String,
    /// The versions in which it can occur at all: those of the fields that use it.
    pub versions: VersionRange,
    /// The versions that a shared struct states for itself; `None` for one that stands below its field.
    pub shared: Option<VersionRange>,
    /// What it is for; may be empty.
    pub doc: String,
    /// Its fields in the order of the wire; tagged ones come last there, in the order of their tags.
    pub fields: Vec<Field>,
}

/// One field.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Kafka's name; a few begin with a small letter.
    pub name: String,
    /// The name in JSON: the first letter small.
    pub json_name: String,
    /// Its type, without nullability.
    pub ty: Type,
    /// The versions that have it. May reach beyond the message's; only what is in both counts.
    pub versions: VersionRange,
    /// The versions in which it can be null.
    pub nullable: VersionRange,
    /// The tag, for a field that is only ever written when it is not the default.
    pub tag: Option<u32>,
    /// The value of a field that is absent.
    pub default: FieldDefault,
    /// Whether a value may be silently dropped when the version lacks the field.
    pub ignorable: bool,
    /// Whether Kafka indexes the array by this field; no effect on bytes.
    pub map_key: bool,
    /// What the value refers to.
    pub entity: Option<Entity>,
    /// Flexible versions of this one field, where they differ from the message's.
    pub flexible: Option<VersionRange>,
    /// Whether Kafka keeps the bytes as a slice; no effect on bytes.
    pub zero_copy: bool,
    /// What it means, in one line; may be empty.
    pub doc: String,
    /// Line of the spec file.
    pub line: usize,
}

impl Field {
    /// Whether the field may be null in this version.
    pub fn is_nullable(&self, version: i16) -> bool {
        self.nullable.contains(version)
    }
}

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    /// One byte, 0 or 1.
    Bool,
    /// Signed, 8 bits.
    Int8,
    /// Signed, 16 bits.
    Int16,
    /// Signed, 32 bits.
    Int32,
    /// Signed, 64 bits.
    Int64,
    /// Unsigned, 16 bits.
    Uint16,
    /// Unsigned, 32 bits.
    Uint32,
    /// IEEE 754, 64 bits.
    Float64,
    /// 16 bytes.
    Uuid,
    /// UTF-8 with a length.
    String,
    /// Bytes with a length.
    Bytes,
    /// Bytes with a length that hold record batches.
    Records,
    /// A struct of the message.
    Struct(StructId),
    /// An array; never of arrays, bytes or records.
    Array(Box<Type>),
}

impl Type {
    /// The keyword of the spec language; `None` for structs and arrays.
    pub fn keyword(&self) -> Option<&'static str> {
        PRIMITIVES.iter().find(|(_, ty)| ty == self).map(|(name, _)| *name)
    }

    /// The struct that this is or is an array of.
    pub fn struct_id(&self) -> Option<StructId> {
        match self {
            Self::Struct(id) => Some(*id),
            Self::Array(element) => element.struct_id(),
            _ => None,
        }
    }

    /// The type as the spec language writes it.
    pub fn text(&self, message: &MessageSpec) -> String {
        match self {
            Self::Struct(id) => message.structure(*id).name.clone(),
            Self::Array(element) => format!("[]{}", element.text(message)),
            primitive => primitive.keyword().unwrap_or_default().to_owned(),
        }
    }
}

pub(crate) const PRIMITIVES: [(&str, Type); 12] = [
    ("bool", Type::Bool),
    ("int8", Type::Int8),
    ("int16", Type::Int16),
    ("int32", Type::Int32),
    ("int64", Type::Int64),
    ("uint16", Type::Uint16),
    ("uint32", Type::Uint32),
    ("float64", Type::Float64),
    ("uuid", Type::Uuid),
    ("string", Type::String),
    ("bytes", Type::Bytes),
    ("records", Type::Records),
];

/// The value of a field that is absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldDefault {
    /// 0, false, empty, the zero uuid, a struct of defaults. Also for nullable fields: null has to be said.
    Empty,
    /// Null.
    Null,
    /// A number or, as 0 and 1, a bool.
    Number(i64),
}

/// What a value refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Entity {
    /// `transactional.id` of a producer.
    TransactionalId,
    /// Id of an idempotent producer.
    ProducerId,
    /// Group of consumers.
    GroupId,
    /// Topic by name.
    TopicName,
    /// Node by id.
    BrokerId,
    /// Error code. Not one of Kafka's own entity types.
    ErrorCode,
    /// API key. Not one of Kafka's own entity types.
    ApiKey,
}

impl Entity {
    /// All of them with their keywords and the types they may stand on.
    pub(crate) const ALL: [(&'static str, Self, Type); 7] = [
        ("transactionalId", Self::TransactionalId, Type::String),
        ("producerId", Self::ProducerId, Type::Int64),
        ("groupId", Self::GroupId, Type::String),
        ("topicName", Self::TopicName, Type::String),
        ("brokerId", Self::BrokerId, Type::Int32),
        ("errorCode", Self::ErrorCode, Type::Int16),
        ("apiKey", Self::ApiKey, Type::Int16),
    ];

    /// The keyword of the spec language.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, entity, _)| *entity == self).map_or("", |(name, _, _)| name)
    }
}

/// An error code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorSpec {
    /// The number on the wire.
    pub code: i16,
    /// Kafka's name, such as `NOT_LEADER_OR_FOLLOWER`.
    pub name: String,
    /// Whether trying again can help.
    pub retriable: bool,
    /// Whether the client should ask for fresh metadata, or for the coordinator, before it tries again.
    pub refresh: bool,
    /// The release that brought it.
    pub added: String,
    /// Its name in earlier releases.
    pub was: Option<String>,
    /// What it means; may be empty.
    pub doc: String,
}

/// A feature release of Apache Kafka.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// `0.10.1` or `3.7`.
    pub name: String,
    /// Year and month, where known.
    pub date: Option<String>,
    /// What it meant for the protocol; may be empty.
    pub doc: String,
}
