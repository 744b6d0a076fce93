mod annotate;
mod blob;
mod capture;
mod compression;
mod frames;
mod kind;
mod part;
mod records;
mod segment;
mod show;
mod topic;
mod trace;

use std::path::PathBuf;

use bytes::Bytes;
use clap::{ArgGroup, Args};
use milena_inspect::blob::Kind as BlobKind;
use milena_inspect::stream::Assume;
use milena_inspect::text;
use milena_inspect::{Part, text::Form};
use milena_messages::ApiKey;
use milena_schema::MessageSpec;

use super::subject::{Shape, Subject, blob_kind, check_version};
use crate::failure::{Failure, Result};
use crate::input::BytesInput;
use crate::output::{self, fit, size};
use capture::Captures;
use compression::Compression;
use kind::Kind;
use part::{Printer, Style};
use records::Records;
use segment::Segments;

const EXAMPLES: &str = "Examples:
  milena decode 0000000e 0012 0000 00000001 0004 72756e65
  milena decode \"b'\\x00\\x01\\x00\\x00\\x00\\x00\\xff\\xff\\xff\\xff'\"    its kind is recognised
  milena decode wireshark.txt                              frames of both directions, as copied
  milena decode letters-0 --offsets 100..200 --json        a partition, or a file of it
  milena decode data --verify                              all partitions: do the files agree?
  milena decode session.pcap                               what clients and brokers sent each other
  tcpdump -i any -s 0 -U -w - port 9092 | milena decode -  the same while it happens
  milena decode session.pcapng --json | jq 'select(.errors != [])'
  milena decode trace.jsonl --compact                      what `milena tap` saved, a line each
  milena decode --message HeartbeatResponse --version 1 '00 00 00 05 00 1b'
  milena decode --response --api ApiVersions --version 0 --file response.bin
  xxd body.bin | milena decode -m MetadataResponse --version 12 --compact
  milena decode --records --tolerant --json part.bin | jq .crcValid
  milena decode --blob subscription AAAAAAABAAF0/////w==
  milena decode --topic __consumer_offsets --key 000200016d --json

Input: files, folders, stdin, or text. Text is hex of any spacing, a dump of xxd, hexdump, od,
tcpdump or Wireshark, an array of numbers, a string with escapes, or base64; --input says which, if
need be.

Kind: by the name of a file or by the bytes, unless --as or another flag says it. Frames may
have their 4-byte size in front or not. Requests name themselves; a response is matched with its
request by correlation id, or is of --api and --version; or else every layout that reads it to its
last byte is tried, and the result is marked as a guess. TLS, HTTP and SSH are recognised.

Output: each field beside its bytes, or JSON with --json (--compact for one line each). With
--message, --request and --response JSON is the default, and --annotate shows the fields. In JSON,
bytes are base64, and null and empty differ; `milena encode` turns it into the same bytes. Bytes
that are not understood are shown with their range, reading goes on after them, and the exit code
is 1. Bytes after a message are only noted: Kafka accepts them. The fields view hides passwords,
tokens and keys unless --show-secrets is given; JSON always contains them, so take care where you
paste it.

Captures: a line for each request with its response, on any port, then what each client did. --json
prints whole messages, passwords included. Missing bytes are reported, and the exit code is 1.

Log folders: every file is shown: batches, indexes, snapshots and checkpoints, and the records of
Kafka's own topics with their meaning. --json prints a line for each item; its `type` says what it
is. Memory is bounded by the largest batch: at most 128 MiB, and as much decompressed.

Records: each batch is two lines and a table; --json prints a line for each batch, in the form of
`milena codec`. A batch that a consumer would refuse, for example for its checksum, is shown as
damaged, and reading goes on after it, or ends there with --strict; --tolerant also reads inside
damaged batches. A batch that is cut off at the end, or space that a broker has preallocated, is no
error: a note on stderr reports it. Ranges in parentheses count in the decompressed payload.";

/// Show any bytes of Kafka field by field or as JSON
///
/// Takes frames of requests and responses, messages without a header, batches of records, log folders and files of a broker,
/// traces of a proxy, what members of a group send each other, and records of Kafka's own topics; damaged ones too. JSON is
/// the form of Kafka's own tools, with names in camel case, and `milena encode` takes it back.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("subject").args(["message", "request", "response", "records", "blob", "topic"]))]
pub(crate) struct Decode {
    #[command(flatten)]
    subject: Subject,

    /// Record batches and message sets of any magic: the `records` of Produce and Fetch, or a segment file. With a
    /// capture: what was produced and fetched
    #[arg(long, conflicts_with_all = ["api", "version"])]
    records: bool,

    /// What the bytes are. auto: by the name of the file, or by the bytes themselves
    #[arg(long = "as", value_name = "FORMAT", default_value = "auto")]
    #[arg(conflicts_with_all = ["request", "response"])]
    kind: Kind,

    #[command(flatten)]
    input: BytesInput,

