mod annotate;
mod part;
mod records;

use bytes::Bytes;
use clap::Args;
use milena_messages::ErrorCode;
use milena_schema::{Api, Spec};
use serde_json::{Map, Value, json};

use super::subject::{Shape, Subject, body, check_version};
use crate::failure::{Failure, Result};
use crate::frame::{self, Frame};
use crate::input::BytesInput;
use crate::output;
use part::{Part, Printer};
use records::Records;

const EXAMPLES: &str = "Examples:
  milena decode --message HeartbeatResponse --version 1 '00 00 00 05 00 1b'
  milena decode --request 0000000e 0012 0000 00000001 0004 72756e65
  milena decode --response --api ApiVersions --version 0 --file answer.bin
  milena decode --request --annotate --file requests.bin   many frames in a row are fine
  xxd body.bin | milena decode -m MetadataResponse --version 12 --compact
  milena decode --records 00000000000000000000.log         a segment file, or bytes as hex or base64
  milena decode --records --tolerant --json --file part.log | jq .crcValid
  milena decode --records --annotate --file part.log       which byte of a batch means what

Frames may have their 4-byte size in front or not. Bytes behind a message are not an error in Kafka:
they are named on stderr, and the exit code is 0. When bytes cannot be understood, the error names
byte and field, the exit code is 1, and --annotate shows what was read up to there.

With --records each batch is two lines and a table; --json prints a line of JSON for each, in the
form of `milena codec`. Reading is strict, checksums and all, and ends at what a consumer would
refuse. A batch that is cut off at the end, or zeros that a broker has set aside, are no error:
stderr tells of them. Ranges in parentheses count in the decompressed payload.";

/// Turn bytes into JSON, or show which bytes mean what
///
/// Takes a message alone, or whole frames with their headers; a request names its API and version itself, for a response
/// both have to be said. The JSON is the form of Kafka's own tools: names in camel case, bytes and records as base64.
/// `milena encode` takes it back. With --annotate each field stands beside its bytes instead. With --records it shows
/// batches of records, compressed or not, out of a request or the file of a segment.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Decode {
    #[command(flatten)]
    subject: Subject,

    /// Record batches and message sets of any magic: the `records` of Produce and Fetch, or a segment file
    #[arg(long, group = "subject", conflicts_with_all = ["api", "version"])]
    records: bool,

    #[command(flatten)]
    input: BytesInput,

    /// Read on behind damaged batches, and show what can be made out of them
    #[arg(long, requires = "records", conflicts_with_all = ["message", "request", "response"])]
    tolerant: bool,

    /// Show the range of bytes, the bytes, name, type and value of each field
    #[arg(long)]
    annotate: bool,

    /// Print JSON on one line
    #[arg(long, short, conflicts_with = "annotate")]
    compact: bool,

    /// Print JSON, which is the default but with --annotate
    #[arg(long)]
    json: bool,
}

impl Decode {
    pub(crate) fn run(self) -> Result {
        if self.records {
            let bytes = self.input.read_or_file()?.into();
            let Self { tolerant, annotate, .. } = self;
            return Records { tolerant, annotate, json: self.json || self.compact }.run(bytes);
        }
        let shape = self.subject.shape()?;
        let api = self.subject.api()?;
        if let (Shape::Request, true) = (shape, api.is_some() || self.subject.version.is_some()) {
            return Err(Failure::usage("a request frame names its API and version itself")
                .hint("leave --api and --version out, or use --message for a body without header"));
        }
        let answered = match (shape, api, self.subject.version) {
            (Shape::Response, Some(api), Some(version)) => {
                check_version(version, &api.name, api.versions)?;
                Some((api, version))
            }
            (Shape::Response, ..) => {
                return Err(Failure::usage("a response does not say what it answers")
                    .hint("name the API and version of the request with --api and --version"));
            }
            _ => None,
        };
        let bytes = Bytes::from(self.input.read()?);
        let mut printer = Printer::new(self.annotate, self.json, self.compact);
        let result = match (shape, answered) {
            (Shape::Message(message, version), _) => {
                let part = Part { message, version, base: 0, bytes };
                let result = part.decode(&mut printer);
                result.and_then(|decoded| {
                    note_leftover(&part, decoded.leftover);
                    printer.document(decoded.json)
                })
            }
            (_, answered) => {
                let frames = match answered {
                    Some(_) => frame::split(&bytes, |_| true),
                    None => frame::split(&bytes, frame::begins_with_api),
                };
                if frames.is_empty() {
                    return Err(Failure::failed("there are no bytes to decode"));
                }
                frames.iter().try_for_each(|frame| decode_frame(frame, answered, &mut printer))
            }
        };
        // What was understood shows even if the rest was not.
        printer.finish()?;
        result
    }
}

