//! What the language demands beyond its grammar.

use std::collections::HashSet;

use milena_wire::VersionRange;

use crate::model::{Api, Entity, Field, FieldDefault, MessageKind, MessageSpec, StructId, Type};
use crate::parser::{Result, SpecError};
use crate::spec::Spec;

/// A field on its own; the error is without place.
pub(crate) fn field(field: &Field, versions: VersionRange, flexible: VersionRange) -> std::result::Result<(), String> {
    let name = &field.name;
    if !field.nullable.is_empty() {
        let takes_null = !matches!(
            field.ty,
            Type::Bool
                | Type::Int8
                | Type::Int16
                | Type::Int32
                | Type::Int64
                | Type::Uint16
                | Type::Uint32
                | Type::Float64
                | Type::Uuid
        );
        if !takes_null {
            return Err(format!(
                "field {name} is nullable, but a {} cannot be null",
                field.ty.keyword().unwrap_or("value")
            ));
        }
        if !field.versions.covers(field.nullable) {
            return Err(format!(
                "field {name} is nullable in versions {}, but exists in {}",
                field.nullable, field.versions
            ));
        }
    }
    let present = field.versions.intersect(versions);
    if field.tag.is_some() {
        if !flexible.covers(present) {
            return Err(format!("field {name} is tagged in versions {}, but flexible are {flexible}", field.versions));
        }
        if field.ty == Type::Records {
            return Err(format!("field {name} is tagged, but records cannot be"));
        }
    }
    if let Type::Array(element) = &field.ty {
        if matches!(**element, Type::Bytes | Type::Records | Type::Array(_)) {
            return Err(format!("field {name} is an array of arrays, bytes or records, which Kafka does not have"));
        }
    }
    if field.flexible.is_some() && !matches!(field.ty, Type::String | Type::Bytes) {
        return Err(format!("field {name} has flexible versions of its own, but only string and bytes may"));
    }
    let bounds = match &field.ty {
        Type::Bool => Some((0, 1)),
        Type::Int8 => Some((i64::from(i8::MIN), i64::from(i8::MAX))),
        Type::Int16 => Some((i64::from(i16::MIN), i64::from(i16::MAX))),
        Type::Int32 => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
        Type::Int64 => Some((i64::MIN, i64::MAX)),
        Type::Uint16 => Some((0, i64::from(u16::MAX))),
        Type::Uint32 => Some((0, i64::from(u32::MAX))),
        _ => None,
    };
    match (&field.default, bounds) {
        (FieldDefault::Number(number), Some((min, max))) if (min..=max).contains(number) => {}
        (FieldDefault::Number(number), _) => return Err(format!("default {number} does not fit the type of {name}")),
        (FieldDefault::Null, _) if field.nullable.is_empty() || !field.nullable.covers(present) => {
            return Err(format!("field {name} has the default null, but is not nullable in all of its versions"));
        }
        _ => {}
    }
    if let Some(entity) = field.entity {
        let base = Entity::ALL.iter().find(|(_, other, _)| *other == entity).map(|(_, _, ty)| ty);
        let element = match &field.ty {
            Type::Array(element) => element,
            ty => ty,
        };
        if base != Some(element) {
            let base = base.and_then(Type::keyword).unwrap_or("nothing");
            return Err(format!("entity {} stands on {base}, not on the type of {name}", entity.name()));
        }
    }
    Ok(())
}

/// A message whose structs are found.
pub(crate) fn message(message: &MessageSpec) -> Result<()> {
    let fail = |line: usize, text: String| Err(SpecError::new(&message.file, line, 1, text));
    if message.versions.is_empty() {
        return fail(message.line, format!("message {} has no versions, expected a line `versions`", message.name));
    }
    if !message.added.is_empty() {
        for version in message.versions.iter() {
            if !message.added.iter().any(|since| since.versions.contains(version)) {
                return fail(message.line, format!("version {version} of {} is missing from `added`", message.name));
            }
        }
    }
    for structure in &message.structs {
        let line = structure.fields.first().map_or(message.line, |field| field.line);
        if structure.versions.is_empty() {
            return fail(line, format!("struct {} is used by no field in any version", structure.name));
        }
        let mut tags: Vec<_> = structure.fields.iter().filter_map(|field| field.tag).collect();
        tags.sort_unstable();
        if tags.iter().enumerate().any(|(index, tag)| index as u32 != *tag) {
            return fail(line, format!("tags of {} are {tags:?}, expected 0, 1, 2 and so on", structure.name));
        }
    }
    recursion(message)?;
    empty_elements(message)
}

