use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::Error;
use crate::rebuild::{call, write};
use crate::records::{our_sets, read_record_vectors};
use crate::vector::to_hex;

/// The release that writes the old formats, which later ones write for nobody any more, and what it compresses with.
const LEGACY: (&str, &str) = ("3.9.2", "-Dlz4.version=1.10.1 -Dsnappy.version=1.1.10.5 -Dzstd.version=1.5.6-4");
/// The release that writes the current format, and reads it all. The versions of its compressors are those of `pom.xml`.
const CURRENT: (&str, &str) = ("4.4.0", "");

/// Writes the vectors of records into `out`. The program has been compiled into `build`.
pub(crate) fn rebuild_records(oracle: &Path, build: &Path, seed: u64, out: &Path) -> Result<(), Error> {
    let java = |release: (&str, &str), file: &Path, arguments: &[&str]| -> Result<(), Error> {
        let path_file = build.join(format!("classpath-records-{}", release.0));
        call(
            Command::new("mvn")
                .current_dir(oracle)
                .args(["-q", "-B", "-Precords", "dependency:build-classpath"])
                .arg(format!("-Doracle.build={}", build.display()))
                .arg(format!("-Dkafka.version={}", release.0))
                .arg(format!("-Dmdep.outputFile={}", path_file.display()))
                .args(release.1.split_whitespace()),
        )?;
        let jars = std::fs::read_to_string(&path_file).map_err(|error| Error::new(path_file.display(), error))?;
        call(
            Command::new("java")
                .args(["-Xmx1g", "-cp"])
                .arg(format!("{}:{}", build.join("classes").display(), jars.trim()))
                .args(["milena.oracle.records.Main", "--release", release.0, "--out"])
                .arg(file)
                .args(arguments),
        )
    };
    let seed = seed.to_string();
    let file = |name: &str| out.join(format!("records-{name}.jsonl.gz"));
    java(LEGACY, &file(LEGACY.0), &["--magic", "legacy", "--seed", &seed])?;
    java(CURRENT, &file(CURRENT.0), &["--magic", "current", "--seed", &seed])?;

    let mut lines = String::new();
    for set in our_sets().map_err(|error| Error::new("our sets", error))? {
        let _ = writeln!(lines, "{}\t{}", set.name, to_hex(&set.bytes));
    }
    let list = build.join("records-ours");
    write(&list, &lines)?;
    java(CURRENT, &file("ours"), &["--kind", "ours", "--read", &list.to_string_lossy()])?;
    reread(&java, build, out)
}

/// Lets each of the two releases read what the other wrote, and fails when they are not of one mind: then the vectors
/// would have to say of which release they speak.
fn reread(
    java: &impl Fn((&str, &str), &Path, &[&str]) -> Result<(), Error>,
    build: &Path,
    out: &Path,
) -> Result<(), Error> {
    for (writer, reader) in [(LEGACY, CURRENT), (CURRENT, LEGACY)] {
        let mut first = BTreeMap::new();
        let mut lines = String::new();
        read_record_vectors(out, |vector| {
            if vector.release == writer.0 && vector.kind != "ours" {
                let name = format!("{}: {}", vector.kind, vector.name);
                let _ = writeln!(lines, "{name}\t{}", to_hex(&vector.bytes));
                first.insert(name, vector.read);
            }
        })?;
        let folder = build.join(format!("reread-{}", reader.0));
        std::fs::create_dir_all(&folder).map_err(|error| Error::new(folder.display(), error))?;
        let list = folder.join("list");
        write(&list, &lines)?;
        java(reader, &folder.join("records-reread.jsonl.gz"), &["--read", &list.to_string_lossy()])?;
        let mut differs = None;
        read_record_vectors(&folder, |vector| {
            let same = first.get(&vector.name).is_some_and(|read| without_names(read) == without_names(&vector.read));
            if !same {
                differs = Some(vector.name);
            }
        })?;
        if let Some(name) = differs {
            return Err(Error::new(name, format!("Kafka {} reads it otherwise than {}", reader.0, writer.0)));
        }
    }
    Ok(())
}

/// What was read, without the names of the exceptions, which no two releases have to share.
fn without_names(read: &Value) -> Value {
    match read {
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| (name.clone(), if name == "error" { Value::Bool(true) } else { without_names(value) }))
            .collect(),
        Value::Array(items) => items.iter().map(without_names).collect(),
        other => other.clone(),
    }
}
