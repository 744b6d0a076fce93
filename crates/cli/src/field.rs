//! What the spec says about a field, as text.

use milena_schema::{Field, FieldDefault, MessageSpec};
use milena_wire::VersionRange;

/// A range within the versions of the message: one that ends with the newest version is `N+`.
pub(crate) fn clip(versions: VersionRange, message: &MessageSpec) -> String {
    match versions.max() >= message.versions.max() && !versions.is_empty() {
        true => format!("{}+", versions.min()),
        false => versions.to_string(),
    }
}

/// The type, with `?` where null is allowed: at a version, or at any.
pub(crate) fn ty(message: &MessageSpec, field: &Field, version: Option<i16>) -> String {
    let mut ty = field.ty.text(message);
    let nullable = match version {
        Some(version) => field.is_nullable(version),
        None => !field.nullable.intersect(message.versions).is_empty(),
    };
    if nullable {
        ty.push('?');
    }
    ty
}

/// What name and type do not say, in the words of the spec language.
pub(crate) fn attributes(message: &MessageSpec, field: &Field, version: Option<i16>) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(tag) = field.tag {
        words.push(format!("tag {tag}"));
    }
    let always = field.nullable.covers(field.versions.intersect(message.versions));
    if version.is_none() && !always && !field.nullable.intersect(message.versions).is_empty() {
        words.push(format!("null {}", clip(field.nullable, message)));
    }
    match field.default {
        FieldDefault::Null => words.push("default null".to_owned()),
        FieldDefault::Number(number) if number != 0 => match field.ty.keyword() {
            Some("bool") => words.push("default true".to_owned()),
            _ => words.push(format!("default {number}")),
        },
        _ => {}
    }
    if field.ignorable {
        words.push("ignorable".to_owned());
    }
    if field.map_key {
        words.push("key".to_owned());
    }
    words
}
