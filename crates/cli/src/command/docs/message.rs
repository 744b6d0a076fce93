//! What a page says about one message: its fields, each of its versions, an example.

use milena_schema::{ChangeKind, LayoutField, MessageKind, MessageSpec, StructId};

use super::html::{esc, put};
use super::site::Site;
use crate::example::{Example, Role};
use crate::field::{attributes, clip, ty};
use crate::history::{Era, eras};

/// Everything about a message. Ids begin with `id`.
pub(super) fn section(site: &Site<'_>, message: &MessageSpec, id: &str, title: &str) -> String {
    let mut out = String::new();
    put!(out, "<section class=\"message\" id=\"{}\" data-versions=\"{}\">\n", esc(id), message.versions);
    put!(out, "<h2><a href=\"#{}\">{}</a></h2>\n", esc(id), esc(title));
    // What a request is for stands at the top of its page.
    if !message.doc.is_empty() && message.kind != MessageKind::Request {
        put!(out, "<p>{}</p>\n", site.prose(&message.doc));
    }
    fields(&mut out, site, message, id);
    versions(&mut out, site, message, id);
    example(&mut out, site, message);
    out.push_str("</section>\n");
    out
}

/// One table with the fields of all versions.
fn fields(out: &mut String, site: &Site<'_>, message: &MessageSpec, id: &str) {
    put!(out, "<h3 id=\"{0}-fields\">Fields</h3>\n", esc(id));
    if message.root().fields.is_empty() {
        out.push_str("<p>It has none.</p>\n");
        return;
    }
    out.push_str(
        "<table class=\"fields\">\n<thead><tr><th>Field</th><th>Type</th><th>Versions</th><th>Meaning</th></tr></thead>\n<tbody>\n",
    );
    rows(out, site, message, StructId::ROOT, id, 0);
    out.push_str("</tbody>\n</table>\n");
}

fn rows(out: &mut String, site: &Site<'_>, message: &MessageSpec, structure: StructId, path: &str, depth: usize) {
    for field in &message.structure(structure).fields {
        let versions = field.versions.intersect(message.versions);
        if versions.is_empty() {
            continue;
        }
        let path = format!("{path}.{}", field.json_name);
        let gone = if versions.max() < message.versions.max() { " class=\"gone\"" } else { "" };
        put!(
            out,
            "<tr id=\"{0}\" data-min=\"{1}\" data-max=\"{2}\" style=\"--depth:{depth}\"{gone}><th scope=\"row\">\
             <a href=\"#{0}\">{3}</a></th><td class=\"type\">{4}</td><td class=\"versions\">{5}</td><td>",
            esc(&path),
            versions.min(),
            versions.max(),
            esc(&field.json_name),
            type_link(&ty(message, field, None)),
            clip(versions, message),
        );
        if !field.doc.is_empty() {
            put!(out, "{} ", site.prose(&field.doc));
        }
        let mut words = attributes(message, field, None);
        words.extend(field.entity.map(|entity| entity.name().to_owned()));
        if !words.is_empty() {
            out.push_str("<span class=\"attributes\">");
            for word in words {
                put!(out, "<span>{}</span> ", esc(&word));
            }
            out.push_str("</span>");
        }
        out.push_str("</td></tr>\n");
        if let Some(inner) = field.ty.struct_id() {
            rows(out, site, message, inner, &path, depth + 1);
        }
    }
}

/// A type, with a link to how it is encoded if it is no struct.
fn type_link(ty: &str) -> String {
    let element = ty.trim_start_matches("[]").trim_end_matches('?');
    let primitive = element.starts_with(|c: char| c.is_ascii_lowercase());
    match (primitive, ty.split_once(element)) {
        (true, Some((before, after))) => {
            format!("{}<a href=\"encodings.html#{1}\">{1}</a>{2}", esc(before), esc(element), esc(after))
        }
        _ => esc(ty).to_string(),
    }
}

/// Each version, newest first, with what it changed and how it is laid out.
fn versions(out: &mut String, site: &Site<'_>, message: &MessageSpec, id: &str) {
    put!(out, "<h3 id=\"{0}-versions\">Versions</h3>\n<div class=\"eras\">\n", esc(id));
    let eras = eras(site.spec, message);
    let newest = message.versions.max();
    for version in message.versions.iter().rev() {
        let Some(era) = eras.iter().find(|era| era.versions.contains(version)) else { continue };
        put!(out, "<details class=\"era\" id=\"{0}-v{version}\"><summary><b>v{version}</b> ", esc(id));
        put!(out, "<span class=\"span\">{}</span> ", releases(era));
        if let Some((request, response)) = era.headers {
            let header = if message.kind == MessageKind::Request { request } else { response };
            put!(out, "<span>header {header}</span> ");
        }
        let notes = era.notes();
        let notes = if notes.is_empty() { String::new() } else { format!("{} · ", esc(&notes)) };
        put!(out, "<span class=\"notes\">{notes}{}</span>", summary(message, version));
        out.push_str("</summary>\n");
        if version > message.versions.min() {
            changes(out, site, message, version);
        }
        let same = version > message.versions.min()
            && version != newest
            && message.layout_diff(version - 1, version).is_ok_and(|diff| diff.changes.is_empty());
        match message.layout(version) {
            Ok(_) if same => {
                put!(out, "<p>The fields are those of <a href=\"#{1}-v{0}\">v{0}</a>.</p>\n", version - 1, esc(id));
            }
            Ok(layout) if !layout.fields.is_empty() => {
                out.push_str("<pre class=\"layout\">");
                tree(out, message, &layout.fields, version, 0);
                out.push_str("</pre>\n");
            }
            _ => out.push_str("<p>No fields.</p>\n"),
        }
        out.push_str("</details>\n");
    }
    out.push_str("</div>\n");
}

