use std::fmt;

use milena_wire::{Error, Result};
use serde_json::{Map, Value, json};

use crate::codec;
use crate::model::{Field, MessageSpec, StructId, Type};

/// What one version of a message looks like.
///
/// Its text is a tree in the manner of the spec language, without versions.
#[derive(Clone, Debug, PartialEq)]
pub struct Layout<'a> {
    /// The message.
    pub message: &'a MessageSpec,
    /// The version.
    pub version: i16,
    /// Whether the version has compact lengths and tagged fields.
    pub flexible: bool,
    /// The fields that the version has, in the order of the spec.
    pub fields: Vec<LayoutField<'a>>,
}

/// One field of a version.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutField<'a> {
    /// The field with all it says for all versions: name, tag, documentation and so on.
    pub field: &'a Field,
    /// Its type as the spec writes it, such as `[]FetchTopic?`: with `?` where this version allows null.
    pub ty: String,
    /// Whether this version allows null.
    pub nullable: bool,
    /// The default in its JSON form; `{}` for a struct of defaults.
    pub default: Value,
    /// The fields inside, of a struct or an array of them.
    pub fields: Vec<LayoutField<'a>>,
}

/// What changes from one version of a message to another.
///
/// Its text has a line for each change, `+` for a field added, `-` for one removed and `~` for one that is another.
#[derive(Clone, Debug, PartialEq)]
pub struct LayoutDiff<'a> {
    /// The message.
    pub message: &'a MessageSpec,
    /// The version that the changes lead away from.
    pub from: i16,
    /// The version that they lead to; may be the lower one.
    pub to: i16,
    /// Whether each of the two is flexible. If they differ, every length and every struct is encoded in another way.
    pub flexible: (bool, bool),
    /// In the order of the spec.
    pub changes: Vec<Change<'a>>,
}

/// A field that two versions do not have alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Change<'a> {
    /// JSON names from the message down, such as `topics[].partitions[].currentLeaderEpoch`.
    pub path: String,
    /// What happens to it.
    pub kind: ChangeKind,
    /// The field; as it was if it is removed, otherwise as it will be.
    pub field: LayoutField<'a>,
}

/// How a field differs between two versions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// Only the second version has it.
    Added,
    /// Only the first version has it.
    Removed,
    /// From now on it may be null.
    Nullable,
    /// From now on it may not be null.
    NotNullable,
}

impl ChangeKind {
    /// `added`, `removed`, `nullable` or `not nullable`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Nullable => "nullable",
            Self::NotNullable => "not nullable",
        }
    }
}

impl MessageSpec {
    /// What one version looks like.
    ///
    /// # Errors
    /// A version that the message lacks.
    pub fn layout(&self, version: i16) -> Result<Layout<'_>> {
        if !self.versions.contains(version) {
            return Err(Error::version(version, self.versions).within(self.name.clone()));
        }
        let fields = fields(self, StructId::ROOT, version);
        Ok(Layout { message: self, version, flexible: self.is_flexible(version), fields })
    }

    /// What changes from one version to another. Of a struct that is added or removed as a whole, only the field that
    /// holds it is listed.
    ///
    /// # Errors
    /// A version that the message lacks.
    pub fn layout_diff(&self, from: i16, to: i16) -> Result<LayoutDiff<'_>> {
        let (before, after) = (self.layout(from)?, self.layout(to)?);
        let mut changes = Vec::new();
        compare(&self.root().fields, self, &before.fields, &after.fields, "", &mut changes);
        Ok(LayoutDiff { message: self, from, to, flexible: (before.flexible, after.flexible), changes })
    }
}

fn fields(message: &MessageSpec, id: StructId, version: i16) -> Vec<LayoutField<'_>> {
    let present = message.structure(id).fields.iter().filter(|field| field.versions.contains(version));
    present
        .map(|field| {
            let nullable = field.is_nullable(version);
            let mut ty = field.ty.text(message);
            if nullable {
                ty.push('?');
            }
            let inside = field.ty.struct_id().map_or_else(Vec::new, |id| fields(message, id, version));
            LayoutField { field, ty, nullable, default: codec::default_value(field, version), fields: inside }
        })
        .collect()
}

