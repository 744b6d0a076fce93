//! The first page.

use maud::html;

use super::api::current;
use super::site::{NEWLINE, Site, api_file};

pub(super) fn page(site: &Site<'_>) -> String {
    let spec = site.spec;
    let pairs: usize = spec.apis.iter().map(|api| api.versions.iter().count()).sum();
    let newest = spec.releases.last().map_or("", |release| release.name.as_str());
    let body = html! {
        h1 { "The Kafka protocol" }
        p.lead {
            "Every request, response and record of Apache Kafka, at every version ever released: " (spec.apis.len())
            " APIs in " (pairs) " versions, " (spec.messages.len()) " messages, " (spec.errors.len()) " error codes."
        }
        p {
            "Each request begins with a " a href="headers.html" { "header" } " that gives the key of its API, and the version "
            "of the layout that follows. " a href="encodings.html" { "Encodings" } " shows how values become bytes, "
            a href="releases.html" { "Releases" } " which Kafka has which version, and " a href="records.html" { "Records" }
            " what Kafka keeps in its own topics."
        } (NEWLINE)
        table.list.apis {
            thead {
                tr {
                    th.number { "Key" } th { "API" } th { "Versions" } th { "Kafka " (newest) } th { "Since" } th { "Purpose" }
                }
            } (NEWLINE)
            tbody {
                @for api in &spec.apis {
                    @let current = current(api);
                    @let request = spec.message(&format!("{}Request", api.name)).ok();
                    tr.gone[current.is_empty()] {
                        td.number { (api.key) }
                        th scope="row" { a href=(api_file(&api.name)) { (api.name) } }
                        td.versions { (api.versions) }
                        td.versions { @if current.is_empty() { "removed" } @else { (current) } }
                        td.versions { (api.added_in(api.versions.min()).unwrap_or_default()) }
                        td { @if let Some(request) = request { (site.prose_of(request, sentence(&request.doc))) } }
                    } (NEWLINE)
                }
            }
        } (NEWLINE)
    };
    site.page("Reference", "index.html", &body)
}

/// The first sentence of a text, up to a stop or a semicolon.
fn sentence(text: &str) -> &str {
    let end = [". ", "; "].iter().filter_map(|stop| text.find(stop)).min();
    end.map_or_else(|| text.trim_end_matches('.'), |end| &text[..end])
}
