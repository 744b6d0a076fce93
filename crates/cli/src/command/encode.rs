use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use clap::{ArgGroup, Args, ValueEnum};
use milena_schema::{Api, Spec};
use milena_wire::Writer;
use serde_json::{Map, Value, json};

use super::subject::{Shape, Subject, body, check_version};
use crate::failure::{Failure, Result};
use crate::input::read_all;
use crate::output;

const EXAMPLES: &str = r#"Examples:
  milena encode --message HeartbeatResponse --version 1 '{"errorCode": 27}'
  milena encode --request --api Metadata --version 12 '{"body": {}}' --as raw > frame.bin
  milena encode --response --api Heartbeat --version 4 --correlation-id 7 '{"body": {}}'
  milena decode --request --file frame.bin | milena encode --request --as dump
  milena describe FetchRequest --version 12 --template | milena encode -m FetchRequest --version 12

A field that is not there takes its default. A field that the version lacks is dropped if it is
ignorable or has its default, and is an error otherwise; so is a name that the message never had."#;

/// Turn JSON into bytes
///
/// Takes what `milena decode` prints: the JSON of a message alone, or of a frame with `header` and `body`. What a frame
/// leaves out, api and version excepted, takes its default or the value of an option. Several JSON documents in a row make
/// several frames.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("subject").args(["message", "request", "response"]).required(true))]
pub(crate) struct Encode {
    #[command(flatten)]
    subject: Subject,

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
            let bytes = match shape {
                Some(Shape::Message(message, version)) => message.encode(&json, version).map_err(Failure::failed)?,
                Some(Shape::Response) => self.frame(json, false)?,
                Some(Shape::Request) | None => self.frame(json, true)?,
            };
            self.print(&mut out, &bytes)?;
            documents += 1;
        }
        out.flush()?;
        match documents {
            0 => Err(Failure::failed("there is no JSON to encode").hint("{} stands for a message of defaults")),
            _ => Ok(()),
        }
    }

    fn frame(&self, json: Value, request: bool) -> Result<Bytes> {
        let Value::Object(mut json) = json else {
            return Err(Failure::failed("the JSON of a frame is an object with `header` and `body`"));
        };
        let mut header = match json.remove("header").unwrap_or_else(|| json!({})) {
            Value::Object(header) => header,
            _ => return Err(Failure::failed("`header` is not an object")),
        };
        let (api, version) = self.api(&mut json, &header)?;
        let body_json = json.remove("body").unwrap_or_else(|| json!({}));
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
        if !self.no_size {
            writer.i32(0);
        }
        let header = Value::Object(header);
        Spec::kafka().message(name)?.encode_into(&mut writer, &header, header_version).map_err(Failure::failed)?;
        body(api, request)?.encode_into(&mut writer, &body_json, version).map_err(Failure::failed)?;
        if !self.no_size {
            let size =
                i32::try_from(writer.len() - 4).map_err(|_| Failure::failed("the frame does not fit an int32"))?;
            writer.patch_i32(0, size);
        }
        Ok(writer.into_bytes())
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
            Format::Base64 => writeln!(out, "{}", STANDARD.encode(bytes))?,
            Format::Dump => {
                for (index, line) in bytes.chunks(16).enumerate() {
                    writeln!(out, "{}", dump_line(16 * index, line))?;
                }
            }
        }
        Ok(())
    }
}

/// One line of the form that xxd prints, which `milena decode` reads.
fn dump_line(offset: usize, bytes: &[u8]) -> String {
    let groups: Vec<String> = bytes.chunks(2).map(output::hex).collect();
    let printable = |byte: &u8| if (0x20..0x7f).contains(byte) { char::from(*byte) } else { '.' };
    let text: String = bytes.iter().map(printable).collect();
    format!("{offset:08x}: {:39}  {text}", groups.join(" "))
}
