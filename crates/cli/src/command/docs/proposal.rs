//! The page of the Kafka Improvement Proposals that the spec names.

use std::collections::BTreeMap;

use milena_schema::MessageSpec;

use super::html::{esc, put};
use super::site::Site;
use crate::mention::{Piece, comments, pieces};

/// Proposal to the places that name it.
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
    // Error codes and releases name some too; those have to have a place for their links to lead to.
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
    let mut out = String::from(
        "<h1>Proposals</h1>\n<p class=\"lead\">Changes of the protocol begin as Kafka Improvement Proposals. These are the \
         ones that the descriptions in this reference name, and where.</p>\n\
         <p>The texts themselves are at <a href=\"https://cwiki.apache.org/confluence/display/KAFKA/\
         Kafka+Improvement+Proposals\">cwiki.apache.org</a>.</p>\n\
         <table class=\"list\">\n<thead><tr><th>Proposal</th><th>Named at</th></tr></thead>\n<tbody>\n",
    );
    for (kip, places) in all(site) {
        let links: Vec<String> = places
            .iter()
            .map(|(message, path)| {
                let text = if path.is_empty() { message.name.clone() } else { format!("{}.{path}", message.name) };
                let text = esc(&text).to_string().replace('.', ".<wbr />");
                format!("<li><a href=\"{}\">{text}</a></li>", esc(&site.href(message, path)))
            })
            .collect();
        put!(
            out,
            "<tr id=\"kip-{kip}\"><th scope=\"row\"><a href=\"#kip-{kip}\">KIP-{kip}</a></th><td><ul class=\"places\">{}</ul>\
             </td></tr>\n",
            if links.is_empty() { "<li>a release or an error code</li>".to_owned() } else { links.concat() },
        );
    }
    out.push_str("</tbody>\n</table>\n");
    site.page("Proposals", "proposals.html", &out)
}
