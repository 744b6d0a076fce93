//! What all pages share: names of files, links, the frame around each page.

use std::collections::BTreeMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use milena_schema::{MessageKind, MessageSpec, Spec};

use crate::history::api_of;
use crate::mention::{Piece, in_json_case, pieces};

/// The generator that every page names. It shows that a folder was written by `milena docs`, of whatever version.
pub(super) const GENERATOR: &str = "milena docs";

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

/// The families of messages that belong to no API, in the order of the spec.
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

/// The human-readable name of a family: `Group coordinator`.
pub(super) fn family_title(family: &str) -> String {
    // There is an API of that name too.
    if family == "metadata" {
        return "KRaft metadata".to_owned();
    }
    let text = family.replace('_', " ");
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// Text with a chance to break after each of these characters.
pub(super) fn breakable(text: &str, after: char) -> Markup {
    html! {
        @for part in text.split_inclusive(after) {
            (part)
            @if part.ends_with(after) { wbr; }
        }
    }
}

/// A line end, so that the source of a page has lines.
pub(super) const NEWLINE: PreEscaped<&str> = PreEscaped("\n");

/// The proposals and what each is about.
pub(super) fn proposal_titles() -> BTreeMap<u32, &'static str> {
    let lines = include_str!("proposals.tsv").lines();
    lines.filter_map(|line| line.split_once('\t')).filter_map(|(kip, title)| Some((kip.parse().ok()?, title))).collect()
}

impl Site<'_> {
    /// The file that a message is in, and what its ids there begin with.
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
    pub(super) fn prose(&self, text: &str) -> Markup {
        html! {
            @for piece in pieces(text) {
                @match piece {
                    Piece::Text(text) => (text),
                    Piece::Kip(text, kip) => a href={ "proposals.html#kip-" (kip) } { (text) },
                    Piece::Error(text, code) => @match self.spec.error(code) {
                        Some(error) => a href={ "errors.html#" (error.name) } title=(error.name) { (text) },
                        None => (text),
                    },
                }
            }
        }
    }

    /// The same for a comment of a message or one of its fields: other fields have their names in JSON, as in the tables.
    pub(super) fn prose_of(&self, message: &MessageSpec, text: &str) -> Markup {
        self.prose(&in_json_case(self.spec, message, text))
    }

    /// A page with all that is around its body. `part` is the file of the part that it belongs to.
    pub(super) fn page(&self, title: &str, part: &str, body: &Markup) -> String {
        let newest = self.spec.releases.last().map_or("", |release| release.name.as_str());
        let page = html! {
            (DOCTYPE) (NEWLINE)
            html lang="en" {
                head { (NEWLINE)
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="generator" content=(GENERATOR); (NEWLINE)
                    title { (title) " · Kafka protocol" }
                    link rel="stylesheet" href="style.css";
                    script src="script.js" defer="defer" {} (NEWLINE)
                }
                body {
                    a.skip href="#main" { "Skip to content" } (NEWLINE)
                    header.top {
                        div.bar {
                            a.home href="index.html" { "Kafka protocol" }
                            nav aria-label="Parts" {
                                @for (file, name) in PARTS {
                                    a href=(file) aria-current=[(file == part).then_some("page")] { (name) }
                                }
                            }
                            div.search hidden="hidden" {
                                input #search type="search" placeholder="Search" autocomplete="off" spellcheck="false"
                                    aria-label="Search APIs, fields, error codes and proposals";
                                ol #found hidden="hidden" {}
                            }
                        }
                    } (NEWLINE)
                    main #main { (NEWLINE) (body) }
                    footer {
                        p {
                            "Every version from Apache Kafka 0.8.0 to " (newest) ", made by milena "
                            (env!("CARGO_PKG_VERSION")) " from its own description of the protocol. Apache Kafka is a "
                            "trademark of the Apache Software Foundation, which is not involved in this reference."
                        }
                    } (NEWLINE)
                }
            }
            (NEWLINE)
        };
        page.into_string()
    }
}
