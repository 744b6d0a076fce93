use std::borrow::Cow;
use std::fmt::Write as _;

use milena_schema::{
    ChangeKind, Field, FieldDefault, LayoutDiff, LayoutField, MessageKind, MessageSpec, Spec, StructId,
};
use milena_wire::VersionRange;
use serde_json::{Map, Value, json};

use crate::field::{attributes, clip, ty};
use crate::history::{Era, api_of, eras};
use crate::mention::{in_json_case, kips_of};
use crate::table::{Table, fold, wrap};

/// A message as a tree, in lines of at most `width` characters; of all versions when none is given.
pub(super) fn text(message: &MessageSpec, version: Option<i16>, width: usize) -> String {
    let mut text = fold(&title(message), width);
    if !message.doc.is_empty() {
        for line in wrap(&in_json_case(Spec::kafka(), message, &message.doc), width) {
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
    text.push_str(&fold(&history(message, version), width));
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
    doc: Cow<'a, str>,
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
            doc: in_json_case(Spec::kafka(), message, &field.doc),
        });
        if let Some(id) = field.ty.struct_id() {
            collect(message, id, version, depth + 1, lines);
        }
    }
}

/// Lines in columns. The meaning follows its field, or is below it where the width is too small.
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
            text.push_str(&fold(start.trim_end(), width));
        } else if (before + 3).saturating_add(line.doc.chars().count()) <= width {
            let _ = writeln!(text, "{start:0$}// {1}", before, line.doc);
        } else {
            text.push_str(&fold(start.trim_end(), width));
            let indent = 2 * line.depth + 4;
            for line in wrap(&line.doc, width.saturating_sub(indent + 3).max(30)) {
                let _ = writeln!(text, "{:indent$}// {line}", "");
            }
        }
    }
}

/// What two versions differ in. Added and removed fields are shown whole.
pub(super) fn diff(diff: &LayoutDiff, width: usize) -> String {
    let mut text = format!("{} version {} to {}\n", diff.message.name, diff.from, diff.to);
    match diff.flexible {
        (false, true) => text.push_str("~ flexible: compact lengths, and tagged fields after every struct\n"),
        (true, false) => text.push_str("~ no longer flexible: lengths of fixed width, and no tagged fields\n"),
        _ if diff.changes.is_empty() => text.push_str("no difference in layout\n"),
        _ => {}
    }
    for change in &diff.changes {
        let (sign, note) = match change.kind {
            ChangeKind::Added => ('+', ""),
            ChangeKind::Removed => ('-', ""),
            ChangeKind::Nullable => ('~', " may be null"),
            ChangeKind::NotNullable => ('~', " may no longer be null"),
        };
        let version = if change.kind == ChangeKind::Removed { diff.from } else { diff.to };
        let words = attributes(diff.message, change.field.field, Some(version)).join(", ");
        let line = format!("{sign} {}  {}{note}  {words}", change.path, change.field.ty);
        let _ = writeln!(text, "{}", line.trim_end());
        if note.is_empty() {
            inner(diff.message, version, &change.field.fields, 2, &mut text);
        }
    }
    fold(&text, width)
}

fn inner(message: &MessageSpec, version: i16, fields: &[LayoutField<'_>], depth: usize, text: &mut String) {
    let names = fields.iter().map(|field| field.field.json_name.len()).max().unwrap_or(0);
    for field in fields {
        let name = &field.field.json_name;
        let words = attributes(message, field.field, Some(version)).join(", ");
        let mut line = format!("{:1$}{name:names$}  {2}  {words}", "", 2 * depth, field.ty).trim_end().to_owned();
        if !field.field.doc.is_empty() {
            let _ = write!(line, "  // {}", in_json_case(Spec::kafka(), message, &field.field.doc));
        }
        let _ = writeln!(text, "{line}");
        inner(message, version, &field.fields, depth + 1, text);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_fits_80_columns() {
        for message in &Spec::kafka().messages {
            let mut texts = vec![text(message, None, 80)];
            for version in message.versions.iter() {
                texts.push(text(message, Some(version), 80));
                if version > message.versions.min() {
                    texts.push(diff(&message.layout_diff(version - 1, version).unwrap(), 80));
                }
            }
            for line in texts.iter().flat_map(|text| text.lines()) {
                assert!(line.chars().count() <= 80, "{}: {line}", message.name);
            }
        }
    }

    #[test]
    fn a_diff_names_fields_as_in_json() {
        let message = Spec::kafka().message("OffsetFetchRequest").unwrap();
        let text = diff(&message.layout_diff(7, 8).unwrap(), usize::MAX);
        assert!(text.contains("+ groups  []OffsetFetchRequestGroup\n    groupId  string"), "{text}");
        assert!(!text.contains("TopicId"), "{text}");
    }
}
