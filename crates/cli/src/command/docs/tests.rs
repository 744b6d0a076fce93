use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use milena_schema::{Parser, Spec};
use roxmltree::{Document, ParsingOptions};

use super::batch;
use super::files::files;
use super::site::{api_file, proposal_titles};
use crate::example::Role;

/// The reference of the whole protocol, made once for all tests.
fn kafka() -> &'static BTreeMap<String, String> {
    static FILES: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    FILES.get_or_init(|| files(Spec::kafka()))
}

/// The pages as XML: with a slash in the elements of HTML that have no end.
fn xml(files: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let close = |html: &str| {
        let mut out = String::new();
        for part in html.split_inclusive('>') {
            let name = part.rsplit_once('<').map_or("", |(_, tag)| tag.split([' ', '>']).next().unwrap_or_default());
            match part.strip_suffix('>') {
                Some(open) if ["meta", "link", "input", "wbr"].contains(&name) => out.extend([open, " />"]),
                _ => out.push_str(part),
            }
        }
        out
    };
    let pages = files.iter().filter(|(name, _)| name.ends_with(".html"));
    pages.map(|(name, html)| (name.clone(), close(html))).collect()
}

/// The pages of [`kafka`] as XML.
fn kafka_xml() -> &'static BTreeMap<String, String> {
    static PAGES: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    PAGES.get_or_init(|| xml(kafka()))
}

/// The pages, parsed as XML: each is well-formed, which HTML itself does not require.
fn parsed(pages: &BTreeMap<String, String>) -> BTreeMap<&str, Document<'_>> {
    pages
        .iter()
        .map(|(name, text)| {
            let options = ParsingOptions { allow_dtd: true, ..ParsingOptions::default() };
            let document =
                Document::parse_with_options(text, options).unwrap_or_else(|error| panic!("{name}: {error}"));
            (name.as_str(), document)
        })
        .collect()
}

/// Each id of a page; none occurs twice.
fn ids<'a>(name: &str, document: &'a Document<'_>) -> BTreeSet<&'a str> {
    let mut ids = BTreeSet::new();
    for id in document.descendants().filter_map(|node| node.attribute("id")) {
        assert!(ids.insert(id), "{name}: {id} twice");
    }
    ids
}

#[test]
fn two_runs_give_the_same_files() {
    assert!(*kafka() == files(&Spec::embedded().unwrap()));
}

#[test]
fn every_page_is_well_formed_and_every_link_leads_somewhere() {
    let files = kafka();
    let pages = parsed(kafka_xml());
    let ids: BTreeMap<&str, BTreeSet<&str>> = pages.iter().map(|(name, page)| (*name, ids(name, page))).collect();
    let mut links = 0;
    for (name, page) in &pages {
        for node in page.descendants().filter(roxmltree::Node::is_element) {
            let Some(target) = node.attribute("href").or_else(|| node.attribute("src")) else { continue };
            if target.starts_with("https://") {
                assert_eq!(node.tag_name().name(), "a", "{name}: nothing is loaded from elsewhere: {target}");
                continue;
            }
            let (file, id) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { name } else { file };
            assert!(files.contains_key(file), "{name}: no file for {target}");
            assert!(id.is_empty() || ids[file].contains(id), "{name}: no place for {target}");
            links += 1;
        }
    }
    assert!(links > 5_000, "{links}");
}

#[test]
fn every_search_result_leads_somewhere() {
    let files = kafka();
    let pages = parsed(kafka_xml());
    let script = files["search.js"].trim();
    let json = script.strip_prefix("window.milenaSearch=").unwrap().strip_suffix(';').unwrap();
    let list: serde_json::Value = serde_json::from_str(json).unwrap();
    let mut targets: Vec<String> =
        list["entries"].as_array().unwrap().iter().map(|entry| entry[2].as_str().unwrap().to_owned()).collect();
    for message in list["fields"].as_array().unwrap() {
        let paths = message[2].as_array().unwrap().iter();
        targets.extend(paths.map(|path| format!("{}{}", message[1].as_str().unwrap(), path.as_str().unwrap())));
    }
    let ids: BTreeMap<&str, BTreeSet<&str>> = pages.iter().map(|(name, page)| (*name, ids(name, page))).collect();
    for target in &targets {
        let (file, id) = target.split_once('#').unwrap_or((target, ""));
        assert!(ids.contains_key(file) && (id.is_empty() || ids[file].contains(id)), "{target}");
    }
    assert!(targets.len() > 2_000, "{}", targets.len());
}

#[test]
fn numbers_of_error_codes_and_apis_can_be_searched() {
    let script = &kafka()["search.js"];
    for entry in [
        r#"["3","error code: UNKNOWN_TOPIC_OR_PARTITION","errors.html#UNKNOWN_TOPIC_OR_PARTITION"]"#,
        r#"["-1","error code: UNKNOWN_SERVER_ERROR","errors.html#UNKNOWN_SERVER_ERROR"]"#,
        r#"["18","API key: ApiVersions","api-apiversions.html"]"#,
        r#"["KIP-74","A size limit for Fetch responses","proposals.html#kip-74"]"#,
    ] {
        assert!(script.contains(entry), "{entry}");
    }
}

