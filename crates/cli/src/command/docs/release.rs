//! Which release speaks which version, and what each of them brought.

use milena_schema::{Api, Release, Since};
use milena_wire::VersionRange;

use super::html::{esc, put};
use super::site::{Site, api_file};
use crate::history::api_of;

pub(super) fn page(site: &Site<'_>) -> String {
    let releases = &site.spec.releases;
    let mut out = String::from(
        "<h1>Releases</h1>\n<p class=\"lead\">Which versions of each API the feature releases of Apache Kafka define.</p>\n\
         <p>A marked cell differs from the one before it. A number in brackets is a version that the release offers only when \
         unstable versions are enabled. What a broker serves can be less than its release defines: ask it with ApiVersions.</p>\n\
         <div class=\"wide\" tabindex=\"0\">\n<table class=\"matrix\">\n<thead><tr><th>API</th>",
    );
    for release in releases {
        put!(out, "<th><a href=\"#r{0}\">{0}</a></th>", esc(&release.name));
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    for api in &site.spec.apis {
        put!(out, "<tr><th scope=\"row\"><a href=\"{}\">{}</a></th>", api_file(&api.name), esc(&api.name));
        let mut before = String::new();
        for release in releases {
            let cell = cell(releases, api, release);
            let class = if cell == before { "" } else { " class=\"new\"" };
            put!(out, "<td{class}>{}</td>", esc(&cell));
            before = cell;
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</tbody>\n</table>\n</div>\n");
    for release in releases.iter().rev() {
        notes(&mut out, site, release);
    }
    site.page("Releases", "releases.html", &out)
}

/// Where a release stands in the list; behind its end if it is none.
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

fn notes(out: &mut String, site: &Site<'_>, release: &Release) {
    put!(out, "<section class=\"release\" id=\"r{0}\">\n<h2><a href=\"#r{0}\">Kafka {0}</a>", esc(&release.name));
    if let Some(date) = &release.date {
        put!(out, " <span class=\"quiet\">{}</span>", esc(date));
    }
    put!(out, "</h2>\n<p>{}</p>\n<dl class=\"facts\">\n", site.prose(&release.doc));
    let mut fact = |name: &str, items: Vec<String>| {
        if !items.is_empty() {
            put!(out, "<div><dt>{name}</dt><dd>{}</dd></div>\n", items.join(", "));
        }
    };
    let apis = &site.spec.apis;
    let versions = |list: &[Since]| -> Vec<VersionRange> {
        list.iter().filter(|since| since.release == release.name).map(|since| since.versions).collect()
    };
    let link = |api: &Api, versions: Option<String>| match versions {
        None => format!("<a href=\"{}\">{}</a>", api_file(&api.name), esc(&api.name)),
        Some(text) => format!("<a href=\"{}\">{}</a> v{text}", api_file(&api.name), esc(&api.name)),
    };
    let listed = |ranges: &[VersionRange]| ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(", v");
    let mut new = Vec::new();
    let mut more = Vec::new();
    let mut gone = Vec::new();
    let mut less = Vec::new();
    for api in apis {
        let added = versions(&api.added);
        if added.iter().any(|range| range.contains(api.versions.min())) {
            new.push(link(api, None));
        } else if !added.is_empty() {
            more.push(link(api, Some(listed(&added))));
        }
        let dropped = versions(&api.dropped);
        if dropped.iter().any(|range| range.contains(api.versions.max())) {
            gone.push(link(api, None));
        } else if !dropped.is_empty() {
            less.push(link(api, Some(listed(&dropped))));
        }
    }
    fact("New APIs", new);
    fact("New versions", more);
    fact("APIs removed", gone);
    fact("Versions removed", less);
    let records = site.spec.messages.iter().filter(|message| api_of(site.spec, message).is_none());
    let records = records.filter(|message| message.added_in(message.versions.min()) == Some(&release.name));
    let records = records.map(|message| format!("<a href=\"{}\">{}</a>", site.href(message, ""), esc(&message.name)));
    fact("First definitions of records", records.collect());
    let errors = site.spec.errors.iter().filter(|error| error.added == release.name);
    let errors = errors.map(|error| format!("<a href=\"errors.html#{0}\">{1} {0}</a>", esc(&error.name), error.code));
    fact("New error codes", errors.collect());
    out.push_str("</dl>\n</section>\n");
}
