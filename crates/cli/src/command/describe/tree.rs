use std::fmt::Write as _;

use milena_schema::{Field, FieldDefault, LayoutDiff, MessageKind, MessageSpec, Spec, StructId};
use milena_wire::VersionRange;
use serde_json::{Map, Value, json};

use crate::field::{attributes, clip, ty};
use crate::history::{Era, api_of, eras};
use crate::mention::kips_of;
use crate::output::terminal_width;
use crate::table::{Table, wrap};

/// A message as a tree; of all versions when none is given.
pub(super) fn text(message: &MessageSpec, version: Option<i16>) -> String {
    let mut text = title(message);
    let width = terminal_width();
    if !message.doc.is_empty() {
        for line in wrap(&message.doc, width) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    let kips: Vec<String> = kips_of(message).iter().map(|kip| format!("KIP-{kip}")).collect();
    if !kips.is_empty() {
        for line in wrap(&format!("see {}", kips.join(", ")), width) {
            text.push_str(&line);
            text.push('\n');
        }
    }
    text.push('\n');
    text.push_str(&history(message, version));
    text.push('\n');
    if let Some(version) = version {
        let flexible = if message.is_flexible(version) { ", flexible" } else { "" };
        let _ = writeln!(text, "version {version}{flexible}");
    }
    let mut lines = Vec::new();
    collect(message, StructId::ROOT, version, 1, &mut lines);
    if lines.is_empty() {
        text.push_str("  (no fields)\n");
    }
    render(&lines, width, &mut text);
    text
}

/// Headers and releases of one version, or of all.
fn history(message: &MessageSpec, version: Option<i16>) -> String {
    let eras = eras_of(message, version);
    let header = |era: &Era| match (era.headers, message.kind) {
        (Some((request, _)), MessageKind::Request) => request.to_string(),
        (Some((_, response)), _) => response.to_string(),
        (None, _) => String::new(),
    };
    let headers = eras.iter().any(|era| era.headers.is_some());
    let mut titles = vec!["VERSIONS", "FIRST", "LAST"];
    titles.extend(headers.then_some("HEADER"));
    titles.push("NOTES");
    let mut table = Table::new(&titles);
    for era in &eras {
        let mut row =
            vec![era.versions.to_string(), era.first.clone(), era.last.clone().unwrap_or_else(|| "-".to_owned())];
        row.extend(headers.then(|| header(era)));
        row.push(era.notes());
        table.row(row);
    }
    table.render()
}

/// Headers and releases of one version, or of all, as an array of [`Era::to_json`].
pub(super) fn history_json(message: &MessageSpec, version: Option<i16>) -> Value {
    eras_of(message, version).iter().map(Era::to_json).collect()
}

fn eras_of(message: &MessageSpec, version: Option<i16>) -> Vec<Era> {
    let mut eras = eras(Spec::kafka(), message);
    if let Some(version) = version {
        eras.retain(|era| era.versions.contains(version));
        for era in &mut eras {
            era.versions = VersionRange::new(version, version);
        }
    }
    eras
}

fn title(message: &MessageSpec) -> String {
    let mut title = format!("{}: {}", message.name, message.kind);
    if let Some(api) = api_of(Spec::kafka(), message) {
        let _ = write!(title, " of {}, API key {}", api.name, api.key);
    } else if let Some(key) = message.key {
        let _ = write!(title, " record, type {key}");
    }
    let flexible = message.flexible.intersect(message.versions);
    let _ = writeln!(title, "; versions {}, flexible {flexible}", message.versions);
    title
}

/// A field, not yet aligned.
struct Line<'a> {
    depth: usize,
    name: &'a str,
    ty: String,
    versions: String,
    attributes: String,
    doc: &'a str,
}

