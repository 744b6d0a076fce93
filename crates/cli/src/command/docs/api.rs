//! The page of an API.

use milena_schema::{Api, MessageKind, MessageSpec, Since};
use milena_wire::VersionRange;

use super::html::{esc, put};
use super::message;
use super::site::{Site, api_file};
use crate::history::api_of;
use crate::mention::kips_of;

pub(super) fn page(site: &Site<'_>, api: &Api) -> String {
    let messages: Vec<&MessageSpec> = site
        .spec
        .messages
        .iter()
        .filter(|message| api_of(site.spec, message).is_some_and(|of| of.key == api.key))
        .collect();
    let mut out = String::new();
    put!(out, "<p class=\"kind\">API key {}</p>\n<h1>{}</h1>\n", api.key, esc(&api.name));
    if let Some(request) = messages.iter().find(|message| message.kind == MessageKind::Request) {
        put!(out, "<p class=\"lead\">{}</p>\n", site.prose(&request.doc));
    }
    facts(&mut out, site, api, &messages);
    out.push_str("<nav class=\"contents\" aria-label=\"On this page\"><ul>\n");
    for id in messages.iter().map(|message| message.kind.name()) {
        let title = if id == "request" { "Request" } else { "Response" };
        put!(
            out,
            "<li><a href=\"#{id}\">{title}</a>: <a href=\"#{id}-fields\">fields</a>, \
             <a href=\"#{id}-versions\">versions</a>, <a href=\"#{id}-example\">example</a></li>\n"
        );
    }
    out.push_str("</ul></nav>\n");
    for message in &messages {
        out.push_str(&message::section(site, message, message.kind.name(), &message.name));
    }
    neighbours(&mut out, site, api);
    site.page(&api.name, "index.html", &out)
}

fn facts(out: &mut String, site: &Site<'_>, api: &Api, messages: &[&MessageSpec]) {
    out.push_str("<dl class=\"facts\">\n");
    let mut fact = |name: &str, value: String| put!(out, "<div><dt>{name}</dt><dd>{value}</dd></div>\n");
    fact("Versions", api.versions.to_string());
    let flexible = api.flexible.intersect(api.versions);
    fact("Flexible", flexible.to_string());
    let newest = site.spec.releases.last().map_or("", |release| release.name.as_str());
    fact(&format!("In Kafka {}", esc(newest)), esc(&current(api).to_string()).to_string());
    if !api.dropped.is_empty() {
        fact("Removed", list(&api.dropped));
    }
    let listeners: Vec<&str> = api
        .listeners
        .iter()
        .map(|listener| match listener.as_str() {
            "broker" => "brokers",
            "controller" => "controllers",
            "zkBroker" => "brokers with ZooKeeper",
            other => other,
        })
        .collect();
    if !listeners.is_empty() {
        fact("Served by", esc(&listeners.join(", ")).to_string());
    }
    if let Some((field, value)) = &api.unanswered {
        let text = format!("no response when <a href=\"#request.{0}\">{0}</a> is {value}", esc(field));
        fact("Unanswered", text);
    }
    let mut kips: Vec<u32> = messages.iter().flat_map(|message| kips_of(message)).collect();
    kips.sort_unstable();
    kips.dedup();
    if !kips.is_empty() {
        let links: Vec<String> =
            kips.iter().map(|kip| format!("<a href=\"proposals.html#kip-{kip}\">KIP-{kip}</a>")).collect();
        fact("Proposals", links.join(", "));
    }
    out.push_str("</dl>\n");
}

fn list(list: &[Since]) -> String {
    let parts: Vec<String> =
        list.iter().map(|since| format!("v{} in {}", since.versions, esc(&since.release))).collect();
    parts.join(", ")
}

/// The versions that no release dropped.
pub(super) fn current(api: &Api) -> VersionRange {
    let kept: Vec<i16> = api.versions.iter().filter(|version| api.dropped_in(*version).is_none()).collect();
    match (kept.first(), kept.last()) {
        (Some(min), Some(max)) => VersionRange::new(*min, *max),
        _ => VersionRange::NONE,
    }
}

fn neighbours(out: &mut String, site: &Site<'_>, api: &Api) {
    let apis = &site.spec.apis;
    let Some(index) = apis.iter().position(|other| other.key == api.key) else { return };
    out.push_str("<nav class=\"neighbours\" aria-label=\"Other APIs\">");
    if let Some(before) = index.checked_sub(1).and_then(|before| apis.get(before)) {
        put!(out, "<a rel=\"prev\" href=\"{}\">← {} {}</a>", api_file(&before.name), before.key, esc(&before.name));
    }
    if let Some(after) = apis.get(index + 1) {
        put!(out, "<a rel=\"next\" href=\"{}\">{} {} →</a>", api_file(&after.name), after.key, esc(&after.name));
    }
    out.push_str("</nav>\n");
}
