//! The page of an API.

use maud::{Markup, html};
use milena_schema::{Api, MessageKind, MessageSpec, Since};
use milena_wire::VersionRange;

use super::message;
use super::site::{NEWLINE, Site, api_file, proposal_titles};
use crate::history::api_of;
use crate::mention::kips_of;

pub(super) fn page(site: &Site<'_>, api: &Api) -> String {
    let messages: Vec<&MessageSpec> = site
        .spec
        .messages
        .iter()
        .filter(|message| api_of(site.spec, message).is_some_and(|of| of.key == api.key))
        .collect();
    let body = html! {
        p.kind { "API key " (api.key) }
        h1 { (api.name) } (NEWLINE)
        @if let Some(request) = messages.iter().find(|message| message.kind == MessageKind::Request) {
            p.lead { (site.prose_of(request, &request.doc)) } (NEWLINE)
        }
        (facts(site, api, &messages))
        nav.contents aria-label="On this page" {
            ul {
                @for id in messages.iter().map(|message| message.kind.name()) {
                    li {
                        a href={ "#" (id) } { (if id == "request" { "Request" } else { "Response" }) } ": "
                        a href={ "#" (id) "-fields" } { "fields" } ", "
                        a href={ "#" (id) "-versions" } { "versions" } ", "
                        a href={ "#" (id) "-example" } { "example" }
                    }
                }
            }
        } (NEWLINE)
        @for message in &messages {
            (message::section(site, message, message.kind.name(), &message.name))
        }
        (neighbours(site, api))
    };
    site.page(&api.name, "index.html", &body)
}

fn facts(site: &Site<'_>, api: &Api, messages: &[&MessageSpec]) -> Markup {
    let newest = site.spec.releases.last().map_or("", |release| release.name.as_str());
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
    let mut kips: Vec<u32> = messages.iter().flat_map(|message| kips_of(message)).collect();
    kips.sort_unstable();
    kips.dedup();
    let titles = proposal_titles();
    let fact = |name: &str, value: Markup| html! { div { dt { (name) } dd { (value) } } (NEWLINE) };
    html! {
        dl.facts {
            (fact("Versions", html! { (api.versions) }))
            (fact("Flexible", html! { (api.flexible.intersect(api.versions)) }))
            (fact(&format!("In Kafka {newest}"), html! { (current(api)) }))
            @if !api.dropped.is_empty() { (fact("Removed", html! { (list(&api.dropped)) })) }
            @if !listeners.is_empty() { (fact("Served by", html! { (listeners.join(", ")) })) }
            @if let Some((field, value)) = &api.unanswered {
                (fact("No response", html! { "when " a href={ "#request." (field) } { (field) } " is " (value) }))
            }
            @if !kips.is_empty() {
                (fact("Proposals", html! {
                    @for (index, kip) in kips.iter().enumerate() {
                        @if index > 0 { ", " }
                        a href={ "proposals.html#kip-" (kip) } title=[titles.get(kip)] { "KIP-" (kip) }
                    }
                }))
            }
        }
    }
}

fn list(list: &[Since]) -> String {
    let parts: Vec<String> = list.iter().map(|since| format!("v{} in {}", since.versions, since.release)).collect();
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

fn neighbours(site: &Site<'_>, api: &Api) -> Markup {
    let apis = &site.spec.apis;
    let index = apis.iter().position(|other| other.key == api.key).unwrap_or_default();
    html! {
        nav.neighbours aria-label="Other APIs" {
            @if let Some(before) = index.checked_sub(1).and_then(|before| apis.get(before)) {
                a rel="prev" href=(api_file(&before.name)) { "← " (before.key) " " (before.name) }
            }
            @if let Some(after) = apis.get(index + 1) {
                a rel="next" href=(api_file(&after.name)) { (after.key) " " (after.name) " →" }
            }
        } (NEWLINE)
    }
}
