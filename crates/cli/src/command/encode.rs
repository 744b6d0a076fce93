use std::io::Write as _;

use bytes::Bytes;
use clap::{ArgGroup, Args, ValueEnum};
use milena_inspect::Part;
use milena_inspect::blob::{self, Kind as BlobKind};
use milena_inspect::stream::{Assume, read};
use milena_inspect::text::from_base64;
use milena_messages::ApiKey;
use milena_schema::{Api, Spec};
use milena_wire::Writer;
use serde_json::{Map, Value, json};

use super::codec::build_batch;
use super::subject::{Shape, Subject, blob_kind, body, check_version};
use crate::failure::{Failure, Result};
use crate::input::read_all;
use crate::output;

const EXAMPLES: &str = r#"Examples:
  milena encode --message HeartbeatResponse --version 1 '{"errorCode": 27}'
  milena encode --request --api Metadata --version 12 '{"body": {}}' --as raw > frame.bin
  milena encode --response --api Heartbeat --version 4 --correlation-id 7 '{"body": {}}'
  milena decode --json --file frames.bin | milena encode --as dump
  milena decode --records --json part.log | milena encode --records --as raw > again.log
  milena encode --blob subscription --version 1 '{"topics": ["letters"]}'
  milena describe FetchRequest --version 12 --template | milena encode -m FetchRequest --version 12

A field that is not there takes its default. A field that the version lacks is dropped if it is
ignorable or has its default, and is an error otherwise; so is a name that the message never had.
What `decode` did not understand it kept as it is, and so it comes back."#;

/// Turn JSON into bytes
///
/// Takes what `milena decode --json` prints: a frame with `header` and `body`, a batch of records, a blob, or the JSON of a
/// message alone. Frames and blobs say what they are; without that, an option has to. What a frame leaves out, api and
/// version excepted, takes its default or the value of an option. Several JSON documents in a row make several frames.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("subject").args(["message", "request", "response", "records", "blob"]))]
pub(crate) struct Encode {
    #[command(flatten)]
    subject: Subject,

    /// Record batches and message sets, a JSON document each
    #[arg(long, conflicts_with_all = ["api", "version"])]
    records: bool,

    /// A blob of this kind at --version: its `data`, or all that `decode` prints of it
    #[arg(long, value_name = "KIND", value_parser = blob_kind)]
    blob: Option<BlobKind>,

    /// The JSON; - for stdin, which is also where it is read from when nothing is given
    #[arg(value_name = "JSON", conflicts_with = "file")]
    text: Option<String>,

    /// Read the JSON from this file; - for stdin
    #[arg(long, short, value_name = "PATH")]
    file: Option<std::path::PathBuf>,

    /// What to print
    #[arg(long = "as", value_name = "FORMAT", default_value = "hex")]
    format: Format,

    /// Leave out the 4-byte size in front of a frame
    #[arg(long, conflicts_with = "message")]
    no_size: bool,

    /// The correlation id in the header of a frame, unless the JSON has one
    #[arg(long, value_name = "ID", conflicts_with = "message", allow_negative_numbers = true)]
    correlation_id: Option<i32>,

    /// The client id in the header of a request, unless the JSON has one
    #[arg(long, value_name = "ID", conflicts_with_all = ["message", "response"])]
    client_id: Option<String>,

    /// Print JSON: {"hex": …, "length": …}
    #[arg(long, conflicts_with = "format")]
    json: bool,
}

/// How bytes are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Digits on one line
    Hex,
    /// Standard, with padding
    Base64,
    /// The bytes as they are
    Raw,
    /// Offset, digits and characters, 16 bytes a line
    Dump,
}

impl Encode {
    pub(crate) fn run(self) -> Result {
        let shape = self.subject.shape()?;
        let text = match &self.text {
            Some(text) if text != "-" => text.clone().into_bytes(),
            _ => read_all(self.file.as_deref())?,
        };
        let mut out = output::stdout();
        let mut documents = 0;
        for json in serde_json::Deserializer::from_slice(&text).into_iter::<Value>() {
            let json = json.map_err(|error| Failure::failed(format!("the input is not JSON: {error}")))?;
            let bytes = self.document(json, shape)?;
            self.print(&mut out, &bytes)?;
            documents += 1;
        }
        out.flush()?;
        match documents {
            0 => Err(Failure::failed("there is no JSON to encode").hint("{} stands for a message of defaults")),
            _ => Ok(()),
        }
    }

