//! Which release has which version, and what each release brought.

use maud::{Markup, html};
use milena_schema::{Api, Release, Since};
use milena_wire::VersionRange;

use super::site::{NEWLINE, Site, api_file};
use crate::history::api_of;

pub(super) fn page(site: &Site<'_>) -> String {
    let releases = &site.spec.releases;
    let body = html! {
        h1 { "Releases" }
        p.lead { "Which versions of each API the feature releases of Apache Kafka define, newest first." }
        p {
            "A marked cell differs from the release before it, on its right. A version in brackets is offered only when unstable "
            "versions are enabled. A broker can serve less than its release defines: ask it with ApiVersions."
        } (NEWLINE)
        div.wide tabindex="0" {
            table.matrix {
                thead {
                    tr {
                        th { "API" }
                        @for release in releases.iter().rev() { th { a href={ "#r" (release.name) } { (release.name) } } }
                    }
                } (NEWLINE)
                tbody {
                    @for api in &site.spec.apis {
                        tr {
                            th scope="row" { a href=(api_file(&api.name)) { (humps(&api.name)) } }
                            @for (index, release) in releases.iter().enumerate().rev() {
                                @let cell = cell(releases, api, release);
                                @let before = index.checked_sub(1).map(|before| self::cell(releases, api, &releases[before]));
                                td.new[cell != before.unwrap_or_default()] { (cell) }
                            }
                        } (NEWLINE)
                    }
                }
            }
        } (NEWLINE)
        @for release in releases.iter().rev() { (notes(site, release)) }
    };
    site.page("Releases", "releases.html", &body)
}

/// A name that may break before each of its words.
fn humps(name: &str) -> Markup {
    let mut rest = name;
    let mut words = Vec::new();
    while let Some(at) = rest.char_indices().skip(1).find(|(_, c)| c.is_ascii_uppercase()).map(|(at, _)| at) {
        words.push(&rest[..at]);
        rest = &rest[at..];
    }
    html! { @for word in words { (word) wbr; } (rest) }
}

/// The place of a release in the list; its length if there is none of that name.
fn index(releases: &[Release], name: &str) -> usize {
    releases.iter().position(|release| release.name == name).unwrap_or(releases.len())
}

/// The versions of an API that a release defines, the unstable ones in brackets.
fn cell(releases: &[Release], api: &Api, release: &Release) -> String {
    let at = index(releases, &release.name);
    let mut stable: Vec<i16> = Vec::new();
    let mut unstable: Vec<i16> = Vec::new();
    for version in api.versions.iter() {
        let added = api.added_in(version).map_or(usize::MAX, |name| index(releases, name));
        let dropped = api.dropped_in(version).map_or(usize::MAX, |name| index(releases, name));
        if !(added..dropped).contains(&at) {
            continue;
        }
        let held_back = api.unstable_in(version).is_some_and(|text| {
            let (first, last) = text.split_once('-').unwrap_or((text, text));
            (index(releases, first)..=index(releases, last)).contains(&at)
        });
        if held_back { unstable.push(version) } else { stable.push(version) }
    }
    let range = |list: &[i16]| match (list.first(), list.last()) {
        (Some(min), Some(max)) => VersionRange::new(*min, *max).to_string(),
        _ => String::new(),
    };
    match unstable.is_empty() {
        true => range(&stable),
        false => format!("{} ({})", range(&stable), range(&unstable)).trim().to_owned(),
    }
}

fn notes(site: &Site<'_>, release: &Release) -> Markup {
    let brought = Brought::by(site, release);
    let fact = |name: &str, items: &[Markup]| {
        html! {
            @if !items.is_empty() {
                div {
                    dt { (name) }
                    dd { @for (index, item) in items.iter().enumerate() { @if index > 0 { ", " } (item) } }
                } (NEWLINE)
            }
        }
    };
    let records = site.spec.messages.iter().filter(|message| api_of(site.spec, message).is_none());
    let records = records.filter(|message| message.added_in(message.versions.min()) == Some(&release.name));
    let records: Vec<Markup> =
        records.map(|message| html! { a href=(site.href(message, "")) { (message.name) } }).collect();
    let errors = site.spec.errors.iter().filter(|error| error.added == release.name);
    let errors: Vec<Markup> = errors
        .map(|error| html! { a href={ "errors.html#" (error.name) } { (error.code) " " (error.name) } })
        .collect();
    html! {
        section.release id={ "r" (release.name) } {
            h2 {
                a href={ "#r" (release.name) } { "Kafka " (release.name) }
                @if let Some(date) = &release.date { " " span.quiet { (date) } }
            }
            p { (site.prose(&release.doc)) }
            dl.facts {
                (fact("New APIs", &brought.apis))
                (fact("New versions", &brought.versions))
                (fact("APIs removed", &brought.apis_removed))
                (fact("Versions removed", &brought.versions_removed))
                (fact("First definitions of records", &records))
                (fact("New error codes", &errors))
            }
        } (NEWLINE)
    }
}

/// What a release changed in the APIs.
#[derive(Default)]
struct Brought {
    apis: Vec<Markup>,
    versions: Vec<Markup>,
    apis_removed: Vec<Markup>,
    versions_removed: Vec<Markup>,
}

impl Brought {
    fn by(site: &Site<'_>, release: &Release) -> Self {
        let versions = |list: &[Since]| -> Vec<VersionRange> {
            list.iter().filter(|since| since.release == release.name).map(|since| since.versions).collect()
        };
        let link = |api: &Api| html! { a href=(api_file(&api.name)) { (api.name) } };
        let listed = |api: &Api, ranges: &[VersionRange]| {
            let text: Vec<String> = ranges.iter().map(|range| format!("v{range}")).collect();
            html! { (link(api)) " " (text.join(", ")) }
        };
        let mut brought = Self::default();
        for api in &site.spec.apis {
            let added = versions(&api.added);
            if added.iter().any(|range| range.contains(api.versions.min())) {
                brought.apis.push(link(api));
            } else if !added.is_empty() {
                brought.versions.push(listed(api, &added));
            }
            let dropped = versions(&api.dropped);
            if dropped.iter().any(|range| range.contains(api.versions.max())) {
                brought.apis_removed.push(link(api));
            } else if !dropped.is_empty() {
                brought.versions_removed.push(listed(api, &dropped));
            }
        }
        brought
    }
}
