//! Error responses: what Kafka's classes put where, against [`milena_fault`].

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use milena_fault::{FaultedRequest, Injection, Level, level, respond};
use milena_messages::{ApiKey, ErrorCode};
use milena_schema::{MessageSpec, Spec};
use milena_wire::Bytes;
use serde_json::{Map, Value, json};

use crate::Error;
use crate::rebuild::{call, write};
use crate::vector::{from_hex, read_lines, to_hex};

/// The releases that are asked; the second only for what the first no longer has.
pub(crate) const REFUSING: [&str; 2] = ["4.4.0", "3.9.2"];

/// The codes that they are asked for: general ones, and those that some API reports on another level than most.
const CODES: [i16; 18] = [-1, 1, 3, 6, 15, 16, 29, 30, 31, 35, 41, 42, 71, 77, 104, 113, 122, 123];

/// What Kafka's classes do when a request fails.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// The release of Kafka.
    pub release: String,
    /// Whether the whole request fails (`getErrorResponse`), or one partition of a Fetch does.
    pub whole: bool,
    /// The API.
    pub api: ApiKey,
    /// The version.
    pub version: i16,
    /// The code.
    pub code: ErrorCode,
    /// The body of the request; empty for a partition.
    pub request: Bytes,
    /// The body of the response, or the exception in its place.
    pub response: Result<Bytes, String>,
}

/// Reads the error responses of a folder of vectors.
///
/// # Errors
/// A file cannot be read, or a line is none of these.
pub fn read_refusals(dir: &Path) -> Result<Vec<Refusal>, Error> {
    let mut all = Vec::new();
    read_lines(dir, "refusals-", |map| {
        all.push(parse(&map)?);
        Some(())
    })?;
    Ok(all)
}

fn parse(map: &Map<String, Value>) -> Option<Refusal> {
    let text = |name: &str| map.get(name).and_then(Value::as_str);
    let number = |name: &str| map.get(name)?.as_i64().and_then(|number| i16::try_from(number).ok());
    let response = match (text("response"), text("exception")) {
        (Some(hex), None) => Ok(from_hex(hex)?),
        (None, Some(exception)) => Err(exception.to_owned()),
        _ => return None,
    };
    Some(Refusal {
        release: text("release")?.to_owned(),
        whole: text("kind")? == "whole",
        api: ApiKey(number("api")?),
        version: number("version")?,
        code: ErrorCode(number("code")?),
        request: from_hex(text("request").unwrap_or(""))?,
        response,
    })
}

/// Lets the releases refuse requests. The program has been compiled into `build`, and the class paths lie there.
pub(crate) fn rebuild_refusals(build: &Path, out: &Path) -> Result<(), Error> {
    let mut known = BTreeSet::new();
    for release in REFUSING {
        let requests = build.join(format!("refused-{release}"));
        write(&requests, &request_lines(&known)?)?;
        let path_file = build.join(format!("classpath-{release}"));
        let jars = std::fs::read_to_string(&path_file).map_err(|error| Error::new(path_file.display(), error))?;
        call(
            Command::new("java")
                .args(["-Xmx1g", "-cp"])
                .arg(format!("{}:{}", build.join("classes").display(), jars.trim()))
                .args(["milena.oracle.refusal.Main", "--release", release, "--requests"])
                .arg(&requests)
                .arg("--codes")
                .arg(CODES.map(|code| code.to_string()).join(","))
                .arg("--out")
                .arg(out.join(format!("refusals-{release}.jsonl.gz"))),
        )?;
        known.extend(read_refusals(out)?.into_iter().map(|refusal| (refusal.api, refusal.version)));
    }
    Ok(())
}

/// A line for each API and version but the known ones: key, version, and two bodies, as Kafka's classes do not take every
/// value at random.
fn request_lines(known: &BTreeSet<(ApiKey, i16)>) -> Result<String, Error> {
    let mut lines = String::new();
    for api in ApiKey::all() {
        let message = message(api, "Request")?;
        for version in message.versions.iter().filter(|version| !known.contains(&(api, *version))) {
            let _ = write!(lines, "{} {version}", api.0);
            for sample in [message.sample_json(version, 1), message.example_json(version)] {
                let mut json = sample.map_err(|error| Error::new(&message.name, error))?;
                if api == ApiKey::PRODUCE {
                    json["acks"] = json!(1);
                }
                let bytes = message.encode(&json, version).map_err(|error| Error::new(&message.name, error))?;
                let _ = write!(lines, " {}", to_hex(&bytes));
            }
            lines.push('\n');
        }
    }
    Ok(lines)
}

fn message(api: ApiKey, kind: &str) -> Result<&'static MessageSpec, Error> {
    let name = format!("{}{kind}", api.name().unwrap_or_default());
    Spec::kafka().message(&name).map_err(|error| Error::new(name, error))
}

/// Where milena's error response is another than Kafka's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RefusalOutcome {
    /// The same in every field that is compared.
    Same,
    /// Kafka's broker never reports this code for the whole of such a request, so that there is nothing to compare.
    OfElements,
    /// The fields that differ, without indexes, each with both values.
    Differs(Vec<(String, String)>),
}