    fn document(&self, json: Value, shape: Option<Shape>) -> Result<Bytes> {
        if self.records {
            return match json.get("error") {
                Some(_) if json.get("records").is_none() => {
                    Err(Failure::failed("the records of this batch were not read, so there is nothing to write")
                        .hint("decode --tolerant may read some of them"))
                }
                _ => build_batch(json.to_string().as_bytes()).map_err(Failure::failed),
            };
        }
        match (shape, json.get("direction").and_then(Value::as_str)) {
            (Some(Shape::Message(message, version)), _) => message.encode(&json, version).map_err(Failure::failed),
            (Some(Shape::Response), _) | (None, Some("response")) => self.frame(json, false),
            (Some(Shape::Request), _) | (None, Some("request")) => self.frame(json, true),
            (None, _) if self.blob.is_some() || json.get("kind").is_some() => self.blob(&json),
            (None, _) if json.get("frame").is_some() => self.frame(json, true),
            (None, _) => Err(Failure::usage("cannot tell what this JSON stands for")
                .hint("add --request, --response, --records, --blob KIND, or --message NAME --version N")),
        }
    }

    /// A blob, out of its data alone or with kind and version around it.
    fn blob(&self, json: &Value) -> Result<Bytes> {
        let kind = match (self.blob, json.get("kind").and_then(Value::as_str)) {
            (Some(kind), _) => kind,
            (None, name) => blob_kind(name.unwrap_or_default()).map_err(Failure::failed)?,
        };
        let data = json.get("data").unwrap_or(json);
        let stated = json.get("version").filter(|_| json.get("data").is_some()).and_then(Value::as_i64);
        let version = self.subject.version.or(stated.and_then(|version| i16::try_from(version).ok()));
        let version = version.ok_or_else(|| Failure::usage("at which version?").hint("name one with --version"))?;
        let bytes = blob::encode(kind, version, data).map_err(Failure::failed)?;
        with_leftover(bytes, json.get("leftover"))
    }

    fn frame(&self, json: Value, request: bool) -> Result<Bytes> {
        let Value::Object(mut json) = json else {
            return Err(Failure::failed("the JSON of a frame is an object with `header` and `body`"));
        };
        // What decode says about a frame is no part of it.
        for name in ["direction", "guess", "notes", "error", "connection", "time", "latencyMicros"] {
            json.remove(name);
        }
        if let Some(frame) = json.remove("frame") {
            return self.sized(base64(&frame, "frame")?);
        }
        let (leftover, raw) = (json.remove("leftover"), json.remove("raw"));
        let mut header = match json.remove("header").unwrap_or_else(|| json!({})) {
            Value::Object(header) => header,
            _ => return Err(Failure::failed("`header` is not an object")),
        };
        let (api, version) = self.api(&mut json, &header)?;
        let body_json = json.remove("body").unwrap_or_else(|| json!({}));
        let raw = raw.map(|raw| base64(&raw, "raw")).transpose()?;
        if let Some(raw) = raw.filter(|raw| says(raw, api, version, request, &header, &body_json)) {
            return self.sized(raw);
        }
        if let Some(name) = json.keys().next() {
            return Err(Failure::failed(format!("a frame has no `{name}`"))
                .hint("its members are api, version, header and body; --message encodes a body alone"));
        }
        let mut fill = |name: &str, value: Value| {
            header.entry(name).or_insert(value);
        };
        fill("correlationId", json!(self.correlation_id.unwrap_or(0)));
        if request {
            fill("requestApiKey", json!(api.key));
            fill("requestApiVersion", json!(version));
            fill("clientId", json!(self.client_id));
        }
        let (name, header_version) = match request {
            true => ("RequestHeader", api.request_header_version(version)),
            false => ("ResponseHeader", api.response_header_version(version)),
        };
        let mut writer = Writer::new();
        let header = Value::Object(header);
        Spec::kafka().message(name)?.encode_into(&mut writer, &header, header_version).map_err(Failure::failed)?;
        body(api, request)?.encode_into(&mut writer, &body_json, version).map_err(Failure::failed)?;
        self.sized(with_leftover(writer.into_bytes(), leftover.as_ref())?)
    }

