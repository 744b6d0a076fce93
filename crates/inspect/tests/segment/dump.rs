//! Every line that Kafka's own tool prints of a log folder, made from what is read here.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use milena_inspect::segment::read;
use milena_storage::{Item, Options};
use serde_json::Value;

use crate::folder::{RELEASES, unpack};
use crate::line::{content, line, same};

/// What the tool printed of each file.
fn dumps(folder: &Path) -> BTreeMap<String, Vec<String>> {
    let mut files = BTreeMap::<String, Vec<String>>::new();
    let mut file = String::new();
    for line in fs::read_to_string(folder.join("dump.txt")).unwrap().lines() {
        if let Some(name) = line.strip_prefix("Dumping ") {
            file = name.to_owned();
            files.entry(file.clone()).or_default();
        } else if !line.starts_with("Log starting offset") && !line.starts_with("Snapshot end offset") {
            files.get_mut(&file).unwrap().push(line.to_owned());
        }
    }
    files
}

/// Fields in front, and what comes after them.
fn parts(line: &str) -> (String, &str) {
    let end = ["headerKeys: [", " crc: "].iter().find_map(|word| {
        let at = line.find(word)? + word.len();
        let rest = &line[at..];
        Some(at + if *word == " crc: " { rest.find(' ').unwrap_or(rest.len()) } else { rest.find(']')? + 1 })
    });
    let (fields, rest) = line.split_at(end.unwrap_or(line.len()));
    let fields = match fields.split_once(" isValid: true crc: ") {
        Some((fields, _)) => format!("{fields} isValid: true crc: *"),
        None => fields.to_owned(),
    };
    (fields, rest)
}

#[test]
fn all_that_kafkas_tool_prints_is_read() {
    let mut records = 0;
    for release in RELEASES {
        let folder = unpack(release, "dump");
        let mut dumps = dumps(&folder);
        let mut theirs = Vec::new().into_iter();
        let (mut path, mut offset) = (String::new(), 0);
        let summary = read(&folder, &Options::default(), &mut |item, decoded| {
            if let Item::File(file) = item {
                assert_eq!(theirs.next(), None::<String>, "of {path}");
                path = file.path.strip_prefix(&folder).unwrap().to_string_lossy().replace('\\', "/");
                theirs = dumps.remove(&path).unwrap_or_default().into_iter();
                offset = file.name.offset;
            }
            // The tool takes the first of the zeros in a preallocated index for an entry.
            if matches!(item, Item::Zeros(range) if range.start == 0) {
                let zeros = match path.rsplit_once('.') {
                    Some((_, "index")) => Some(format!("offset: {offset} position: 0")),
                    Some((_, "timeindex")) => Some(format!("timestamp: 0 offset: {offset}")),
                    _ => None,
                };
                assert_eq!(theirs.next(), zeros, "{release} {path}");
            }
            let ours = line(item);
            // The tool reads no file that ends in `.deleted`.
            if ours.is_empty() || path.ends_with(".deleted") {
                return Ok(());
            }
            let their = theirs.next().unwrap_or_else(|| panic!("{path}: {ours}"));
            let Item::Record { batch, record } = item else {
                assert_eq!(ours, their, "{release} {path}");
                return Ok(());
            };
            records += 1;
            let (fields, rest) = parts(&their);
            assert_eq!(ours, fields, "{release} {path}");
            match decoded {
                Some(decoded) => meaning(&decoded.to_json(), rest),
                None => assert_eq!(content(batch, record), rest, "{release} {path}"),
            }
            Ok(())
        })
        .unwrap();
        assert_eq!((summary.faults, theirs.next()), (0, None), "{release}");
        assert!(dumps.values().all(Vec::is_empty), "files that were not read: {:?}", dumps.keys());
    }
    assert!(records > 900, "{records}");
}

/// A record of one of Kafka's own topics as the tool decodes it.
fn meaning(ours: &Value, theirs: &str) {
    let (key, value) = match theirs.strip_prefix(" key: ") {
        Some(rest) => rest.split_once(" payload: ").map_or((rest, ""), |(key, value)| (key, value)),
        None => ("", theirs.strip_prefix(" payload: ").unwrap_or(theirs)),
    };
    for (ours, theirs) in [(&ours["key"], key), (&ours["value"], value)] {
        match serde_json::from_str::<Value>(theirs) {
            Ok(theirs) if theirs.is_object() => {
                assert!(same(&ours["data"], &theirs["data"]), "{ours}\n{theirs}");
                if let Some(version) = theirs.get("version") {
                    assert_eq!(ours["version"].to_string(), version.to_string().trim_matches('"'));
                }
            }
            _ => assert!(ours.is_null(), "{ours}\n{theirs}"),
        }
    }
}