#[test]
fn every_proposal_that_is_named_says_what_it_is_about() {
    let titles = proposal_titles();
    let named: BTreeSet<u32> = super::proposal::all(&super::site::Site { spec: Spec::kafka() }).into_keys().collect();
    assert_eq!(titles.keys().copied().collect::<BTreeSet<_>>(), named);
    assert!(kafka()["api-fetch.html"].contains(r#"title="A size limit for Fetch responses""#));
}

#[test]
fn prose_names_fields_as_the_tables_do() {
    let page = &kafka()["api-fetch.html"];
    assert!(page.contains("until minBytes are available") && !page.contains("MinBytes"));
}

/// Nothing but these is wider than a phone; style.css lets all other text wrap anywhere on narrow screens.
#[test]
fn wide_tables_scroll_within_the_page() {
    let mut wide = 0;
    for (name, page) in parsed(kafka_xml()) {
        for table in page.descendants().filter(|node| node.has_tag_name("table")) {
            let container = match table.attribute("class") {
                Some("bytes") => "scroll",
                Some("matrix") => "wide",
                _ => continue,
            };
            assert_eq!(table.parent().and_then(|parent| parent.attribute("class")), Some(container), "{name}");
            wide += 1;
        }
    }
    assert!(wide > 250, "{wide}");
    let narrow = kafka()["style.css"].split_once("@media (max-width: 44rem)").unwrap().1;
    assert!(narrow.contains("main { overflow-wrap: anywhere; }"));
}

#[test]
fn the_releases_table_begins_with_the_newest() {
    let page = &kafka()["releases.html"];
    assert!(page.contains("<th>API</th><th><a href=\"#r4.4\">4.4</a></th>"), "{}", &page[..3000]);
}

#[test]
fn every_version_of_every_message_has_its_place() {
    let spec = Spec::kafka();
    let pages = parsed(kafka_xml());
    let ids: BTreeMap<&str, BTreeSet<&str>> = pages.iter().map(|(name, page)| (*name, ids(name, page))).collect();
    let mut requests = 0;
    for api in &spec.apis {
        let ids = &ids[api_file(&api.name).as_str()];
        for version in api.versions.iter() {
            requests += usize::from(ids.contains(format!("request-v{version}").as_str()));
            assert!(ids.contains(format!("response-v{version}").as_str()), "{} {version}", api.name);
        }
    }
    // The numbers of Kafka's released protocol: 368 pairs of API and version, 879 of message and version.
    assert_eq!(requests, 368);
    let places = ids.values().flatten().filter(|id| {
        id.rsplit_once("-v").is_some_and(|(_, version)| version.bytes().all(|byte| byte.is_ascii_digit()))
    });
    assert_eq!(places.count(), 879);
    assert_eq!(pages["errors.html"].descendants().filter(|node| node.has_tag_name("tr")).count(), 1 + 138);
}

#[test]
fn text_of_the_spec_stays_text() {
    let evil = "</td><script>alert('1')</script> & \"quoted\" <!-- ]]> KIP-1<b>";
    let text = format!(
        "api Evil 0\nlisteners <i>\nversions 0-1\nflexible 1+\nadded 0-1: 1.0\n\n// {evil}\nrequest\n  \
         A string 0+ // {evil}\nresponse\n  B []C 0+\n    D int32 0+ tag 0 // {evil}\n"
    )
    .replace(" tag 0", "");
    let mut parser = Parser::new();
    parser.file("messages/00_evil.kafka", &text).unwrap();
    parser.file("releases.kafka", &format!("release 1.0 // {evil}\n")).unwrap();
    parser.file("errors.kafka", &format!("error 0 NONE added 1.0 // {evil}\n")).unwrap();
    let files = files(&parser.finish().unwrap());
    for (name, page) in parsed(&xml(&files)) {
        for script in page.descendants().filter(|node| node.has_tag_name("script")) {
            assert_eq!(script.attribute("src"), Some("script.js"), "{name}");
        }
        assert!(!page.descendants().any(|node| node.has_tag_name("i")), "{name}");
    }
    assert!(files["api-evil.html"].contains("&lt;script&gt;alert('1')&lt;/script&gt; &amp; &quot;quoted&quot;"));
    assert!(!files["search.js"].contains('<'));
}

#[test]
fn examples_of_batches_have_the_layout_of_kafka() {
    // The fixed part of a batch has 61 bytes, of a message 26 with magic 1 and 18 with magic 0. The checksum of a message
    // comes after its size, that of a batch after the magic.
    for (example, first, crc) in [(batch::batch(), 61, 17), (batch::message(1), 26, 12), (batch::message(0), 18, 12)] {
        let example = example.unwrap();
        let fields: Vec<_> = example.lines.iter().filter(|line| line.role == Role::Field).collect();
        let mut at = 0;
        for line in &fields {
            assert_eq!(line.range.start, at, "{}", line.name);
            at = line.range.end;
        }
        assert_eq!(at, example.bytes.len());
        let of = |name: &str| fields.iter().find(|line| line.name == name).unwrap();
        let start = fields.iter().map(|line| line.range.start).find(|start| *start >= first);
        assert_eq!((start, of("crc").range.start), (Some(first), crc));
        assert_eq!(of("value").value, "\"Dear Milena\"");
    }
}