    /// The frame with its size in front, unless that is not wanted.
    fn sized(&self, frame: Bytes) -> Result<Bytes> {
        if self.no_size {
            return Ok(frame);
        }
        let size = i32::try_from(frame.len()).map_err(|_| Failure::failed("the frame does not fit an int32"))?;
        Ok([&size.to_be_bytes(), &frame[..]].concat().into())
    }

    /// API and version: of the options, of the frame, or of its header.
    fn api(&self, json: &mut Map<String, Value>, header: &Map<String, Value>) -> Result<(&'static Api, i16)> {
        let spec = Spec::kafka();
        let named = json.remove("api").or_else(|| header.get("requestApiKey").cloned());
        let api = match (self.subject.api()?, named) {
            (Some(api), _) => api,
            (None, Some(Value::String(name))) => spec.api_named(&name)?,
            (None, Some(Value::Number(key))) => spec.api_named(&key.to_string())?,
            _ => return Err(Failure::usage("which API is this frame of?").hint("name it with --api, or as `api`")),
        };
        let named = json.remove("version").or_else(|| header.get("requestApiVersion").cloned());
        let version = match (self.subject.version, named.as_ref().and_then(Value::as_i64)) {
            (Some(version), _) => Some(version),
            (None, Some(version)) => i16::try_from(version).ok(),
            (None, None) => None,
        };
        let version = version.ok_or_else(|| {
            Failure::usage("at which version?").hint(format!("name one of {} with --version", api.versions))
        })?;
        check_version(version, &api.name, api.versions)?;
        Ok((api, version))
    }

    fn print(&self, out: &mut impl std::io::Write, bytes: &[u8]) -> Result {
        if self.json {
            serde_json::to_writer(&mut *out, &json!({ "hex": output::hex(bytes), "length": bytes.len() }))?;
            out.write_all(b"\n")?;
            return Ok(());
        }
        match self.format {
            Format::Raw => out.write_all(bytes)?,
            Format::Hex => writeln!(out, "{}", output::hex(bytes))?,
            Format::Base64 => writeln!(out, "{}", output::base64(bytes))?,
            Format::Dump => {
                for (index, line) in bytes.chunks(16).enumerate() {
                    writeln!(out, "{}", output::dump_line(16 * index, line))?;
                }
            }
        }
        Ok(())
    }
}

/// Whether bytes say what the JSON says, if not in Kafka's own words.
fn says(raw: &Bytes, api: &Api, version: i16, request: bool, header: &Map<String, Value>, body: &Value) -> bool {
    let assume = if request { Assume::Requests } else { Assume::Responses(ApiKey(api.key), version) };
    let size = i32::try_from(raw.len()).unwrap_or_default();
    let framed = Bytes::from([&size.to_be_bytes(), &raw[..]].concat());
    let [found] = &read(&framed, assume)[..] else { return false };
    let parts = found.frame.parts().ok();
    let read = |part: &Part| part.decode().ok().map(|decoded| decoded.json);
    let same =
        |parts: &[Part; 2]| read(&parts[0]) == Some(header.clone().into()) && read(&parts[1]).as_ref() == Some(body);
    parts.is_some_and(|parts| same(&parts))
}

/// Bytes that came after a message.
fn with_leftover(bytes: Bytes, leftover: Option<&Value>) -> Result<Bytes> {
    match leftover {
        None => Ok(bytes),
        Some(leftover) => Ok([&bytes[..], &base64(leftover, "leftover")?].concat().into()),
    }
}

fn base64(json: &Value, name: &str) -> Result<Bytes> {
    let bytes = json.as_str().and_then(from_base64).map(Bytes::from);
    bytes.ok_or_else(|| Failure::failed(format!("`{name}` is not base64")))
}
