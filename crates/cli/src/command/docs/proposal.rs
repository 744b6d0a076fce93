//! The page of the Kafka Improvement Proposals that the spec names.

use std::collections::BTreeMap;

use maud::html;
use milena_schema::MessageSpec;

use super::site::{NEWLINE, Site, breakable, proposal_titles};
use crate::mention::{Piece, comments, pieces};

const WIKI: &str = "https://cwiki.apache.org/confluence/display/KAFKA/Kafka+Improvement+Proposals";

/// Each proposal with the places that name it.
pub(super) fn all<'a>(site: &Site<'a>) -> BTreeMap<u32, Vec<(&'a MessageSpec, String)>> {
    let mut all: BTreeMap<u32, Vec<(&MessageSpec, String)>> = BTreeMap::new();
    for message in &site.spec.messages {
        for (path, doc) in comments(message) {
            for piece in pieces(doc) {
                if let Piece::Kip(_, kip) = piece {
                    all.entry(kip).or_default().push((message, path.clone()));
                }
            }
        }
    }
    // Error codes and releases name some too, and their links need a target.
    let docs =
        site.spec.errors.iter().map(|error| &error.doc).chain(site.spec.releases.iter().map(|release| &release.doc));
    for doc in docs {
        for piece in pieces(doc) {
            if let Piece::Kip(_, kip) = piece {
                all.entry(kip).or_default();
            }
        }
    }
    all
}

pub(super) fn page(site: &Site<'_>) -> String {
    let titles = proposal_titles();
    let body = html! {
        h1 { "Proposals" }
        p.lead {
            "Changes of the protocol begin as Kafka Improvement Proposals. These are the ones that the descriptions in this "
            "reference name, what each is about, and where it is named."
        }
        p { "The proposals themselves are at " a href=(WIKI) { "cwiki.apache.org" } "." } (NEWLINE)
        table.list.proposals {
            thead { tr { th { "Proposal" } th { "About" } th { "Named at" } } } (NEWLINE)
            tbody {
                @for (kip, places) in all(site) {
                    tr id={ "kip-" (kip) } {
                        th scope="row" { a href={ "#kip-" (kip) } { "KIP-" (kip) } }
                        td { (titles.get(&kip).copied().unwrap_or_default()) }
                        td {
                            ul.places {
                                @for (message, path) in &places {
                                    li {
                                        a href=(site.href(message, path)) {
                                            @if path.is_empty() { (message.name) } @else {
                                                (breakable(&format!("{}.{path}", message.name), '.'))
                                            }
                                        }
                                    }
                                }
                                @if places.is_empty() { li { "a release or an error code" } }
                            }
                        }
                    } (NEWLINE)
                }
            }
        } (NEWLINE)
    };
    site.page("Proposals", "proposals.html", &body)
}