    #[command(flatten)]
    view: View,

    /// What members of a group send each other: subscription, assignment, connect-subscription, connect-assignment,
    /// streams-subscription, sticky or cooperative-sticky
    #[arg(long, value_name = "KIND", value_parser = blob_kind)]
    blob: Option<BlobKind>,

    /// A record of this topic, one of Kafka's own, with --key and --value as hex or base64; without a value it is null
    #[arg(long, short, value_name = "TOPIC")]
    topic: Option<String>,

    /// The value of the record that --topic is about
    #[arg(long, value_name = "BYTES", requires = "topic")]
    value: Option<String>,

    #[command(flatten)]
    segments: Segments,

    #[command(flatten)]
    captures: Captures,
}

/// How to show what is read.
#[derive(Args, Clone, Copy, Debug)]
struct View {
    /// Show what can be made out of damaged batches too
    #[arg(long, conflicts_with_all = ["message", "request", "response"])]
    tolerant: bool,

    /// End at the first damaged batch
    #[arg(long, conflicts_with_all = ["message", "request", "response", "tolerant"])]
    strict: bool,

    /// Show the range of bytes, the bytes, name, type and value of each field
    #[arg(long)]
    annotate: bool,

    /// Print JSON on one line
    #[arg(long, short, conflicts_with = "annotate")]
    compact: bool,

    /// Print JSON, which is the default with --message, --request and --response
    #[arg(long)]
    json: bool,

    /// Show passwords, tokens and keys beside their fields too; JSON always has them
    #[arg(long)]
    show_secrets: bool,

    /// Cut nothing to fit the terminal; without a terminal nothing is cut anyway
    #[arg(long)]
    wide: bool,
}

/// What the caller said of the bytes beside their kind.
struct Described {
    message: Option<(&'static MessageSpec, i16)>,
    frames: Assume,
    style: Style,
}

impl Decode {
    pub(crate) fn run(self) -> Result {
        output::set_wide(self.view.wide);
        let (kind, described) = self.described()?;
        if kind == Kind::Topic {
            let mut printer = Printer::new(described.style, self.view.show_secrets);
            let result = self.record()?.run(&mut printer);
            printer.finish()?;
            return result;
        }
        let paths = self.input.paths();
        if kind == Kind::Segment || (kind == Kind::Auto && all_of_segments(&paths)) {
            if paths.is_empty() && self.input.is_stdin() {
                return segment::run_stdin(self.view, self.segments);
            }
            if paths.is_empty() {
                return Err(Failure::usage("no files are named").hint("name the folder of a partition, or files of it"));
            }
            return segment::run(&paths, self.view, self.segments);
        }
        if self.is_capture(kind, &paths)? {
            return capture::run(&paths, self.view, self.captures, self.records);
        }
        if self.captures.is_wanted() {
            return Err(Failure::usage("--port and --summary are for captures").hint("name a pcap or pcapng file"));
        }
        if self.segments.is_wanted() {
            return Err(Failure::usage("--offsets, --time, --key, --headers-only and --verify are for logs")
                .hint("name the folder of a partition, or files of it; --as segment takes any file for one"));
        }
        for input in self.input.each() {
            let input = input?;
            // Batches are read one at a time, so that their number does not matter.
            let is_batches = |head: &[u8]| match kind {
                Kind::Auto => kind::begins_with_batch(head, input.is_whole()),
                kind => kind == Kind::Records,
            };
            match input.head().is_some_and(is_batches) {
                true => Records { view: self.view }.run(input.stream())?,
                false => self.decode(kind, &described, input.all()?.into())?,
            }
        }
        Ok(())
    }

    /// Whether the input is captures, said or seen.
    fn is_capture(&self, kind: Kind, paths: &[PathBuf]) -> Result<bool> {
        let seen = match paths {
            [] => self.input.is_stdin() && (kind == Kind::Capture || capture::is_on_stdin()),
            paths => paths.iter().all(|path| capture::is_one(path)),
        };
        match kind {
            Kind::Capture if paths.is_empty() && !seen => {
                Err(Failure::usage("no capture is named").hint("name a pcap or pcapng file, or - for stdin"))
            }
            Kind::Capture => Ok(true),
            Kind::Auto | Kind::Records => Ok(seen && self.subject.shape()?.is_none()),
            _ => Ok(false),
        }
    }

