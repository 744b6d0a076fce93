//! The page of the error codes.

use maud::{Markup, html};
use milena_schema::ErrorSpec;

use super::site::{NEWLINE, Site, breakable};
use crate::mention::places_of_error;

pub(super) fn page(site: &Site<'_>) -> String {
    let body = html! {
        h1 { "Error codes" }
        p.lead { "What a number in " code { "errorCode" } " means, and whether a retry can help." }
        p {
            em { "Retry" } ": the same request can succeed later. " em { "Refresh" } ": look up metadata, or the coordinator, "
            "before that. Kafka keeps no list of which API returns which code. Where the description of a field names a code, "
            "the field is linked."
        } (NEWLINE)
        table.list.errors {
            thead { tr { th.number { "Code" } th { "Name" } th { "Advice" } th { "Since" } th { "Meaning" } } } (NEWLINE)
            tbody {
                @for error in &site.spec.errors { (row(site, error)) (NEWLINE) }
            }
        }
    };
    site.page("Error codes", "errors.html", &body)
}

fn row(site: &Site<'_>, error: &ErrorSpec) -> Markup {
    let advice = match (error.retriable, error.refresh) {
        (true, true) => "retry, refresh",
        (true, false) => "retry",
        (false, true) => "refresh",
        (false, false) => "",
    };
    let places = places_of_error(site.spec, error.code);
    html! {
        tr id=(error.name) {
            td.number { (error.code) }
            th scope="row" { a href={ "#" (error.name) } { (breakable(&error.name, '_')) } }
            td { (advice) }
            td.versions { (error.added) }
            td {
                (site.prose(&error.doc))
                @if let Some(was) = &error.was {
                    " " span.attributes { span { "formerly " (breakable(was, '_')) } }
                }
                @if !places.is_empty() {
                    " " span.quiet {
                        "Named at "
                        @for (index, (message, path)) in places.iter().enumerate() {
                            @if index > 0 { "; " }
                            a href=(site.href(message, path)) {
                                (message.name)
                                @if let Some(field) = path.rsplit('.').next().filter(|name| !name.is_empty()) { ", " (field) }
                            }
                        }
                        "."
                    }
                }
            }
        }
    }
}
