//! Messages that belong to no API: the content of records, files and headers.

use maud::{Markup, html};
use milena_schema::{MessageKind, MessageSpec};

use super::message;
use super::site::{NEWLINE, Site, api_file, families, family_file, family_title};
use crate::history::api_of;

fn messages<'a>(site: &Site<'a>, family: &'a str) -> impl Iterator<Item = &'a MessageSpec> {
    let spec = site.spec;
    spec.messages.iter().filter(move |message| message.family == family && api_of(spec, message).is_none())
}

/// The page of a family.
pub(super) fn page(site: &Site<'_>, family: &str) -> String {
    let title = family_title(family);
    let headers = family == "headers";
    let body = html! {
        @if !headers { p.kind { "Records" } }
        h1 { (title) } (NEWLINE)
        @if headers { (rule(site)) }
        nav.contents aria-label="On this page" {
            ul {
                @for message in messages(site, family) {
                    li {
                        a href={ "#" (message.name) } { (message.name) }
                        @if let Some(key) = message.key { " " span.quiet { (key) } }
                    }
                }
            }
        } (NEWLINE)
        @for message in messages(site, family) {
            (message::section(site, message, &message.name, &format!("{}{}", message.name, number(message))))
        }
    };
    site.page(&title, if headers { "headers.html" } else { "records.html" }, &body)
}

fn number(message: &MessageSpec) -> String {
    match (message.kind, message.key) {
        (MessageKind::Key | MessageKind::Value, Some(key)) => format!(", {} of type {key}", message.kind),
        (MessageKind::Metadata, Some(key)) => format!(", type {key}"),
        _ => String::new(),
    }
}

/// Which header goes with which version.
fn rule(site: &Site<'_>) -> Markup {
    let mut exceptions = Vec::new();
    for api in &site.spec.apis {
        for (side, list) in [("request", &api.request_header), ("response", &api.response_header)] {
            exceptions
                .extend(list.iter().map(|(versions, header)| (api, side, versions.intersect(api.versions), *header)));
        }
    }
    html! {
        p.lead { "Every frame is an int32 with the size of what follows, a header, and a body." }
        p {
            "The version of the API decides the version of the header. Flexible versions have request header 2 and response "
            "header 1; the others have 1 and 0."
            @if !exceptions.is_empty() {
                " Exceptions: "
                @for (index, (api, side, versions, header)) in exceptions.iter().enumerate() {
                    @if index > 0 { "; " }
                    a href=(api_file(&api.name)) { (api.name) } " v" (versions) " has " (side) " header " (header)
                }
                "."
            }
        } (NEWLINE)
    }
}

/// The page that lists the families.
pub(super) fn overview(site: &Site<'_>) -> String {
    let body = html! {
        h1 { "Records" }
        p.lead {
            "Much of what Kafka keeps in its own topics, logs and files has a layout of the same kind as requests and responses."
        }
        p {
            "In the topic of a coordinator, the key of a record begins with an int16, the number of the record type, and its "
            "value with an int16, the version. A record of the KRaft log or of the remote log metadata topic has no key. Its "
            "value begins with three unsigned varints: the version of the frame, which is 1, the number of the record type, and "
            "the version. Anything else that comes before a message is described with the message."
        }
        p {
            "The layout of records themselves, those of users included: " a href="batches.html" { "Record batches" } "."
        }
        p {
            "The releases listed for a version are those that define it as a message. Some bytes are older than their "
            "definition: Kafka wrote them with code before."
        } (NEWLINE)
        @for family in families(site.spec).into_iter().filter(|family| *family != "headers") {
            @let file = family_file(family);
            h2 { a href=(file) { (family_title(family)) } }
            table.list {
                thead { tr { th { "Message" } th { "Kind" } th { "Versions" } th { "Purpose" } } } (NEWLINE)
                tbody {
                    @for message in messages(site, family) {
                        tr {
                            th scope="row" { a href={ (file) "#" (message.name) } { (message.name) } }
                            td { (message.kind) @if let Some(key) = message.key { " " (key) } }
                            td.versions { (message.versions) }
                            td { (site.prose_of(message, &message.doc)) }
                        } (NEWLINE)
                    }
                }
            } (NEWLINE)
        }
    };
    site.page("Records", "records.html", &body)
}
