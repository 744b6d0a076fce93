use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use milena_schema::Spec;

use crate::Error;
use crate::records::rebuild_records;
use crate::refusal::rebuild_refusals;
use crate::vector::{Vector, VectorKind, read_vectors, to_hex};

/// A release of Kafka and the jars that it has.
#[derive(Clone, Copy, Debug)]
pub struct Release {
    /// The version of the artifacts.
    pub version: &'static str,
    /// The profiles of `oracle/pom.xml` that name its jars.
    pub profiles: &'static str,
}

/// In this order: each is asked only for what none before it has.
///
/// 4.0 stands before 3.9 because what lives in these two only has the form of 4.0 in the spec.
pub const RELEASES: [Release; 6] = [
    Release { version: "4.4.0", profiles: "since-3.0,since-3.8,since-4.0" },
    Release { version: "4.0.2", profiles: "since-3.0,since-3.8,since-4.0" },
    Release { version: "3.9.2", profiles: "since-3.0,since-3.8" },
    Release { version: "3.4.1", profiles: "since-3.0" },
    Release { version: "3.2.3", profiles: "since-3.0" },
    Release { version: "2.8.2", profiles: "" },
];

/// Up to 4.0 the key of a coordinator's record carried its type as version. The bytes are the same.
const RENUMBERED: [(&str, i16, i16); 1] = [("ShareGroupPartitionMetadataKey", 0, 9)];

/// Messages of `first.txt`.
const FIRST: [&str; 7] = ["ApiVersions", "Metadata", "Produce", "Fetch", "ListOffsets", "CreateTopics", "JoinGroup"];

/// Writes all vectors into `out`, by running the Java program of `oracle/` once per release.
///
/// Maven and Java 17 have to be there, and Maven has to reach a repository with Kafka's artifacts. `conformance` is the
/// folder of this package.
///
/// # Errors
/// A program is missing or fails; the error shows what it said.
pub fn rebuild(conformance: &Path, seed: u64, out: &Path) -> Result<(), Error> {
    let oracle = conformance.join("oracle");
    // What does not lie in the repository lies where builds lie.
    let build = std::path::absolute(oracle.join("../../target/oracle")).map_err(|error| Error::new("target", error))?;
    std::fs::create_dir_all(&build).map_err(|error| Error::new(build.display(), error))?;
    std::fs::create_dir_all(out).map_err(|error| Error::new(out.display(), error))?;
    remove_old(out)?;
    let build_dir = format!("-Doracle.build={}", build.display());
    call(Command::new("mvn").current_dir(&oracle).args(["-q", "-B", &build_dir, "compile"]))?;

    let mut wanted = BTreeSet::new();
    for message in &Spec::kafka().messages {
        wanted.extend(message.versions.iter().map(|version| (message.name.clone(), version)));
    }
    for release in RELEASES {
        let path_file = build.join(format!("classpath-{}", release.version));
        call(
            Command::new("mvn")
                .current_dir(&oracle)
                .args(["-q", "-B", &build_dir, "dependency:build-classpath"])
                .arg(format!("-Dkafka.version={}", release.version))
                .arg(format!("-Dmdep.outputFile={}", path_file.display()))
                .args((!release.profiles.is_empty()).then(|| format!("-P{}", release.profiles))),
        )?;
        let jars = std::fs::read_to_string(&path_file).map_err(|error| Error::new(path_file.display(), error))?;
        let wanted_file = build.join(format!("wanted-{}", release.version));
        write(&wanted_file, &wanted_lines(&wanted))?;
        let file = out.join(format!("kafka-{}.jsonl.gz", release.version));
        let mut java = Command::new("java");
        java.args(["-Xmx1g", "-cp"])
            .arg(format!("{}:{}", build.join("classes").display(), jars.trim()))
            .args(["milena.oracle.Main", "--release", release.version, "--seed", &seed.to_string(), "--wanted"])
            .arg(&wanted_file)
            .arg("--inputs")
            .arg(conformance.join("inputs.txt"))
            .arg("--out")
            .arg(&file);
        if release.version == RELEASES[0].version {
            java.arg("--newest");
        }
        call(&mut java)?;
        read_vectors(out, |vector| {
            wanted.remove(&(vector.message, vector.version));
        })?;
    }
    write(&out.join("first.txt"), &first(out)?)?;
    rebuild_refusals(&build, out)?;
    rebuild_records(&oracle, &build, seed, out)
}

fn remove_old(out: &Path) -> Result<(), Error> {
    for entry in std::fs::read_dir(out).map_err(|error| Error::new(out.display(), error))?.flatten() {
        if entry.file_name().to_string_lossy().ends_with(".jsonl.gz") {
            std::fs::remove_file(entry.path()).map_err(|error| Error::new(entry.path().display(), error))?;
        }
    }
    Ok(())
}

fn wanted_lines(wanted: &BTreeSet<(String, i16)>) -> String {
    let mut lines = String::new();
    for (message, version) in wanted {
        let _ = match RENUMBERED.iter().find(|(name, of, _)| name == message && of == version) {
            Some((_, _, own)) => writeln!(lines, "{message} {version} {own}"),
            None => writeln!(lines, "{message} {version}"),
        };
    }
    lines
}

/// The handful of vectors that a person can read.
fn first(vectors: &Path) -> Result<String, Error> {
    let mut lines = Vec::new();
    read_vectors(vectors, |vector: Vector| {
        let name = vector.message.strip_suffix("Request").or_else(|| vector.message.strip_suffix("Response"));
        let Some(place) = FIRST.iter().position(|first| name == Some(first)) else { return };
        let Ok(message) = Spec::kafka().message(&vector.message) else { return };
        let (low, high) = (message.versions.min(), message.versions.max());
        let middle = (low + high) / 2;
        if let VectorKind::Default { bytes, json } | VectorKind::Value { bytes, json } = &vector.kind {
            if [low, middle, high].contains(&vector.version) && bytes.len() < 300 {
                let Vector { message, version, release, .. } = &vector;
                lines.push((
                    (place, message.clone(), *version),
                    format!("{message}\t{version}\t{release}\t{}\t{json}\n", to_hex(bytes)),
                ));
            }
        }
    })?;
    // Stable, so that the default of each pair stays in front.
    lines.sort_by(|a, b| a.0.cmp(&b.0));
    lines.dedup();
    let head = "# Bytes and JSON that Apache Kafka's Java classes wrote: message, version, release, hex, JSON.\n";
    Ok(std::iter::once(head).chain(lines.iter().map(|(_, line)| line.as_str())).collect())
}

pub(crate) fn write(file: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(file, text).map_err(|error| Error::new(file.display(), error))
}

pub(crate) fn call(command: &mut Command) -> Result<(), Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| Error::new(&name, error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).join("\n");
    Err(Error::new(format!("{name}, {}", output.status), said.trim()))
}
