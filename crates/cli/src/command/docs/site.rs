//! The pages as a whole, and what they share: names of files, links, the frame around each page.

use std::collections::BTreeMap;

use milena_schema::{MessageKind, MessageSpec, Spec};

use super::html::{esc, put};
use super::{api, batch, encoding, error, family, index, proposal, release, search};
use crate::history::api_of;
use crate::mention::{Piece, pieces};

/// Stands in every page, whatever version wrote it, and shows that a folder is ours.
pub(super) const MARK: &str = "<meta name=\"generator\" content=\"milena docs\" />";

/// The parts of the reference: file, name.
pub(super) const PARTS: [(&str, &str); 7] = [
    ("index.html", "APIs"),
    ("records.html", "Records"),
    ("headers.html", "Headers"),
    ("errors.html", "Errors"),
    ("releases.html", "Releases"),
    ("encodings.html", "Encodings"),
    ("proposals.html", "Proposals"),
];

/// The protocol as pages.
pub(super) struct Site<'a> {
    pub(super) spec: &'a Spec,
}

/// All files of the reference: name, content. The same spec gives the same files.
pub(super) fn files(spec: &Spec) -> BTreeMap<String, String> {
    let site = Site { spec };
    let mut files = BTreeMap::new();
    let mut add = |name: &str, text: String| files.insert(name.to_owned(), text);
    add("style.css", include_str!("style.css").to_owned());
    add("script.js", include_str!("script.js").to_owned());
    add("search.js", search::script(&site));
    add("index.html", index::page(&site));
    add("records.html", family::overview(&site));
    add("batches.html", batch::page(&site));
    add("errors.html", error::page(&site));
    add("releases.html", release::page(&site));
    add("encodings.html", encoding::page(&site));
    add("proposals.html", proposal::page(&site));
    for api in &spec.apis {
        add(&api_file(&api.name), api::page(&site, api));
    }
    for family in families(spec) {
        add(&family_file(family), family::page(&site, family));
    }
    files
}

/// The families of messages that are of no API, in the order of the spec.
pub(super) fn families(spec: &Spec) -> Vec<&str> {
    let mut families: Vec<&str> = Vec::new();
    for message in spec.messages.iter().filter(|message| api_of(spec, message).is_none()) {
        if !families.contains(&message.family.as_str()) {
            families.push(&message.family);
        }
    }
    families
}

pub(super) fn api_file(name: &str) -> String {
    format!("api-{}.html", name.to_lowercase())
}

pub(super) fn family_file(family: &str) -> String {
    if family == "headers" { "headers.html".to_owned() } else { format!("records-{family}.html") }
}

/// The name of a family for people: `Group coordinator`.
pub(super) fn family_title(family: &str) -> String {
    // There is an API of that name too.
    if family == "metadata" {
        return "KRaft metadata".to_owned();
    }
    let text = family.replace('_', " ");
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

impl Site<'_> {
    /// The file that a message stands in, and what its ids there begin with.
    pub(super) fn place(&self, message: &MessageSpec) -> (String, String) {
        match (api_of(self.spec, message), message.kind) {
            (Some(api), MessageKind::Request) => (api_file(&api.name), "request".to_owned()),
            (Some(api), _) => (api_file(&api.name), "response".to_owned()),
            (None, _) => (family_file(&message.family), message.name.clone()),
        }
    }

    /// The address of a message, or of one of its fields by its path.
    pub(super) fn href(&self, message: &MessageSpec, path: &str) -> String {
        let (file, id) = self.place(message);
        if path.is_empty() { format!("{file}#{id}") } else { format!("{file}#{id}.{path}") }
    }

    /// A comment of the spec, with proposals and error codes as links.
    pub(super) fn prose(&self, text: &str) -> String {
        let mut out = String::new();
        for piece in pieces(text) {
            match piece {
                Piece::Text(text) => put!(out, "{}", esc(text)),
                Piece::Kip(text, kip) => put!(out, "<a href=\"proposals.html#kip-{kip}\">{}</a>", esc(text)),
                Piece::Error(text, code) => match self.spec.error(code) {
                    Some(error) => {
                        put!(out, "<a href=\"errors.html#{}\" title=\"{0}\">{}</a>", esc(&error.name), esc(text));
                    }
                    None => put!(out, "{}", esc(text)),
                },
            }
        }
        out
    }

    /// A page with all that stands around its body. `part` is the file of the part that it belongs to.
    pub(super) fn page(&self, title: &str, part: &str, body: &str) -> String {
        let mut out = String::with_capacity(body.len() + 4096);
        let newest = self.spec.releases.last().map_or("", |release| release.name.as_str());
        put!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\" />\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n\
             <meta name=\"color-scheme\" content=\"light dark\" />\n{MARK}\n\
             <title>{} · Kafka protocol</title>\n<link rel=\"stylesheet\" href=\"style.css\" />\n\
             <script src=\"script.js\" defer=\"defer\"></script>\n</head>\n<body>\n\
             <a class=\"skip\" href=\"#main\">Skip to content</a>\n\
             <header class=\"top\"><div class=\"bar\">\n<a class=\"home\" href=\"index.html\">Kafka protocol</a>\n\
             <nav aria-label=\"Parts\">",
            esc(title),
        );
        for (file, name) in PARTS {
            let current = if file == part { " aria-current=\"page\"" } else { "" };
            put!(out, "<a href=\"{file}\"{current}>{name}</a>");
        }
        put!(
            out,
            "</nav>\n<div class=\"search\" hidden=\"hidden\"><input type=\"search\" id=\"search\" \
             placeholder=\"Search\" aria-label=\"Search APIs, fields, errors and proposals\" \
             autocomplete=\"off\" spellcheck=\"false\" /><ol id=\"found\" hidden=\"hidden\"></ol></div>\n\
             </div></header>\n<main id=\"main\">\n{body}</main>\n\
             <footer><p>Every version from Apache Kafka 0.8.0 to {}, made by milena {} from its own text of the protocol. \
             Apache Kafka is a trademark of the Apache Software Foundation, which has nothing to do with it.</p></footer>\n\
             </body>\n</html>\n",
            esc(newest),
            env!("CARGO_PKG_VERSION"),
        );
        out
    }
}
