//! What a page says about one message: its fields, each of its versions, an example.

use std::fmt::Write as _;

use maud::{Markup, html};
use milena_schema::{ChangeKind, Field, LayoutField, MessageKind, MessageSpec, StructId};

use super::site::{NEWLINE, Site};
use crate::example::{Example, Role};
use crate::field::{attributes, clip, ty};
use crate::history::{Era, eras};

/// Everything about a message. Ids begin with `id`.
pub(super) fn section(site: &Site<'_>, message: &MessageSpec, id: &str, title: &str) -> Markup {
    html! {
        section.message id=(id) data-versions=(message.versions) { (NEWLINE)
            h2 { a href={ "#" (id) } { (title) } } (NEWLINE)
            // The purpose of a request is at the top of its page.
            @if !message.doc.is_empty() && message.kind != MessageKind::Request {
                p { (site.prose_of(message, &message.doc)) } (NEWLINE)
            }
            (fields(site, message, id))
            (versions(site, message, id))
            (example(site, message))
        } (NEWLINE)
    }
}

/// One table with the fields of all versions.
fn fields(site: &Site<'_>, message: &MessageSpec, id: &str) -> Markup {
    html! {
        h3 id={ (id) "-fields" } { "Fields" } (NEWLINE)
        @if message.root().fields.is_empty() {
            p { "It has none." } (NEWLINE)
        } @else {
            table.fields {
                thead { tr { th { "Field" } th { "Type" } th { "Versions" } th { "Meaning" } } } (NEWLINE)
                tbody { (rows(site, message, StructId::ROOT, id, 0)) }
            } (NEWLINE)
        }
    }
}

fn rows(site: &Site<'_>, message: &MessageSpec, structure: StructId, path: &str, depth: usize) -> Markup {
    html! {
        @for field in &message.structure(structure).fields {
            @if !field.versions.intersect(message.versions).is_empty() {
                @let path = format!("{path}.{}", field.json_name);
                (row(site, message, field, &path, depth)) (NEWLINE)
                @if let Some(inner) = field.ty.struct_id() { (rows(site, message, inner, &path, depth + 1)) }
            }
        }
    }
}

fn row(site: &Site<'_>, message: &MessageSpec, field: &Field, path: &str, depth: usize) -> Markup {
    let versions = field.versions.intersect(message.versions);
    let mut words = attributes(message, field, None);
    words.extend(field.entity.map(|entity| entity.name().to_owned()));
    html! {
        tr.gone[versions.max() < message.versions.max()] id=(path) data-min=(versions.min()) data-max=(versions.max())
            style={ "--depth:" (depth) }
        {
            th scope="row" { a href={ "#" (path) } { (field.json_name) } }
            td.type { (type_link(&ty(message, field, None))) }
            td.versions { (clip(versions, message)) }
            td {
                @if !field.doc.is_empty() { (site.prose_of(message, &field.doc)) " " }
                @if !words.is_empty() {
                    span.attributes { @for word in &words { span { (word) } " " } }
                }
            }
        }
    }
}

/// A type, with a link to its encoding if it is no struct.
fn type_link(ty: &str) -> Markup {
    let element = ty.trim_start_matches("[]").trim_end_matches('?');
    let primitive = element.starts_with(|c: char| c.is_ascii_lowercase());
    html! {
        @match (primitive, ty.split_once(element)) {
            (true, Some((before, after))) => {
                (before) a href={ "encodings.html#" (element) } { (element) } (after)
            },
            _ => (ty),
        }
    }
}

/// Each version, newest first, with what it changed and its layout.
fn versions(site: &Site<'_>, message: &MessageSpec, id: &str) -> Markup {
    let eras = eras(site.spec, message);
    html! {
        h3 id={ (id) "-versions" } { "Versions" } (NEWLINE)
        div.eras {
            @for version in message.versions.iter().rev() {
                @if let Some(era) = eras.iter().find(|era| era.versions.contains(version)) {
                    (one_version(site, message, id, version, era)) (NEWLINE)
                }
            }
        } (NEWLINE)
    }
}

fn one_version(site: &Site<'_>, message: &MessageSpec, id: &str, version: i16, era: &Era) -> Markup {
    let first = version == message.versions.min();
    let same = !first
        && version != message.versions.max()
        && message.layout_diff(version - 1, version).is_ok_and(|diff| diff.changes.is_empty());
    let notes = era.notes();
    html! {
        details.era id={ (id) "-v" (version) } {
            summary {
                b { "v" (version) } " "
                span.span { (releases(era)) } " "
                @if let Some((request, response)) = era.headers {
                    span { "header " (if message.kind == MessageKind::Request { request } else { response }) } " "
                }
                span.notes { @if !notes.is_empty() { (notes) " · " } (summary(message, version)) }
            }
            @if !first { (changes(site, message, version)) }
            @match message.layout(version) {
                Ok(_) if same => p {
                    "The fields are those of " a href={ "#" (id) "-v" (version - 1) } { "v" (version - 1) } "."
                },
                Ok(layout) if !layout.fields.is_empty() => pre.layout { (tree(message, &layout.fields, version, 0)) },
                _ => p { "No fields." },
            }
        }
    }
}