fn collect<'a>(message: &'a MessageSpec, id: StructId, version: Option<i16>, depth: usize, lines: &mut Vec<Line<'a>>) {
    let present = |field: &&Field| match version {
        Some(version) => field.versions.contains(version),
        None => !field.versions.intersect(message.versions).is_empty(),
    };
    for field in message.structure(id).fields.iter().filter(present) {
        lines.push(Line {
            depth,
            name: &field.json_name,
            ty: ty(message, field, version),
            versions: clip(field.versions, message),
            attributes: attributes(message, field, version).join(", "),
            doc: &field.doc,
        });
        if let Some(id) = field.ty.struct_id() {
            collect(message, id, version, depth + 1, lines);
        }
    }
}

/// Lines in columns. The meaning stands behind its field, or below where the width is too small.
fn render(lines: &[Line], width: usize, text: &mut String) {
    let widest = |cell: fn(&Line) -> usize| lines.iter().map(cell).max().unwrap_or(0);
    let names = widest(|line| 2 * line.depth + line.name.len());
    let types = widest(|line| line.ty.len());
    let versions = widest(|line| line.versions.len());
    let attributes = widest(|line| line.attributes.len());
    let before = names + types + versions + attributes + 8;
    for line in lines {
        let name = format!("{:1$}{2}", "", 2 * line.depth, line.name);
        let start = format!("{name:names$}  {:types$}  {:versions$}  {}", line.ty, line.versions, line.attributes);
        if line.doc.is_empty() {
            let _ = writeln!(text, "{}", start.trim_end());
        } else if before + line.doc.chars().count() <= width {
            let _ = writeln!(text, "{start:0$}// {1}", before, line.doc);
        } else {
            let _ = writeln!(text, "{}", start.trim_end());
            let indent = 2 * line.depth + 4;
            for line in wrap(line.doc, width.saturating_sub(indent + 3).max(30)) {
                let _ = writeln!(text, "{:indent$}// {line}", "");
            }
        }
    }
}

/// What two versions differ in.
pub(super) fn diff(diff: &LayoutDiff) -> String {
    match diff.changes.is_empty() && diff.flexible.0 == diff.flexible.1 {
        true => format!("{diff}no difference in layout\n"),
        false => diff.to_string(),
    }
}

/// A message with the fields of all versions.
pub(super) fn to_json(message: &MessageSpec) -> Value {
    json!({
        "message": message.name,
        "kind": message.kind.name(),
        "key": message.key,
        "versions": message.versions.to_string(),
        "flexibleVersions": message.flexible.intersect(message.versions).to_string(),
        "doc": message.doc,
        "kips": kips_of(message),
        "history": history_json(message, None),
        "fields": fields_json(message, StructId::ROOT),
    })
}

fn fields_json(message: &MessageSpec, id: StructId) -> Value {
    message.structure(id).fields.iter().map(|field| field_json(message, field)).collect()
}

fn field_json(message: &MessageSpec, field: &Field) -> Value {
    let mut map = Map::new();
    let mut set = |name: &str, value: Value| map.insert(name.to_owned(), value);
    set("name", json!(field.name));
    set("jsonName", json!(field.json_name));
    set("type", json!(field.ty.text(message)));
    set("versions", json!(clip(field.versions, message)));
    let nullable = field.nullable.intersect(message.versions);
    if !nullable.is_empty() {
        set("nullableVersions", json!(clip(nullable, message)));
    }
    match field.default {
        FieldDefault::Null => set("default", Value::Null),
        FieldDefault::Number(number) if field.ty.keyword() == Some("bool") => set("default", json!(number != 0)),
        FieldDefault::Number(number) => set("default", json!(number)),
        FieldDefault::Empty => None,
    };
    if let Some(tag) = field.tag {
        set("tag", json!(tag));
    }
    if field.ignorable {
        set("ignorable", json!(true));
    }
    if field.map_key {
        set("mapKey", json!(true));
    }
    if let Some(entity) = field.entity {
        set("entity", json!(entity.name()));
    }
    if !field.doc.is_empty() {
        set("doc", json!(field.doc));
    }
    if let Some(id) = field.ty.struct_id() {
        set("fields", fields_json(message, id));
    }
    Value::Object(map)
}