fn compare<'a>(
    all: &'a [Field],
    message: &'a MessageSpec,
    before: &[LayoutField<'a>],
    after: &[LayoutField<'a>],
    path: &str,
    changes: &mut Vec<Change<'a>>,
) {
    let find =
        |fields: &[LayoutField<'a>], field: &Field| fields.iter().position(|other| std::ptr::eq(other.field, field));
    for field in all {
        let path = format!("{path}{}{}", if path.is_empty() { "" } else { "." }, field.json_name);
        let (old, new) = match (find(before, field), find(after, field)) {
            (None, None) => continue,
            (Some(old), None) => {
                changes.push(Change { path, kind: ChangeKind::Removed, field: before[old].clone() });
                continue;
            }
            (None, Some(new)) => {
                changes.push(Change { path, kind: ChangeKind::Added, field: after[new].clone() });
                continue;
            }
            (Some(old), Some(new)) => (&before[old], &after[new]),
        };
        if old.nullable != new.nullable {
            let kind = if new.nullable { ChangeKind::Nullable } else { ChangeKind::NotNullable };
            changes.push(Change { path: path.clone(), kind, field: new.clone() });
        }
        if let Some(id) = field.ty.struct_id() {
            let path = if matches!(field.ty, Type::Array(_)) { format!("{path}[]") } else { path };
            compare(&message.structure(id).fields, message, &old.fields, &new.fields, &path, changes);
        }
    }
}

impl Layout<'_> {
    /// An object with `message`, `kind`, `key`, `version`, `versions`, `flexible`, `doc` and `fields`, each as
    /// [`LayoutField::to_json`].
    pub fn to_json(&self) -> Value {
        json!({
            "message": self.message.name,
            "kind": self.message.kind.name(),
            "key": self.message.key,
            "version": self.version,
            "versions": self.message.versions.to_string(),
            "flexible": self.flexible,
            "doc": self.message.doc,
            "fields": fields_json(&self.fields),
        })
    }
}

impl LayoutField<'_> {
    /// An object with `name`, `jsonName`, `type` (with `?` if it can be null), `versions` and `default`; where they
    /// say something also `tag`, `ignorable`, `mapKey`, `entity`, `doc` and, for structs, `fields`.
    pub fn to_json(&self) -> Value {
        let field = self.field;
        let mut map = Map::new();
        map.insert("name".to_owned(), json!(field.name));
        map.insert("jsonName".to_owned(), json!(field.json_name));
        map.insert("type".to_owned(), json!(self.ty));
        map.insert("versions".to_owned(), json!(field.versions.to_string()));
        map.insert("default".to_owned(), self.default.clone());
        if let Some(tag) = field.tag {
            map.insert("tag".to_owned(), json!(tag));
        }
        if field.ignorable {
            map.insert("ignorable".to_owned(), json!(true));
        }
        if field.map_key {
            map.insert("mapKey".to_owned(), json!(true));
        }
        if let Some(entity) = field.entity {
            map.insert("entity".to_owned(), json!(entity.name()));
        }
        if !field.doc.is_empty() {
            map.insert("doc".to_owned(), json!(field.doc));
        }
        if field.ty.struct_id().is_some() {
            map.insert("fields".to_owned(), fields_json(&self.fields));
        }
        Value::Object(map)
    }

    /// What comes after name and type: tag, default and entity, as far as they say something.
    fn attributes(&self) -> String {
        let mut words = Vec::new();
        if let Some(tag) = self.field.tag {
            words.push(format!("tag {tag}"));
        }
        let obvious = match &self.default {
            Value::Null => false,
            Value::Bool(value) => !value,
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::String(_) | Value::Array(_) | Value::Object(_) => true,
        };
        if !obvious {
            words.push(format!("default {}", self.default));
        }
        if self.field.map_key {
            words.push("key".to_owned());
        }
        words.extend(self.field.entity.map(|entity| format!("entity {}", entity.name())));
        words.join(" ")
    }
}

fn fields_json(fields: &[LayoutField<'_>]) -> Value {
    fields.iter().map(LayoutField::to_json).collect()
}

impl LayoutDiff<'_> {
    /// An object with `message`, `from`, `to`, `flexible` (a pair of bools) and `changes`, each with `path`, `change`
    /// and `field`, which is as [`LayoutField::to_json`].
    pub fn to_json(&self) -> Value {
        let changes = self.changes.iter();
        json!({
            "message": self.message.name,
            "from": self.from,
            "to": self.to,
            "flexible": [self.flexible.0, self.flexible.1],
            "changes": changes
                .map(|change| json!({
                    "path": change.path,
                    "change": change.kind.name(),
                    "field": change.field.to_json(),
                }))
                .collect::<Value>(),
        })
    }
}

impl fmt::Display for Layout<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flexible = if self.flexible { ", flexible" } else { "" };
        writeln!(f, "{} version {} of {}{flexible}", self.message.name, self.version, self.message.versions)?;
        tree(f, &self.fields, 1)
    }
}

/// One line per field, names and types of one struct in columns.
fn tree(f: &mut fmt::Formatter<'_>, fields: &[LayoutField<'_>], depth: usize) -> fmt::Result {
    let width = |text: fn(&LayoutField<'_>) -> usize| fields.iter().map(text).max().unwrap_or(0);
    let names = width(|field| field.field.name.len());
    let types = width(|field| field.ty.len());
    for field in fields {
        let mut line = format!("{:names$}  {:types$}  {}", field.field.name, field.ty, field.attributes());
        line.truncate(line.trim_end().len());
        if !field.field.doc.is_empty() {
            line.push_str("  // ");
            line.push_str(&field.field.doc);
        }
        writeln!(f, "{:1$}{line}", "", 2 * depth)?;
        tree(f, &field.fields, depth + 1)?;
    }
    Ok(())
}

impl fmt::Display for LayoutDiff<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} version {} to {}", self.message.name, self.from, self.to)?;
        match self.flexible {
            (false, true) => writeln!(f, "~ flexible: compact lengths, tagged fields after every struct")?,
            (true, false) => writeln!(f, "~ no longer flexible: lengths of fixed width, no tagged fields")?,
            _ => {}
        }
        for change in &self.changes {
            let (sign, note) = match change.kind {
                ChangeKind::Added => ('+', ""),
                ChangeKind::Removed => ('-', ""),
                ChangeKind::Nullable => ('~', " may be null"),
                ChangeKind::NotNullable => ('~', " may no longer be null"),
            };
            let line = format!("{sign} {}  {}{note}  {}", change.path, change.field.ty, change.field.attributes());
            writeln!(f, "{}", line.trim_end())?;
            // What is added or removed is shown as a whole; what stays is in both versions anyway.
            if note.is_empty() {
                tree(f, &change.field.fields, 2)?;
            }
        }
        Ok(())
    }
}
