//! One name, one thing: no two crates have public types of the same name and another meaning.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Names that Rust crates have by custom, one for each crate.
const BY_CUSTOM: [&str; 3] = ["Error", "ErrorKind", "Result"];
/// The vocabulary of kafka-python, whose names are what that crate is for.
const VOCABULARY: &str = "crates/legacy/";
/// Programs, which have no API.
const PROGRAMS: [&str; 2] = ["crates/cli/", "crates/milena/"];

/// Public types and traits that a file declares at its top level.
pub(crate) fn declared<'a>(path: &str, text: &'a str) -> Vec<&'a str> {
    let of_a_library = path.starts_with("crates/")
        && path.contains("/src/")
        && !path.contains("/generated/")
        && !path.starts_with(VOCABULARY)
        && PROGRAMS.iter().all(|program| !path.starts_with(program));
    if !of_a_library {
        return Vec::new();
    }
    text.lines().filter_map(type_name).filter(|name| !BY_CUSTOM.contains(name)).collect()
}

fn type_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("pub ")?;
    let (kind, rest) = rest.split_once(' ')?;
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    ["enum", "struct", "trait", "type", "union"].contains(&kind).then_some(name)
}

/// Names that are declared in more than one place; a type that has another body without a feature counts once.
pub(crate) fn shared(files: &[(PathBuf, String)]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<&Path>> = BTreeMap::new();
    for (path, text) in files {
        for name in declared(&path.to_string_lossy().replace('\\', "/"), text) {
            places.entry(name).or_default().push(path);
        }
    }
    let stand_in = |path: &&Path| path.file_stem().is_some_and(|name| name.to_string_lossy().starts_with("no_"));
    let twice = places.into_iter().filter(|(_, paths)| paths.iter().filter(|path| !stand_in(path)).count() > 1);
    twice
        .map(|(name, paths)| {
            let paths: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
            format!("{name}: a public type in {}; give each its own name", paths.join(" and "))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> Vec<(PathBuf, String)> {
        files.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect()
    }

    #[test]
    fn a_name_in_two_crates_is_found() {
        let found = shared(&files(&[
            ("crates/a/src/x.rs", "pub struct Frame<'a> {\n}\npub enum Error {}\n"),
            ("crates/b/src/y.rs", "pub trait Frame: Sized {}\npub type Error = ();\n"),
        ]));
        assert_eq!(found, ["Frame: a public type in crates/a/src/x.rs and crates/b/src/y.rs; give each its own name"]);
    }

    #[test]
    fn private_types_programs_stand_ins_and_the_vocabulary_do_not_count() {
        let text = "pub struct Frame;\n";
        let found = shared(&files(&[
            ("crates/a/src/x.rs", text),
            ("crates/a/src/no_x.rs", text),
            ("crates/b/src/y.rs", "struct Frame;\npub(crate) struct Frame;\n    pub struct Frame;\n"),
            ("crates/cli/src/z.rs", text),
            ("crates/legacy/src/z.rs", text),
            ("crates/b/tests/z.rs", text),
        ]));
        assert_eq!(found, [""; 0]);
    }
}
