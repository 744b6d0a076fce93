//! What a program links that uses one message: that message, and no other.
//!
//! Reading and writing name the fields that fail, so whichever code is linked brings these names along. This program looks
//! for them in itself; it takes them out of the generated sources when it runs, so that it holds none of its own accord.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hint::black_box;
use std::path::Path;

use milena_messages::{Message, MetadataRequest};

/// Names this long and in camel case occur in nothing but the code that names them.
const LENGTH: usize = 12;

/// The names of fields in the calls of a generated source.
fn names(source: &str) -> BTreeSet<String> {
    let named = source.split(".at(\"").skip(1).filter_map(|rest| rest.split('"').next());
    named.filter(|name| name.len() >= LENGTH && name.contains(char::is_uppercase)).map(str::to_owned).collect()
}

/// Which of these names stand in the program that runs.
fn linked(names: &BTreeSet<String>) -> BTreeSet<&str> {
    let program = fs::read(std::env::current_exe().expect("a program that runs")).expect("it can read itself");
    let mut by_start: BTreeMap<&[u8], Vec<&str>> = BTreeMap::new();
    for name in names {
        by_start.entry(&name.as_bytes()[..LENGTH]).or_default().push(name);
    }
    let mut found = BTreeSet::new();
    for (at, start) in program.windows(LENGTH).enumerate() {
        if start.iter().all(u8::is_ascii_alphanumeric) {
            let candidates = by_start.get(start).into_iter().flatten();
            found.extend(candidates.copied().filter(|name| program[at..].starts_with(name.as_bytes())));
        }
    }
    found
}

#[test]
fn a_program_that_uses_one_request_links_no_other_message() {
    let bytes = black_box(MetadataRequest::default()).to_bytes(black_box(12)).expect("a value to write");
    assert_eq!(MetadataRequest::from_bytes(bytes, black_box(12)), Ok(MetadataRequest::default()));

    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/generated");
    let (mut own, mut others) = (BTreeSet::new(), BTreeSet::new());
    for entry in fs::read_dir(folder).expect("the generated sources") {
        let path = entry.expect("an entry").path();
        let source = fs::read_to_string(&path).expect("a source");
        if path.ends_with("metadata.rs") {
            let (request, rest) = source.split_once("pub mod response").expect("a request, then its response");
            own.extend(names(request));
            others.extend(names(rest));
        } else {
            others.extend(names(&source));
        }
    }
    let others: BTreeSet<String> = others.difference(&own).cloned().collect();
    assert!(others.len() > 200, "{} names to look for", others.len());
    assert_eq!(linked(&own).len(), own.len(), "names of the message that is used: {own:?}");
    assert!(!own.is_empty());
    assert_eq!(linked(&others), BTreeSet::new());
}
