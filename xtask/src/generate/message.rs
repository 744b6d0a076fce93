//! One file: the messages of an API or of a family of records.

use std::fmt::Write as _;

use milena_schema::{Entity, FieldDefault, MessageKind, MessageSpec, Spec, StructSpec, Type};
use milena_wire::VersionRange;

use super::index::range;
use super::names::{constant, module};
use super::rust::{RustField, condition, runs};
use super::{banner, names};

pub(crate) fn file(spec: &Spec, messages: &[&MessageSpec]) -> String {
    let first = messages[0];
    let mut out = banner(&format!("spec/{}", first.file));
    match spec.apis.iter().find(|api| api.file == first.file) {
        Some(api) => {
            writeln!(
                out,
                "//! {}: API key {}, versions {}, flexible {}.",
                api.name, api.key, api.versions, api.flexible
            )
            .ok();
        }
        None => {
            writeln!(out, "//! Messages of the family `{}`.", first.family).ok();
        }
    }
    for message in messages {
        write_module(&mut out, spec, message);
    }
    out
}

fn write_module(out: &mut String, spec: &Spec, message: &MessageSpec) {
    writeln!(out, "\n/// [`{0}`]({1}::{0}) and what it is made of.\npub mod {1} {{", message.name, module(message))
        .ok();
    out.push_str("    use crate::codec::*;\n");
    for structure in &message.structs {
        let fields: Vec<RustField<'_>> =
            structure.fields.iter().map(|field| RustField::new(field, structure, message)).collect();
        let tags = tag_presence(structure, message);
        definition(out, message, structure, &fields, tags);
        default(out, structure, &fields, tags);
        writeln!(out, "\n    impl Struct for {} {{", structure.name).ok();
        read(out, message, structure, &fields, tags);
        write(out, message, structure, &fields, tags);
        out.push_str("    }\n");
    }
    traits(out, spec, message);
    out.push_str("}\n");
}

/// In a release build the codec of a message is compiled by the crates that use it and by no other, so that a program pays
/// for its own messages only. Other builds, which are made again and again, have all of them compiled once.
const ON_DEMAND: &str = "        #[cfg_attr(not(debug_assertions), inline)]\n";

/// Whether a struct ends with a section of tagged fields.
#[derive(Clone, Copy, PartialEq)]
enum Tags {
    Never,
    Sometimes,
    Always,
}

fn tag_presence(structure: &StructSpec, message: &MessageSpec) -> Tags {
    if message.flexible.intersect(structure.versions).is_empty() {
        Tags::Never
    } else if message.flexible.covers(structure.versions) {
        Tags::Always
    } else {
        Tags::Sometimes
    }
}

