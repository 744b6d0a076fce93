//! All files of the reference.

use std::collections::BTreeMap;

use milena_schema::Spec;

use super::site::{Site, api_file, families, family_file};
use super::{api, batch, encoding, error, family, index, proposal, release, search};

/// Name and content of each file. The same spec gives the same files.
pub(super) fn files(spec: &Spec) -> BTreeMap<String, String> {
    let site = Site { spec };
    let mut files = BTreeMap::new();
    let mut add = |name: &str, text: String| files.insert(name.to_owned(), text);
    add("style.css", include_str!("style.css").to_owned());
    add("script.js", include_str!("script.js").to_owned());
    add("search.js", search::script(&site));
    add("index.html", index::page(&site));
    add("records.html", family::overview(&site));
    add("batches.html", batch::page(&site));
    add("errors.html", error::page(&site));
    add("releases.html", release::page(&site));
    add("encodings.html", encoding::page(&site));
    add("proposals.html", proposal::page(&site));
    for api in &spec.apis {
        add(&api_file(&api.name), api::page(&site, api));
    }
    for family in families(spec) {
        add(&family_file(family), family::page(&site, family));
    }
    files
}