fn decode_frame(frame: &Frame, answered: Option<(&'static Api, i16)>, printer: &mut Printer) -> Result {
    if let Some(size) = frame.size {
        printer.size(frame.start, size);
    }
    let (api, version) = match answered {
        Some(answered) => answered,
        None => frame::request_api(&frame.bytes).map_err(|what| {
            let hint = "--response for answers, --message for a body without header";
            Failure::failed(format!("this is no request: {what} (at byte {})", frame.base())).hint(hint)
        })?,
    };
    let request = answered.is_none();
    let (header, header_version) = match request {
        true => ("RequestHeader", api.request_header_version(version)),
        false => ("ResponseHeader", api.response_header_version(version)),
    };
    let message = Spec::kafka().message(header)?;
    let mut part = Part { message, version: header_version, base: frame.base(), bytes: frame.bytes.clone() };
    let header = part.decode(printer).map_err(|failure| cut_off(failure, frame))?;
    let at = part.bytes.len() - header.leftover;
    part = Part { message: body(api, request)?, version, base: part.base + at, bytes: part.bytes.slice(at..) };
    let body = match part.decode(printer) {
        Ok(body) => body,
        Err(failure) if !request && api.key == 18 && version > 0 => {
            return fallback(api, part, printer).map_err(|_| cut_off(failure, frame));
        }
        Err(failure) => return Err(cut_off(failure, frame)),
    };
    note_leftover(&part, body.leftover);
    if let Some(missing) = missing(frame) {
        eprintln!("note: {missing}");
    }
    let mut document = Map::new();
    document.insert("api".to_owned(), json!(api.name));
    document.insert("version".to_owned(), json!(version));
    document.insert("header".to_owned(), header.json);
    document.insert("body".to_owned(), body.json);
    printer.document(Value::Object(document))
}

/// A broker that does not have the version of an ApiVersions request answers at version 0, with an error.
fn fallback(api: &Api, part: Part, printer: &mut Printer) -> Result {
    let part = Part { version: 0, ..part };
    let body = part.decode(printer)?;
    let refused = body.json["errorCode"] == json!(ErrorCode::UNSUPPORTED_VERSION.0);
    if !refused {
        return Err(Failure::failed("no fallback"));
    }
    eprintln!("note: the broker refused the version and answered at version 0 (KIP-511)");
    printer.document(json!({ "api": api.name, "version": 0, "body": body.json }))
}

/// An error in a frame that is shorter than its size has that for its cause.
fn cut_off(failure: Failure, frame: &Frame) -> Failure {
    match missing(frame) {
        Some(missing) => failure.hint(missing),
        None => failure,
    }
}

fn missing(frame: &Frame) -> Option<String> {
    let size = frame.size.filter(|size| usize::try_from(*size) != Ok(frame.bytes.len()))?;
    Some(format!("the frame says that it has {size} bytes, but {} are there", frame.bytes.len()))
}

fn note_leftover(part: &Part, leftover: usize) {
    if leftover > 0 {
        let at = part.bytes.len() - leftover;
        let bytes = output::short(&output::hex(&part.bytes[at..]), 40);
        let (count, start) = (output::size(leftover), part.base + at);
        eprintln!("note: {count} left over behind the message, from byte {start}: {bytes}");
    }
}