/// The releases that have these versions.
pub(super) fn releases(era: &Era) -> String {
    match &era.last {
        None => format!("Kafka {} and later", esc(&era.first)),
        Some(last) if *last == era.first => format!("Kafka {}", esc(last)),
        Some(last) => format!("Kafka {} to {}", esc(&era.first), esc(last)),
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

fn changes(out: &mut String, site: &Site<'_>, message: &MessageSpec, version: i16) {
    let Ok(diff) = message.layout_diff(version - 1, version) else { return };
    if diff.changes.is_empty() && diff.flexible.0 == diff.flexible.1 {
        put!(out, "<p>The layout did not change; the number tells what the other side can do or means by it.</p>\n");
        return;
    }
    put!(out, "<p>Changes from v{}:</p>\n<ul class=\"changes\">\n", version - 1);
    if diff.flexible == (false, true) {
        out.push_str(
            "<li class=\"other\">flexible: <a href=\"encodings.html#compact\">compact lengths</a>, and \
             <a href=\"encodings.html#tagged\">tagged fields</a> behind every struct</li>\n",
        );
    }
    for change in &diff.changes {
        let (class, note) = match change.kind {
            ChangeKind::Added => ("added", ""),
            ChangeKind::Removed => ("removed", ""),
            ChangeKind::Nullable => ("other", " may be null"),
            ChangeKind::NotNullable => ("other", " may no longer be null"),
        };
        put!(
            out,
            "<li class=\"{class}\"><a href=\"{}\"><code>{}</code></a> <code class=\"type\">{}</code>{note}</li>\n",
            esc(&site.href(message, &change.path.replace("[]", ""))),
            esc(&change.path),
            esc(&change.field.ty),
        );
    }
    out.push_str("</ul>\n");
}

/// One version as text, a line for each field.
fn tree(out: &mut String, message: &MessageSpec, fields: &[LayoutField<'_>], version: i16, depth: usize) {
    let width = |text: fn(&LayoutField<'_>) -> usize| fields.iter().map(text).max().unwrap_or(0);
    let names = width(|field| field.field.json_name.len());
    let types = width(|field| field.ty.len());
    for field in fields {
        let attributes = attributes(message, field.field, Some(version)).join(", ");
        let rest = format!("{:types$}  {attributes}", field.ty);
        let name = format!("{:names$}", field.field.json_name);
        put!(out, "{:2$}<b>{}</b>  ", "", esc(&name), 2 * depth);
        put!(out, "{}\n", esc(rest.trim_end()));
        tree(out, message, &field.fields, version, depth + 1);
    }
}

/// The newest version, byte by byte.
fn example(out: &mut String, site: &Site<'_>, message: &MessageSpec) {
    let version = message.versions.max();
    let Ok(example) = Example::of(site.spec, message, version) else { return };
    let (_, id) = site.place(message);
    put!(out, "<h3 id=\"{}-example\">Example of v{version}</h3>\n", esc(&id));
    if matches!(message.kind, MessageKind::Request) {
        out.push_str("<p class=\"quiet\">Each value is plausible, not all of them at once.</p>\n");
    }
    table(out, &example);
    put!(out, "<details class=\"dump\"><summary>All {} bytes as hex</summary>\n<pre>", example.bytes.len());
    for (index, byte) in example.bytes.iter().enumerate() {
        let gap = match index {
            0 => "",
            index if index % 16 == 0 => "\n",
            _ => " ",
        };
        put!(out, "{gap}{byte:02x}");
    }
    out.push_str("</pre>\n</details>\n");
}

/// Bytes beside what they mean.
pub(super) fn table(out: &mut String, example: &Example) {
    out.push_str(
        "<table class=\"bytes\">\n<thead><tr><th>At</th><th>Bytes</th><th>Field</th><th>Type</th><th>Value</th></tr></thead>\n<tbody>\n",
    );
    for line in &example.lines {
        if line.role == Role::Title {
            put!(out, "<tr class=\"title\"><th colspan=\"5\" scope=\"colgroup\">{}</th></tr>\n", esc(&line.name));
            continue;
        }
        let at = if line.range.is_empty() { String::new() } else { line.range.start.to_string() };
        let class = if line.role == Role::Frame { " class=\"frame\"" } else { "" };
        put!(
            out,
            "<tr{class}><td class=\"at\">{at}</td><td class=\"hex\">{}</td><th scope=\"row\" style=\"--depth:{}\">{}</th>\
             <td class=\"type\">{}</td><td class=\"value\">{}</td></tr>\n",
            example.hex(line).join(" "),
            line.depth.saturating_sub(1),
            esc(&line.name),
            esc(&line.ty),
            esc(&line.value),
        );
    }
    out.push_str("</tbody>\n</table>\n");
}
