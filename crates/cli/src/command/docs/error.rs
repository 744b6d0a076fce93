//! The page of the error codes.

use super::html::{esc, put};
use super::site::Site;
use crate::mention::places_of_error;

pub(super) fn page(site: &Site<'_>) -> String {
    let mut out = String::from(
        "<h1>Error codes</h1>\n<p class=\"lead\">What a number in <code>errorCode</code> means, and whether trying again \
         can help.</p>\n<p><em>Retry</em>: the same request can succeed later. <em>Refresh</em>: look up metadata, or the \
         coordinator, before that. Kafka keeps no list of which API may answer with which code; where the description of \
         a field names a code, the field is linked.</p>\n\
         <table class=\"list errors\">\n<thead><tr><th class=\"number\">Code</th><th>Name</th><th>Advice</th><th>Since</th>\
         <th>Meaning</th></tr></thead>\n<tbody>\n",
    );
    for error in &site.spec.errors {
        let advice = match (error.retriable, error.refresh) {
            (true, true) => "retry, refresh",
            (true, false) => "retry",
            (false, true) => "refresh",
            (false, false) => "",
        };
        put!(
            out,
            "<tr id=\"{0}\"><td class=\"number\">{1}</td><th scope=\"row\"><a href=\"#{0}\">{2}</a></th><td>{advice}</td>\
             <td class=\"versions\">{3}</td><td>{4}",
            esc(&error.name),
            error.code,
            breakable(&error.name),
            esc(&error.added),
            site.prose(&error.doc),
        );
        if let Some(was) = &error.was {
            put!(out, " <span class=\"attributes\"><span>once {}</span></span>", esc(was));
        }
        let places = places_of_error(site.spec, error.code);
        if !places.is_empty() {
            let links: Vec<String> = places
                .iter()
                .map(|(message, path)| {
                    let name = path.rsplit('.').next().filter(|name| !name.is_empty());
                    let text = name.map_or_else(|| message.name.clone(), |name| format!("{}, {name}", message.name));
                    format!("<a href=\"{}\">{}</a>", esc(&site.href(message, path)), esc(&text))
                })
                .collect();
            put!(out, " <span class=\"quiet\">Named at {}.</span>", links.join("; "));
        }
        out.push_str("</td></tr>\n");
    }
    out.push_str("</tbody>\n</table>\n");
    site.page("Error codes", "errors.html", &out)
}

/// A long name that may break at its underscores.
fn breakable(name: &str) -> String {
    esc(name).to_string().replace('_', "_<wbr />")
}
