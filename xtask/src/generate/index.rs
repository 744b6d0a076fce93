//! What spans messages: the list of modules, the tables of API keys and error codes, the dispatch.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use milena_schema::{MessageKind, MessageSpec, Spec};
use milena_wire::VersionRange;

use super::banner;
use super::names::{constant, module, snake};

pub(crate) fn modules(families: &BTreeMap<&str, Vec<&MessageSpec>>) -> String {
    let mut out = banner("spec/");
    out += "pub(crate) mod api_table;\npub(crate) mod dispatch;\npub(crate) mod error_table;\npub(crate) mod field_table;\n\n";
    for family in families.keys() {
        writeln!(out, "pub mod {family};").ok();
    }
    out.push('\n');
    for (family, messages) in families {
        let list: Vec<String> =
            messages.iter().map(|message| format!("{}::{}", module(message), message.name)).collect();
        writeln!(out, "pub use {family}::{{{}}};", list.join(", ")).ok();
    }
    out
}

pub(crate) fn range(range: VersionRange) -> String {
    match (range.min(), range.max()) {
        (min, max) if max < min => "VersionRange::NONE".to_owned(),
        (min, i16::MAX) => format!("VersionRange::from({min})"),
        (min, max) => format!("VersionRange::new({min}, {max})"),
    }
}

pub(crate) fn api_table(spec: &Spec) -> String {
    let mut out = banner("spec/messages/");
    out +=
        "use milena_wire::VersionRange;\n\nuse crate::api_key::{ApiInfo, ApiKey};\n\n#[rustfmt::skip]\nimpl ApiKey {\n";
    for api in &spec.apis {
        let versions = api.versions;
        writeln!(out, "    /// Versions {versions}.\n    pub const {}: Self = Self({});", constant(&api.name), api.key)
            .ok();
    }
    out += "}\n\n/// In the order of the keys, which have no gap.\npub(crate) const APIS: &[ApiInfo] = &[\n";
    for api in &spec.apis {
        let headers = |exceptions: &[(VersionRange, i16)]| match exceptions {
            [] => "None".to_owned(),
            [(versions, header), ..] => format!("Some(({}, {header}))", range(*versions)),
        };
        let unstable = api.unstable.iter().fold(VersionRange::NONE, |all, since| {
            let newest = spec.releases.last().is_some_and(|last| since.release.ends_with(&last.name));
            if newest { since.versions } else { all }
        });
        let stable = (api.versions.min()..=api.versions.max())
            .filter(|version| !api.dropped.iter().any(|since| since.versions.contains(*version)));
        let (mut low, mut high) = (0, -1);
        for version in stable {
            low = if high < 0 { version } else { low };
            high = version;
        }
        writeln!(
            out,
            "    ApiInfo {{ name: {:?}, versions: {}, flexible: {}, newest_kafka: {}, unstable: {}, request_header: {}, response_header: {} }},",
            api.name,
            range(api.versions),
            range(api.flexible),
            range(VersionRange::new(low, high)),
            range(unstable),
            headers(&api.request_header),
            headers(&api.response_header),
        )
        .ok();
    }
    out + "];\n"
}

pub(crate) fn error_table(spec: &Spec) -> String {
    let mut out = banner("spec/errors.kafka");
    out += "use crate::error_code::{ErrorCode, ErrorInfo};\n\nimpl ErrorCode {\n";
    for error in &spec.errors {
        let doc = if error.doc.is_empty() { "No further word." } else { &error.doc };
        writeln!(
            out,
            "    /// {doc} Since {}.\n    pub const {}: Self = Self({});",
            error.added, error.name, error.code
        )
        .ok();
    }
    out += "}\n\n/// In the order of the codes from -1 on, which have no gap.\npub(crate) const ERRORS: &[ErrorInfo] = &[\n";
    for error in &spec.errors {
        writeln!(
            out,
            "    ErrorInfo {{ name: {:?}, former: {:?}, retriable: {}, refresh: {} }},",
            error.name, error.was, error.retriable, error.refresh
        )
        .ok();
    }
    out + "];\n"
}

/// Fields that not every version of their message has.
pub(crate) fn field_table(spec: &Spec) -> String {
    let mut out = banner("spec/");
    out += "use milena_wire::VersionRange;\n\nuse crate::display::Partial;\n\n";
    out += "/// In the order of the messages' names: the fields that only some versions have.\n";
    out += "pub(crate) const PARTIAL: &[(&str, &[Partial])] = &[\n";
    let mut messages: Vec<&MessageSpec> = spec.messages.iter().collect();
    messages.sort_by_key(|message| &message.name);
    for message in messages {
        let fields = message.structs.iter().flat_map(|owner| owner.fields.iter().map(move |field| (owner, field)));
        let partial = |versions: VersionRange| message.versions.iter().any(|version| !versions.contains(version));
        let mut rows = fields.filter(|(_, field)| partial(field.versions)).peekable();
        if rows.peek().is_none() {
            continue;
        }
        writeln!(out, "    ({:?}, &[", message.name).ok();
        for (owner, field) in rows {
            let (name, versions) = (snake(&field.name), range(field.versions));
            writeln!(out, "        Partial {{ owner: {:?}, field: {name:?}, versions: {versions} }},", owner.name).ok();
        }
        out += "    ]),\n";
    }
    out + "];\n"
}

pub(crate) fn dispatch(spec: &Spec) -> String {
    let mut out = banner("spec/");
    out += "use crate::dispatch::{MessageVisitor, RequestVisitor};\nuse crate::ApiKey;\n\n";
    out += "/// Calls the visitor with the request type of an API; `None` when no release has the key.\n///\n";
    out += "/// Generic, so that a program that never calls it links no message by it.\n";
    out += "pub fn visit_request<V: RequestVisitor>(key: ApiKey, visitor: V) -> Option<V::Output> {\n    Some(match key.0 {\n";
    for api in &spec.apis {
        writeln!(out, "        {} => visitor.visit::<super::{}Request>(),", api.key, api.name).ok();
    }
    out += "        _ => return None,\n    })\n}\n\n";
    out += "/// Calls the visitor with the message type of that name; `None` when there is none.\n///\n";
    out += "/// Generic, so that a program that never calls it links no message by it.\n";
    out += "pub fn visit_message<V: MessageVisitor>(name: &str, visitor: V) -> Option<V::Output> {\n    Some(match name {\n";
    for message in &spec.messages {
        writeln!(out, "        {:?} => visitor.visit::<super::{}>(),", message.name, message.name).ok();
    }
    out += "        _ => return None,\n    })\n}\n\n";
    let records: Vec<_> =
        spec.messages.iter().filter(|m| !matches!(m.kind, MessageKind::Request | MessageKind::Response)).collect();
    let pairs: usize = spec.messages.iter().map(|m| m.versions.iter().count()).sum();
    out += "/// The name of every message, requests and responses first, in the order of the spec.\n";
    writeln!(out, "pub const MESSAGES: [&str; {}] = [", spec.messages.len()).ok();
    for message in
        spec.messages.iter().filter(|m| matches!(m.kind, MessageKind::Request | MessageKind::Response)).chain(records)
    {
        writeln!(out, "    {:?},", message.name).ok();
    }
    writeln!(
        out,
        "];\n\n/// How many (message, version) pairs there are.\npub const MESSAGE_VERSIONS: usize = {pairs};"
    )
    .ok();
    out
}