    fn decode(&self, kind: Kind, described: &Described, bytes: Bytes) -> Result {
        // What compressed files begin with is no size of a frame.
        if let (Kind::Auto, Some(compression)) = (kind, Compression::of(&bytes)) {
            let what = format!("the input is compressed with {}", compression.name);
            return Err(Failure::failed(what).hint(compression.hint()));
        }
        let kind = match kind {
            Kind::Auto => Kind::of_bytes(&bytes).ok_or_else(|| {
                if bytes.is_empty() {
                    return no_bytes();
                }
                Failure::failed("cannot tell what these bytes are")
                    .hint("name their kind with --as, or with --message NAME --version N for a message without header")
            })?,
            kind => kind,
        };
        let mut printer = Printer::new(described.style, self.view.show_secrets);
        let result = match kind {
            Kind::Records => return Records { view: self.view }.run(&bytes[..]),
            Kind::Trace => trace::run(&bytes, &mut printer),
            Kind::Message => message(bytes, described, &mut printer),
            Kind::Blob => blob::run(&bytes, self.blob, &mut printer),
            _ => frames::run(&bytes, described.frames, &mut printer),
        };
        // What was understood shows even if the rest was not.
        printer.finish()?;
        result
    }

    /// What the flags say that the bytes are.
    fn described(&self) -> Result<(Kind, Described)> {
        let (api, version) = (self.subject.api()?, self.subject.version);
        let shape = self.subject.shape()?;
        let style = Style::new(self.view, shape.is_some());
        let described = Described { message: None, frames: Assume::Nothing, style };
        let by_flag = [
            (self.records && self.kind != Kind::Capture, Kind::Records),
            (self.blob.is_some(), Kind::Blob),
            (self.topic.is_some(), Kind::Topic),
            (matches!(shape, Some(Shape::Message(..))), Kind::Message),
        ];
        let by_flag = by_flag.into_iter().find_map(|(given, kind)| given.then_some(kind));
        let kind = match (by_flag, self.kind) {
            (Some(kind), Kind::Auto) => kind,
            (Some(kind), said) if kind != said => {
                return Err(Failure::usage("--as and the other flags contradict each other").hint("leave --as out"));
            }
            (_, said) => said,
        };
        match (shape, api, version) {
            (Some(Shape::Message(message, version)), ..) => {
                Ok((kind, Described { message: Some((message, version)), ..described }))
            }
            (Some(Shape::Request), None, None) => {
                Ok((Kind::Frames, Described { frames: Assume::Requests, ..described }))
            }
            (Some(Shape::Request), ..) => Err(Failure::usage("a request frame names its API and version itself")
                .hint("leave --api and --version out, or use --message for a body without header")),
            (None, None, None) => Ok((kind, described)),
            (_, Some(api), Some(version)) if matches!(kind, Kind::Auto | Kind::Frames) => {
                check_version(version, &api.name, api.versions)?;
                Ok((Kind::Frames, Described { frames: Assume::Responses(ApiKey(api.key), version), ..described }))
            }
            (Some(Shape::Response), Some(_), None) => Err(Failure::usage("--version is required")
                .hint("a response does not contain its version; it is the one of the request")),
            (Some(Shape::Response), ..) => Err(Failure::usage("--api and --version are required")
                .hint("a response does not contain its API and version; they are those of the request")),
            (None, ..) => Err(Failure::usage("--api and --version are for responses, and go together")
                .hint("without them, responses are matched with requests in the input, or guessed")),
        }
    }

    /// The record that --topic, --key and --value are about.
    fn record(&self) -> Result<topic::Record> {
        let topic = self.topic.clone().ok_or_else(|| {
            Failure::usage("--topic is required").hint("name it with --topic, such as --topic __consumer_offsets")
        })?;
        let bytes = |text: &str, name: &str| {
            let bytes = if text.is_empty() { Ok(Vec::new()) } else { text::parse(text, Form::Auto) };
            bytes.map(Bytes::from).map_err(|error| Failure::usage(format!("--{name}: {error}")))
        };
        let key = self.segments.key.as_ref().map(|key| bytes(&key.given, "key")).transpose()?;
        let value = self.value.as_ref().map(|value| bytes(value, "value")).transpose()?;
        if key.is_none() && value.is_none() {
            return Err(Failure::usage("there is neither --key nor --value"));
        }
        Ok(topic::Record { topic, key, value })
    }
}

fn all_of_segments(paths: &[PathBuf]) -> bool {
    !paths.is_empty() && paths.iter().all(|path| Kind::of_path(path) == Some(Kind::Segment))
}

fn message(bytes: Bytes, described: &Described, printer: &mut Printer) -> Result {
    let Some((message, version)) = described.message else {
        return Err(Failure::usage("--message is required").hint("name it with --message and --version"));
    };
    let part = Part { message, version, base: 0, bytes };
    let decoded = part::decode(&part, printer)?;
    if decoded.leftover > 0 {
        let at = part.bytes.len() - decoded.leftover;
        let hex = fit(&output::hex(part.bytes.get(at..).unwrap_or_default()), 40);
        let count = size(decoded.leftover);
        printer.note(&format!("{count} left over after the message, from byte {at}: {hex}"))?;
    }
    printer.document(&decoded.json)
}

/// The failure of an empty input.
fn no_bytes() -> Failure {
    Failure::failed("the input is empty")
        .hint("name a file or folder, paste bytes as hex or base64, or pipe them to stdin")
}
