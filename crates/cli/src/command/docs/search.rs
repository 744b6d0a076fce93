//! What the search box searches: a script that holds one list.

use serde_json::{Value, json};

use super::proposal;
use super::site::{PARTS, Site, api_file, proposal_titles};
use crate::mention::comments;

/// Each entry is the text that is searched, what it is, and its address. Fields are grouped by message, as paths. Error
/// codes and API keys have entries of their own, so that a number finds them.
pub(super) fn script(site: &Site<'_>) -> String {
    let spec = site.spec;
    let mut entries: Vec<Value> = PARTS.iter().map(|(file, name)| json!([name, "part", file])).collect();
    entries.push(json!(["Record batches", "part", "batches.html"]));
    for api in &spec.apis {
        entries.push(json!([api.name, format!("API {}", api.key), api_file(&api.name)]));
        entries.push(json!([api.key.to_string(), format!("API key: {}", api.name), api_file(&api.name)]));
    }
    for message in &spec.messages {
        entries.push(json!([message.name, message.kind.name(), site.href(message, "")]));
    }
    for error in &spec.errors {
        let href = format!("errors.html#{}", error.name);
        entries.push(json!([error.name, format!("error {}", error.code), href]));
        entries.push(json!([error.code.to_string(), format!("error code: {}", error.name), href]));
        if let Some(was) = &error.was {
            entries.push(json!([was, format!("error {}", error.code), href]));
        }
    }
    let titles = proposal_titles();
    for kip in proposal::all(site).into_keys() {
        let about = titles.get(&kip).copied().unwrap_or("proposal");
        entries.push(json!([format!("KIP-{kip}"), about, format!("proposals.html#kip-{kip}")]));
    }
    for release in &spec.releases {
        entries.push(json!([format!("Kafka {}", release.name), "release", format!("releases.html#r{}", release.name)]));
    }
    let fields = spec.messages.iter().map(|message| {
        let (file, id) = site.place(message);
        let paths: Vec<String> = comments(message).into_iter().skip(1).map(|(path, _)| path).collect();
        json!([message.name, format!("{file}#{id}."), paths])
    });
    let index = json!({ "entries": entries, "fields": fields.collect::<Value>() });
    // In case it is ever put into a page: nothing in it may end a script element.
    format!("window.milenaSearch={};\n", index.to_string().replace('<', "\\u003c"))
}