/// Compares milena's response to the same request with Kafka's.
///
/// # Errors
/// A response that cannot be read.
pub fn refusal_outcome(refusal: &Refusal) -> Result<RefusalOutcome, Error> {
    let Refusal { api, version, code, .. } = *refusal;
    let response = message(api, "Response")?;
    let differs = |what: &str| Ok(RefusalOutcome::Differs(vec![(String::new(), what.to_owned())]));
    let theirs = match &refusal.response {
        Ok(bytes) => bytes,
        Err(exception) => return differs(exception),
    };
    let oldest = api == ApiKey::API_VERSIONS && code == ErrorCode::UNSUPPORTED_VERSION;
    let read = |bytes: &Bytes| {
        let decoded = response.decode(bytes.clone(), if oldest { 0 } else { version });
        decoded.map(|decoded| decoded.json).map_err(|error| Error::new(&response.name, error))
    };
    let request = FaultedRequest { api, version, correlation_id: 7, body: refusal.request.clone() };
    let ours = match respond(&request, code, None) {
        Injection::Response(frame) => frame,
        Injection::Patch(_) => return Ok(RefusalOutcome::OfElements),
        Injection::NoPlace => return differs("no place"),
    };
    let theirs = sorted(read(theirs)?);
    let ours = sorted(read(&ours.slice(if api.response_header_version(version) >= 1 { 5 } else { 4 }..))?);
    let mut found = Vec::new();
    compare("", &ours, &theirs, &mut found);
    found.sort();
    found.dedup();
    Ok(match found.is_empty() {
        true => RefusalOutcome::Same,
        // `getErrorResponse` is about the whole request, and this code is not, where the version has both places.
        false if level(api, code) == Some(Level::Elements) && outermost(&theirs, code) < outermost(&ours, code) => {
            RefusalOutcome::OfElements
        }
        false => RefusalOutcome::Differs(found),
    })
}

/// How far in the outermost place stands that holds the code.
fn outermost(json: &Value, code: ErrorCode) -> Option<usize> {
    match json {
        Value::Object(map) => {
            let own = map.iter().any(|(name, value)| name.ends_with("rrorCode") && *value == code.0);
            if own {
                Some(0)
            } else {
                map.values().filter_map(|value| outermost(value, code)).min().map(|depth| depth + 1)
            }
        }
        Value::Array(values) => values.iter().filter_map(|value| outermost(value, code)).min(),
        _ => None,
    }
}

/// With arrays in an order of their own: Kafka's classes put partitions into hash maps.
fn sorted(json: Value) -> Value {
    match json {
        Value::Array(values) => {
            let mut values: Vec<Value> = values.into_iter().map(sorted).collect();
            values.sort_by_key(Value::to_string);
            Value::Array(values)
        }
        Value::Object(map) => map.into_iter().map(|(name, value)| (name, sorted(value))).collect(),
        other => other,
    }
}

fn compare(path: &str, ours: &Value, theirs: &Value, found: &mut Vec<(String, String)>) {
    match (ours, theirs) {
        (Value::Object(a), Value::Object(b)) => {
            for name in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                compare(&path, a.get(name).unwrap_or(&Value::Null), b.get(name).unwrap_or(&Value::Null), found);
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            a.iter().zip(b).for_each(|(a, b)| compare(path, a, b, found));
        }
        (Value::Array(a), Value::Array(b)) => {
            found.push((path.to_owned(), format!("{} elements, Kafka {}", a.len(), b.len())));
        }
        _ if ours == theirs => {}
        _ => found.push((path.to_owned(), format!("{ours}, Kafka {theirs}"))),
    }
}

/// Fields in which milena's error responses differ from Kafka's on purpose: API, field, reason. `*` is any API.
pub const REFUSAL_DIFFERENCES: &[(&str, &str, &str)] = &[
    ("*", "errorMessage", "Kafka's text for the code; the code says the same"),
    ("ApiVersions", "apiKeys.maxVersion", "the version below the one asked for, not the newest of one release"),
    ("CreateDelegationToken", "principalName", "Kafka writes its anonymous principal; the token is void in any case"),
    ("CreateDelegationToken", "principalType", "as principalName"),
    ("CreateDelegationToken", "tokenRequesterPrincipalName", "as principalName"),
    ("CreateDelegationToken", "tokenRequesterPrincipalType", "as principalName"),
    (
        "DescribeLogDirs",
        "",
        "versions 0 to 2 have no field for the code; Kafka drops it, milena injects nothing and says so",
    ),
    ("DescribeUserScramCredentials", "results.user", "Kafka leaves the users empty, milena names them"),
    (
        "Fetch",
        "responses",
        "for codes of sessions a broker names no partitions, getErrorResponse does up to version 12",
    ),
    ("Fetch", "sessionId", "for codes of sessions a broker writes 0, getErrorResponse repeats the id"),
    (
        "Fetch",
        "responses.partitions.records",
        "null up to Kafka 3.9; an empty set from 4.0 on, which milena writes always",
    ),
    ("ListPartitionReassignments", "topics", "Kafka repeats the topics of the request, milena names none"),
];
