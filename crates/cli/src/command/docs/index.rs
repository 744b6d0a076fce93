//! The first page.

use super::api::current;
use super::html::{esc, put};
use super::site::{Site, api_file};

pub(super) fn page(site: &Site<'_>) -> String {
    let spec = site.spec;
    let pairs: usize = spec.apis.iter().map(|api| api.versions.iter().count()).sum();
    let newest = spec.releases.last().map_or("", |release| release.name.as_str());
    let mut out = String::new();
    put!(
        out,
        "<h1>The Kafka protocol</h1>\n\
         <p class=\"lead\">Every request, response and record of Apache Kafka, at every version ever released: {} APIs in {pairs} \
         versions, {} messages, {} error codes.</p>\n\
         <p>A <a href=\"headers.html\">header</a> in front of each request names its API by a key, and the version of the layout \
         that follows. <a href=\"encodings.html\">Encodings</a> shows how values become bytes, \
         <a href=\"releases.html\">Releases</a> which Kafka speaks which version, and <a href=\"records.html\">Records</a> what \
         Kafka keeps in its own topics.</p>\n",
        spec.apis.len(),
        spec.messages.len(),
        spec.errors.len(),
    );
    put!(
        out,
        "<table class=\"list apis\">\n<thead><tr><th class=\"number\">Key</th><th>API</th><th>Versions</th><th>Kafka {}</th>\
         <th>Since</th><th>What it is for</th></tr></thead>\n<tbody>\n",
        esc(newest),
    );
    for api in &spec.apis {
        let doc = spec.message(&format!("{}Request", api.name)).map_or("", |message| message.doc.as_str());
        let current = current(api);
        let gone = if current.is_empty() { " class=\"gone\"" } else { "" };
        put!(
            out,
            "<tr{gone}><td class=\"number\">{}</td><th scope=\"row\"><a href=\"{}\">{}</a></th><td class=\"versions\">{}</td>\
             <td class=\"versions\">{}</td><td class=\"versions\">{}</td><td>{}</td></tr>\n",
            api.key,
            api_file(&api.name),
            esc(&api.name),
            api.versions,
            if current.is_empty() { "removed".to_owned() } else { current.to_string() },
            esc(api.added_in(api.versions.min()).unwrap_or_default()),
            site.prose(sentence(doc)),
        );
    }
    out.push_str("</tbody>\n</table>\n");
    site.page("Reference", "index.html", &out)
}

/// The first sentence of a text, up to a stop or a semicolon.
fn sentence(text: &str) -> &str {
    let end = [". ", "; "].iter().filter_map(|stop| text.find(stop)).min();
    end.map_or_else(|| text.trim_end_matches('.'), |end| &text[..end])
}