/// A count is compared with the bytes that are left, so that each element of an array has to take one. In flexible versions
/// its tags do.
fn empty_elements(message: &MessageSpec) -> Result<()> {
    fn takes_bytes(message: &MessageSpec, id: StructId, version: i16) -> bool {
        let mut fields = message.structure(id).fields.iter().filter(|field| field.versions.contains(version));
        fields.any(|field| match field.ty {
            Type::Struct(id) => field.nullable.contains(version) || takes_bytes(message, id, version),
            _ => true,
        })
    }
    for (structure, field) in message.structs.iter().flat_map(|s| s.fields.iter().map(move |field| (s, field))) {
        let (Type::Array(_), Some(id)) = (&field.ty, field.ty.struct_id()) else { continue };
        let versions = field.versions.intersect(structure.versions).intersect(message.versions);
        let empty = |version: &i16| !message.is_flexible(*version) && !takes_bytes(message, id, *version);
        if let Some(version) = versions.iter().find(empty) {
            let text = format!("an element of {} takes no bytes in version {version}", field.name);
            return Err(SpecError::new(&message.file, field.line, 1, text));
        }
    }
    Ok(())
}

/// Kafka's structs contain no struct of their own kind, so decoders need no depth limit; keep it that way.
fn recursion(message: &MessageSpec) -> Result<()> {
    fn visit(message: &MessageSpec, index: usize, above: &mut Vec<usize>) -> bool {
        if above.contains(&index) {
            return false;
        }
        above.push(index);
        let good = message.structs[index]
            .fields
            .iter()
            .filter_map(|field| field.ty.struct_id())
            .all(|id| visit(message, id.index(), above));
        above.pop();
        good
    }
    if visit(message, 0, &mut Vec::new()) {
        Ok(())
    } else {
        let text = format!("a struct of {} contains itself", message.name);
        Err(SpecError::new(&message.file, message.line, 1, text))
    }
}

/// An API whose messages have been read.
pub(crate) fn api(api: &Api, spec: &Spec) -> Result<()> {
    let fail = |text: String| Err(SpecError::new(&api.file, 1, 1, text));
    for suffix in ["Request", "Response"] {
        if !spec.by_name.contains_key(&format!("{}{suffix}", api.name)) {
            return fail(format!("api {} has no {}", api.name, suffix.to_lowercase()));
        }
    }
    if let Some((name, _)) = &api.unanswered {
        let request = &spec.messages[spec.by_name[&format!("{}Request", api.name)]];
        if !request.root().fields.iter().any(|field| field.json_name == *name) {
            return fail(format!("`unanswered` names the field {name}, which {} does not have", request.name));
        }
    }
    if !api.versions.covers(api.deprecated) {
        return fail(format!(
            "api {} calls versions {} deprecated, but has {}",
            api.name, api.deprecated, api.versions
        ));
    }
    Ok(())
}

/// What spans files.
pub(crate) fn spec(spec: &Spec) -> Result<()> {
    for pair in spec.apis.windows(2) {
        if pair[0].key == pair[1].key {
            let text = format!("key {} is taken by {}", pair[1].key, pair[0].name);
            return Err(SpecError::new(&pair[1].file, 1, 1, text));
        }
    }
    for pair in spec.errors.windows(2) {
        if pair[0].code == pair[1].code {
            let text = format!("code {} stands for {} and {}", pair[0].code, pair[0].name, pair[1].name);
            return Err(SpecError::new("errors.kafka", 1, 1, text));
        }
    }
    let mut records = HashSet::new();
    for message in &spec.messages {
        // A number may have belonged to another record before; only one that nobody dropped can own it.
        if matches!(message.kind, MessageKind::Key | MessageKind::Value | MessageKind::Metadata)
            && message.dropped.is_empty()
            && !records.insert((&message.family, message.kind, message.key))
        {
            let text = format!("{}: its number is taken in this family", message.name);
            return Err(SpecError::new(&message.file, message.line, 1, text));
        }
        let since = message.added.iter().chain(&message.dropped);
        releases(spec, since.map(|since| since.release.as_str()), &message.file, message.line)?;
    }
    for api in &spec.apis {
        releases(spec, api.unstable.iter().flat_map(|since| since.release.split('-')), &api.file, 1)?;
    }
    releases(spec, spec.errors.iter().map(|error| error.added.as_str()), "errors.kafka", 1)
}

fn releases<'a>(spec: &Spec, mut names: impl Iterator<Item = &'a str>, file: &str, line: usize) -> Result<()> {
    if spec.releases.is_empty() {
        return Ok(());
    }
    match names.find(|name| !spec.releases.iter().any(|release| release.name == *name)) {
        None => Ok(()),
        Some(name) => Err(SpecError::new(file, line, 1, format!("release `{name}` is not in releases.kafka"))),
    }
}