/// The releases that have these versions.
fn releases(era: &Era) -> String {
    match &era.last {
        None => format!("Kafka {} and later", era.first),
        Some(last) if *last == era.first => format!("Kafka {last}"),
        Some(last) => format!("Kafka {} to {last}", era.first),
    }
}

fn summary(message: &MessageSpec, version: i16) -> String {
    let Some(Ok(diff)) = version.checked_sub(1).map(|before| message.layout_diff(before, version)) else {
        return if message.versions.max() == version { "the only one" } else { "the first" }.to_owned();
    };
    let count = |kind: fn(ChangeKind) -> bool| diff.changes.iter().filter(|change| kind(change.kind)).count();
    let added = count(|kind| kind == ChangeKind::Added);
    let removed = count(|kind| kind == ChangeKind::Removed);
    let other = diff.changes.len() - added - removed;
    let parts = [(added, "added"), (removed, "removed"), (other, "changed")];
    let words: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    match (words.is_empty(), diff.flexible.0 == diff.flexible.1) {
        (true, true) => "same fields".to_owned(),
        (true, false) => "same fields, other lengths".to_owned(),
        (false, _) => words.join(", "),
    }
}

fn changes(site: &Site<'_>, message: &MessageSpec, version: i16) -> Markup {
    let Ok(diff) = message.layout_diff(version - 1, version) else { return html! {} };
    if diff.changes.is_empty() && diff.flexible.0 == diff.flexible.1 {
        return html! { p { "The layout did not change. The number shows what the sender supports or means." } };
    }
    html! {
        p { "Changes from v" (version - 1) ":" }
        ul.changes {
            @if diff.flexible == (false, true) {
                li.other {
                    "flexible: " a href="encodings.html#compact" { "compact lengths" } ", and "
                    a href="encodings.html#tagged" { "tagged fields" } " after every struct"
                }
            }
            @for change in &diff.changes {
                @let (class, note) = match change.kind {
                    ChangeKind::Added => ("added", ""),
                    ChangeKind::Removed => ("removed", ""),
                    ChangeKind::Nullable => ("other", " may be null"),
                    ChangeKind::NotNullable => ("other", " may no longer be null"),
                };
                li class=(class) {
                    a href=(site.href(message, &change.path.replace("[]", ""))) { code { (change.path) } } " "
                    code.type { (change.field.ty) } (note)
                }
            }
        }
    }
}

/// One version as text, a line for each field.
fn tree(message: &MessageSpec, fields: &[LayoutField<'_>], version: i16, depth: usize) -> Markup {
    let width = |text: fn(&LayoutField<'_>) -> usize| fields.iter().map(text).max().unwrap_or(0);
    let names = width(|field| field.field.json_name.len());
    let types = width(|field| field.ty.len());
    html! {
        @for field in fields {
            @let rest = format!("{:types$}  {}", field.ty, attributes(message, field.field, Some(version)).join(", "));
            (" ".repeat(2 * depth)) b { (format!("{:names$}", field.field.json_name)) } "  " (rest.trim_end()) (NEWLINE)
            (tree(message, &field.fields, version, depth + 1))
        }
    }
}

/// The newest version, byte by byte.
fn example(site: &Site<'_>, message: &MessageSpec) -> Markup {
    let version = message.versions.max();
    let Ok(example) = Example::of(site.spec, message, version) else { return html! {} };
    let (_, id) = site.place(message);
    html! {
        h3 id={ (id) "-example" } { "Example of v" (version) } (NEWLINE)
        @if message.kind == MessageKind::Request {
            p.quiet { "Each value is plausible, not all of them at once." } (NEWLINE)
        }
        (table(&example))
        details.dump {
            summary { "All " (example.bytes.len()) " bytes as hex" }
            pre { (dump(&example.bytes)) }
        } (NEWLINE)
    }
}

/// Bytes in hex, 16 to a line.
fn dump(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(3 * bytes.len());
    for (index, byte) in bytes.iter().enumerate() {
        let gap = match index {
            0 => "",
            index if index % 16 == 0 => "\n",
            _ => " ",
        };
        // Writing to a string does not fail.
        let _ = write!(text, "{gap}{byte:02x}");
    }
    text
}

/// Bytes beside what they mean.
pub(super) fn table(example: &Example) -> Markup {
    html! {
        div.scroll tabindex="0" {
            table.bytes {
                thead { tr { th { "At" } th { "Bytes" } th { "Field" } th { "Type" } th { "Value" } } } (NEWLINE)
                tbody {
                    @for line in &example.lines {
                        @if line.role == Role::Title {
                            tr.title { th colspan="5" scope="colgroup" { (line.name) } }
                        } @else {
                            tr.frame[line.role == Role::Frame] {
                                td.at { @if !line.range.is_empty() { (line.range.start) } }
                                td.hex { (example.hex(line).join(" ")) }
                                th scope="row" style={ "--depth:" (line.depth.saturating_sub(1)) } { (line.name) }
                                td.type { (line.ty) }
                                td.value { (line.value) }
                            }
                        }
                        (NEWLINE)
                    }
                }
            }
        } (NEWLINE)
    }
}
