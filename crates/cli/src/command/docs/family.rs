//! Messages that are of no API: what lies in records, files and headers.

use milena_schema::{MessageKind, MessageSpec};

use super::html::{esc, put};
use super::message;
use super::site::{Site, families, family_file, family_title};
use crate::history::api_of;

fn messages<'a>(site: &Site<'a>, family: &'a str) -> impl Iterator<Item = &'a MessageSpec> {
    let spec = site.spec;
    spec.messages.iter().filter(move |message| message.family == family && api_of(spec, message).is_none())
}

/// The page of a family.
pub(super) fn page(site: &Site<'_>, family: &str) -> String {
    let title = family_title(family);
    let mut out = String::new();
    let headers = family == "headers";
    if !headers {
        out.push_str("<p class=\"kind\">Records</p>\n");
    }
    put!(out, "<h1>{}</h1>\n", esc(&title));
    if headers {
        rule(&mut out, site);
    }
    out.push_str("<nav class=\"contents\" aria-label=\"On this page\"><ul>\n");
    for message in messages(site, family) {
        put!(out, "<li><a href=\"#{0}\">{0}</a>{1}</li>\n", esc(&message.name), short(message));
    }
    out.push_str("</ul></nav>\n");
    for message in messages(site, family) {
        let title = format!("{}{}", message.name, number(message));
        out.push_str(&message::section(site, message, &message.name, &title));
    }
    site.page(&title, if headers { "headers.html" } else { "records.html" }, &out)
}

/// The same in a list.
fn short(message: &MessageSpec) -> String {
    message.key.map_or(String::new(), |key| format!(" <span class=\"quiet\">{key}</span>"))
}

fn number(message: &MessageSpec) -> String {
    match (message.kind, message.key) {
        (MessageKind::Key | MessageKind::Value, Some(key)) => format!(", {} of type {key}", message.kind),
        (MessageKind::Metadata, Some(key)) => format!(", type {key}"),
        _ => String::new(),
    }
}

/// Which header goes with which version.
fn rule(out: &mut String, site: &Site<'_>) {
    out.push_str(
        "<p class=\"lead\">Every frame is an int32 with the size of what follows, a header, and a body.</p>\n\
         <p>The version of the API decides the version of the header. Flexible versions have request header 2 and \
         response header 1; the others have 1 and 0.",
    );
    let mut exceptions = Vec::new();
    for api in &site.spec.apis {
        for (side, list) in [("request", &api.request_header), ("response", &api.response_header)] {
            for (versions, header) in list {
                exceptions.push(format!(
                    "<a href=\"{}\">{}</a> v{} has {side} header {header}",
                    super::site::api_file(&api.name),
                    esc(&api.name),
                    versions.intersect(api.versions),
                ));
            }
        }
    }
    if !exceptions.is_empty() {
        put!(out, " Exceptions: {}.", exceptions.join("; "));
    }
    out.push_str("</p>\n");
}

/// The page that lists the families.
pub(super) fn overview(site: &Site<'_>) -> String {
    let mut out = String::from(
        "<h1>Records</h1>\n<p class=\"lead\">Kafka lays out much of what it keeps in its own topics, logs and files in the \
         same way as requests and responses.</p>\n\
         <p>The key of a record in a coordinator’s topic begins with an int16, the number of the record type, and its value \
         with an int16, the version. A record of the KRaft log or of the remote log metadata topic has no key; its value \
         begins with three unsigned varints: the version of the frame, which is 1, the number of the record type, and the \
         version. What else stands in front of a message is said with it.</p>\n\
         <p>How records themselves are laid out, those of users too: <a href=\"batches.html\">Record batches</a>.</p>\n\
         <p>The releases named with a version are those that define it as a message. Some bytes are older than their \
         definition: Kafka wrote them by hand before.</p>\n",
    );
    for family in families(site.spec).into_iter().filter(|family| *family != "headers") {
        let file = family_file(family);
        put!(
            out,
            "<h2><a href=\"{file}\">{}</a></h2>\n<table class=\"list\">\n<thead><tr>",
            esc(&family_title(family))
        );
        out.push_str(
            "<th>MessageSpec</th><th>MessageKind</th><th>Versions</th><th>What it is for</th></tr></thead>\n<tbody>\n",
        );
        for message in messages(site, family) {
            let kind = match message.key {
                Some(key) => format!("{} {key}", message.kind),
                None => message.kind.to_string(),
            };
            put!(
                out,
                "<tr><th scope=\"row\"><a href=\"{file}#{0}\">{0}</a></th><td>{kind}</td>\
                 <td class=\"versions\">{1}</td><td>{2}</td></tr>\n",
                esc(&message.name),
                message.versions,
                site.prose(&message.doc),
            );
        }
        out.push_str("</tbody>\n</table>\n");
    }
    site.page("Records", "records.html", &out)
}