fn definition(out: &mut String, message: &MessageSpec, structure: &StructSpec, fields: &[RustField<'_>], tags: Tags) {
    out.push('\n');
    let is_root = structure.name == message.name;
    let doc = match (structure.doc.as_str(), is_root) {
        ("", true) => format!("{}.", structure.name),
        ("", false) => format!("Part of [`{}`].", message.name),
        (doc, _) => prose(doc),
    };
    writeln!(out, "    /// {doc}").ok();
    let derived = if fields.iter().all(RustField::natural_default) { ", Default" } else { "" };
    writeln!(out, "    #[derive(Clone, Debug, PartialEq{derived})]\n    pub struct {} {{", structure.name).ok();
    for field in fields {
        writeln!(out, "        /// {}", field_doc(field, structure)).ok();
        writeln!(out, "        pub {}: {},", field.name(), field.ty()).ok();
    }
    if tags != Tags::Never {
        out.push_str("        /// Tagged fields that no known version defines.\n");
        out.push_str("        pub unknown_tagged_fields: UnknownTags,\n");
    }
    out.push_str("    }\n");
}

/// Text that rustdoc would take for links or tags is escaped.
fn prose(text: &str) -> String {
    text.replace('[', "\\[").replace(']', "\\]").replace('<', "\\<").replace('>', "\\>")
}

fn field_doc(field: &RustField<'_>, structure: &StructSpec) -> String {
    let field = field.field;
    let mut doc = String::new();
    if !field.doc.is_empty() {
        doc = prose(&field.doc) + " ";
    }
    let mut facts = Vec::new();
    if !field.versions.covers(structure.versions) {
        facts.push(format!("versions {}", field.versions.intersect(VersionRange::ALL)));
    }
    if let Some(tag) = field.tag {
        facts.push(format!("tag {tag}"));
    }
    if !field.nullable.is_empty() && !field.nullable.covers(field.versions.intersect(structure.versions)) {
        facts.push(format!("nullable in {}", field.nullable));
    }
    if field.ignorable && !field.versions.covers(structure.versions) {
        facts.push("silently dropped elsewhere".into());
    }
    if let FieldDefault::Number(number) = field.default {
        if field.ty != Type::Bool && number != 0 {
            facts.push(format!("default {number}"));
        } else if number == 1 {
            facts.push("default true".into());
        }
    }
    if facts.is_empty() {
        if doc.is_empty() {
            let what = match field.entity {
                Some(Entity::TopicName) => "Name of a topic.",
                Some(Entity::BrokerId) => "Id of a node.",
                Some(Entity::GroupId) => "Id of a group.",
                Some(Entity::ProducerId) => "Id of an idempotent producer.",
                Some(Entity::TransactionalId) => "`transactional.id` of a producer.",
                Some(Entity::ErrorCode) => "0 when all went well.",
                _ => "In every version.",
            };
            return what.to_owned();
        }
    } else {
        write!(doc, "({})", facts.join(", ")).ok();
    }
    doc.trim_end().to_owned()
}

fn default(out: &mut String, structure: &StructSpec, fields: &[RustField<'_>], tags: Tags) {
    if fields.iter().all(RustField::natural_default) {
        return;
    }
    writeln!(out, "\n    impl Default for {} {{\n        fn default() -> Self {{\n            Self {{", structure.name)
        .ok();
    for field in fields {
        writeln!(out, "                {}: {},", field.name(), field.default()).ok();
    }
    if tags != Tags::Never {
        out.push_str("                unknown_tagged_fields: UnknownTags::default(),\n");
    }
    out.push_str("            }\n        }\n    }\n");
}

fn let_flex(out: &mut String, message: &MessageSpec, structure: &StructSpec, body: &str) {
    // Where a whole struct is flexible or not, the calls say so themselves.
    if body.contains("flex") {
        let flex = condition(message.flexible, structure.versions).unwrap_or_else(|| "true".into());
        writeln!(out, "            let flex = {flex};").ok();
    }
}

fn read(out: &mut String, message: &MessageSpec, structure: &StructSpec, fields: &[RustField<'_>], tags: Tags) {
    let mut body = String::new();
    let plain: Vec<_> = fields.iter().filter(|field| field.field.tag.is_none()).collect();
    for run in runs(&plain) {
        let [field] = run[..] else {
            let names: Vec<String> = run.iter().map(|field| field.name()).collect();
            let json: Vec<String> = run.iter().map(|field| format!("{:?}", field.json())).collect();
            writeln!(body, "            let ({}) = r.fixed([{}])?;", names.join(", "), json.join(", ")).ok();
            continue;
        };
        let (name, json, read) = (field.name(), field.json(), field.read());
        let read = if read.starts_with("if ") { format!("({read})") } else { read };
        match field.present() {
            None => writeln!(body, "            let {name} = {read}.at({json:?})?;"),
            Some(condition) => writeln!(
                body,
                "            let {name} = if {condition} {{ {read}.at({json:?})? }} else {{ {} }};",
                field.default()
            ),
        }
        .ok();
    }
    let tagged: Vec<_> = fields.iter().filter(|field| field.field.tag.is_some()).collect();
    match (tags, tagged.is_empty()) {
        (Tags::Never, _) => {}
        (tags, true) => {
            let flex = if tags == Tags::Always { "true" } else { "flex" };
            writeln!(body, "            let unknown_tagged_fields = r.unknown_tags({flex})?;").ok();
        }
        (tags, false) => {
            for field in &tagged {
                writeln!(body, "            let mut {} = {};", field.name(), field.default()).ok();
            }
            let mut arms = String::new();
            for field in &tagged {
                let (name, json, tag) = (field.name(), field.json(), field.field.tag.unwrap_or_default());
                let guard = condition(field.field.versions, structure.versions.intersect(message.flexible));
                let test = guard.as_ref().map(|test| format!(" if {test}")).unwrap_or_default();
                writeln!(arms, "                    {tag}{test} => {name} = {}.at({json:?})?,", field.read()).ok();
                if guard.is_some() {
                    writeln!(
                        arms,
                        "                    {tag} => return Err(Error::tag_version(r.position(), {tag}, v)),"
                    )
                    .ok();
                }
            }
            let open =
                if tags == Tags::Always { "r.tags(" } else { "if !flex { UnknownTags::default() } else { r.tags(" };
            let close = if tags == Tags::Always { ")?;" } else { ")? };" };
            writeln!(body, "            let unknown_tagged_fields = {open}|r, tag| {{\n                match tag {{")
                .ok();
            body += &arms;
            body += "                    _ => return Ok(false),\n                }\n                Ok(true)\n            }";
            writeln!(body, "{close}").ok();
        }
    }
    let mut all: Vec<String> = fields.iter().map(RustField::name).collect();
    if tags != Tags::Never {
        all.push("unknown_tagged_fields".into());
    }
    let r = if body.contains("r.") || body.contains("(r,") { "r" } else { "_r" };
    let v = version_name(message, structure, &body);
    if structure.name == message.name {
        out.push_str(ON_DEMAND);
    } else {
        // Built where it will stay: an element that is first built elsewhere and then moved into its array costs a third
        // more.
        out.push_str("        #[inline(always)]\n");
    }
    writeln!(out, "        fn read({r}: &mut Reader, {v}: i16) -> Result<Self> {{").ok();
    let_flex(out, message, structure, &body);
    out.push_str(&body);
    writeln!(out, "            Ok(Self {{ {} }})\n        }}\n", all.join(", ")).ok();
}

/// How the argument is called that a body may or may not look at.
fn version_name(message: &MessageSpec, structure: &StructSpec, body: &str) -> &'static str {
    let named = ["(v)", "v ", " v)", "&v"].iter().any(|text| body.contains(text));
    let by_flex =
        body.contains("flex") && condition(message.flexible, structure.versions).is_some_and(|test| test != "false");
    if named || by_flex { "v" } else { "_v" }
}

fn write(out: &mut String, message: &MessageSpec, structure: &StructSpec, fields: &[RustField<'_>], tags: Tags) {
    let mut body = String::new();
    let absent = |field: &RustField<'_>| format!("return Err(Error::absent(v).within({:?}));", field.json());
    let plain: Vec<_> = fields.iter().filter(|field| field.field.tag.is_none()).collect();
    for run in runs(&plain) {
        let [field] = run[..] else {
            let values: Vec<String> = run.iter().map(|field| format!("self.{}", field.name())).collect();
            writeln!(body, "            w.fixed(({}));", values.join(", ")).ok();
            continue;
        };
        let json = field.json();
        let (call, fallible) = field.write();
        let call = if fallible { format!("{call}.at({json:?})?;") } else { format!("{call};") };
        let null = field.refuses_null().map(|test| {
            format!("if {test} && self.{}.is_none() {{ return Err(Error::null(v).within({json:?})); }}", field.name())
        });
        match (field.present(), field.field.ignorable) {
            (None, _) => {
                if let Some(null) = null {
                    writeln!(body, "            {null}").ok();
                }
                writeln!(body, "            {call}")
            }
            (Some(present), ignorable) => {
                let null = null.map(|null| format!("{null} ")).unwrap_or_default();
                let otherwise = if ignorable {
                    String::new()
                } else {
                    format!(" else if {} {{ {} }}", field.differs(), absent(field))
                };
                writeln!(body, "            if {present} {{ {null}{call} }}{otherwise}")
            }
        }
        .ok();
    }
    for field in fields.iter().filter(|field| field.field.tag.is_some() && !field.field.ignorable) {
        if let Some(present) = field.present() {
            writeln!(body, "            if {} && {} {{ {} }}", negate(&present), field.differs(), absent(field)).ok();
        }
    }
    let tagged: Vec<_> = fields.iter().filter(|field| field.field.tag.is_some()).collect();
    match (tags, tagged.is_empty()) {
        (Tags::Never, _) => body += "            Ok(())\n",
        (tags, true) => {
            let flex = if tags == Tags::Always { "true" } else { "flex" };
            writeln!(body, "            w.unknown_tags(&self.unknown_tagged_fields, {flex})").ok();
        }
        (tags, false) => {
            if tags == Tags::Sometimes {
                body += "            if !flex { return w.unknown_tags(&self.unknown_tagged_fields, false); }\n";
            }
            let mut sorted = tagged;
            sorted.sort_by_key(|field| field.field.tag);
            let mut count = Vec::new();
            for field in &sorted {
                let tag = field.field.tag.unwrap_or_default();
                let present = match condition(field.field.versions, structure.versions.intersect(message.flexible)) {
                    None => field.differs(),
                    Some(present) => format!("{present} && {}", field.differs()),
                };
                writeln!(body, "            let tag_{tag} = {present};").ok();
                count.push(format!("usize::from(tag_{tag})"));
            }
            writeln!(body, "            let mut tags = w.tags({}, &self.unknown_tagged_fields);", count.join(" + "))
                .ok();
            for field in &sorted {
                let (tag, json) = (field.field.tag.unwrap_or_default(), field.json());
                let (call, fallible) = field.write();
                let call = if fallible { call } else { format!("{{ {call}; Ok(()) }}") };
                writeln!(body, "            tags.field({tag}, tag_{tag}, |w| {call}).at({json:?})?;").ok();
            }
            body += "            tags.finish()\n";
        }
    }
    let v = version_name(message, structure, &body);
    let w = if body.contains("w.") || body.contains("w, v") { "w" } else { "_w" };
    out.push_str(if structure.name == message.name { ON_DEMAND } else { "        #[inline(always)]\n" });
    writeln!(out, "        fn write(&self, {w}: &mut Writer, {v}: i16) -> Result<()> {{").ok();
    let_flex(out, message, structure, &body);
    out.push_str(&body);
    out.push_str("        }\n");
}

fn negate(condition: &str) -> String {
    match condition.split_once("v >= ") {
        Some(("", from)) => format!("v < {from}"),
        _ => format!("!({condition})"),
    }
}

fn traits(out: &mut String, spec: &Spec, message: &MessageSpec) {
    let name = &message.name;
    writeln!(out, "\n    impl Message for {name} {{").ok();
    writeln!(out, "        const NAME: &'static str = {name:?};").ok();
    writeln!(out, "        const VERSIONS: VersionRange = {};", range(message.versions)).ok();
    writeln!(out, "        const FLEXIBLE: VersionRange = {};\n    }}", range(message.flexible)).ok();
    let api = |suffix: &str| constant(name.strip_suffix(suffix).unwrap_or(name));
    match message.kind {
        MessageKind::Request => {
            let response = name.strip_suffix("Request").unwrap_or(name);
            writeln!(out, "\n    impl Request for {name} {{").ok();
            writeln!(out, "        const API_KEY: ApiKey = ApiKey::{};", api("Request")).ok();
            writeln!(out, "        type Response = super::response::{response}Response;").ok();
            let api = spec.apis.iter().find(|api| Some(api.key) == message.key);
            if let Some((field, value)) = api.and_then(|api| api.unanswered.as_ref()) {
                writeln!(out, "\n        fn expects_response(&self) -> bool {{").ok();
                writeln!(out, "            self.{} != {value}\n        }}", names::field(field)).ok();
            }
            out.push_str("    }\n");
        }
        MessageKind::Response => {
            writeln!(out, "\n    impl Response for {name} {{").ok();
            writeln!(out, "        const API_KEY: ApiKey = ApiKey::{};", api("Response")).ok();
            if message.root().fields.iter().any(|field| names::field(&field.name) == "throttle_time_ms") {
                out.push_str(
                    "\n        fn throttle_time_ms(&self) -> i32 {\n            self.throttle_time_ms\n        }\n",
                );
            }
            out.push_str("    }\n");
        }
        MessageKind::Key | MessageKind::Value | MessageKind::Metadata => {
            writeln!(out, "\n    impl TypedRecord for {name} {{").ok();
            writeln!(out, "        const TYPE: i16 = {};\n    }}", message.key.unwrap_or_default()).ok();
        }
        MessageKind::Data | MessageKind::Header => {}
    }
}
