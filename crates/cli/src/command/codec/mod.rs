mod line;
mod operation;
mod records;
mod typed;

use std::io::{self, BufRead, BufReader, Write};

use clap::Args;
use milena_wire::{Error, ErrorKind};

use crate::failure::{Failure, Result};
use crate::output;
use line::Line;

const EXAMPLES: &str = r#"Examples:
  echo '{"op":"default","message":"MetadataRequest","version":12}' | milena codec
  milena codec < requests.jsonl > responses.jsonl
  echo '{"op":"build","records":[{"value":"aGVsbG8="}]}' | milena codec

Operations, one JSON object per line, and their responses:
  {"id":1,"op":"decode","message":"FetchRequest","version":12,"hex":"…"}
      {"id":1,"ok":true,"json":{…},"leftover":0}               bytes to JSON
  {"id":2,"op":"encode","message":"FetchRequest","version":12,"json":{…}}
      {"id":2,"ok":true,"hex":"…"}                             JSON to bytes
  {"id":3,"op":"reencode","message":"FetchRequest","version":12,"hex":"…"}
      {"id":3,"ok":true,"hex":"…","leftover":0}                through the typed struct
  {"id":4,"op":"default","message":"FetchRequest","version":12}
      {"id":4,"ok":true,"hex":"…"}                             the typed struct's defaults
  {"id":5,"op":"transcode","message":"FetchRequest","version":12,"toVersion":4,"hex":"…"}
      {"id":5,"ok":true,"hex":"…"}                             from one version to another
  {"id":6,"op":"header","api":18,"version":3}
      {"id":6,"ok":true,"request":2,"response":0}              versions of the headers
  {"id":7,"op":"error","code":3}
      {"id":7,"ok":true,"name":"UNKNOWN_TOPIC_OR_PARTITION","retriable":true}
  {"id":8,"op":"records","hex":"…","tolerant":false}
      {"id":8,"ok":true,"partialTail":0,"batches":[{…}]}       record batches and message sets
  {"id":9,"op":"build","magic":2,"codec":"lz4","records":[{…}]}
      {"id":9,"ok":true,"hex":"…"}                             the other way round

A batch of `records` is {"magic":2,"baseOffset":0,"lastOffset":0,"partitionLeaderEpoch":0,"crc":…,
  "crcValid":true,"codec":"none","timestampType":"none|create|logAppend","baseTimestamp":…,
  "maxTimestamp":…,"producerId":-1,"producerEpoch":-1,"baseSequence":-1,"isTransactional":false,
  "isControl":false,"deleteHorizon":null,"count":1,"sizeInBytes":…,"records":[{"offset":0,
  "timestamp":…,"key":"base64"|null,"value":"base64"|null,"headers":[["base64","base64"|null]],
  "sequence":-1,"control":null|{"type":"COMMIT","coordinatorEpoch":0}}]}
with the count null and no producer in magic 0 and 1, where a wrapper with its messages, or a
message alone, is a batch. One that cannot be read has "error" in place of "records", strict
reading ends there, and "ok" is false, as a consumer that compares checksums would fail. With
"tolerant" it is still false, but reading goes on: "readable" has the records in front of an
error, and "refused" says why strict reading would not give "records".

`build` takes the same names, records without offset in a row from baseOffset, and further level,
lastOffset, and maxTimestamp, which with logAppend is the time of the broker. All of them have
defaults.

A failure gets a response too, and the next line is read:
  {"id":10,"ok":false,"error":{"kind":"malformed","offset":17,
                               "path":"FetchRequest.topics[0].topic","message":"…"}}
Kinds: malformed, unsupported_version, limit_exceeded, invalid_value, unknown_message. offset and
path are null where there is none. The exit code is 0 however many lines failed."#;

/// Encode and decode by JSON lines, for test harnesses in other languages
///
/// Reads JSON lines from stdin and writes one JSON line for each to stdout, in order. Responses are written as soon as no
/// further line is waiting, so a program can send one line at a time. The id of a line, any JSON, comes back in its
/// response. `decode` and `encode` use the spec, `reencode`, `default` and `transcode` the generated structs;
/// `records` and `build` read and write batches of records.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Codec {}

/// A line above this gets an error and is not kept.
const MAX_LINE: usize = 512 * 1024 * 1024;

impl Codec {
    pub(crate) fn run(self) -> Result {
        serve(BufReader::with_capacity(256 * 1024, io::stdin().lock()), output::stdout())
    }
}

/// A batch, or a message set, out of the JSON that `build` takes and `decode --records --json` prints.
///
/// # Errors
/// What is wrong with the JSON.
pub(super) fn build_batch(json: &[u8]) -> milena_wire::Result<milena_wire::Bytes> {
    records::build(&line::Line::parse(json)?)
}

fn serve<R: io::Read, W: Write>(mut input: BufReader<R>, mut out: W) -> Result {
    let mut line = Vec::new();
    let mut answer = Vec::new();
    loop {
        line.clear();
        let length =
            read_line(&mut input, &mut line).map_err(|e| Failure::failed(format!("cannot read stdin: {e}")))?;
        if length == 0 {
            break;
        }
        answer.clear();
        if length > MAX_LINE {
            let message = format!("a line of {length} bytes, the limit is {MAX_LINE}");
            line::fail(&mut answer, None, &Error::new(ErrorKind::LimitExceeded, message));
        } else if !line.trim_ascii().is_empty() {
            respond(&line, &mut answer);
        }
        out.write_all(&answer)?;
        // A caller that waits for a response before the next line gets it.
        if !input.buffer().contains(&b'\n') {
            out.flush()?;
        }
    }
    out.flush()?;
    Ok(())
}

/// Reads up to the next line feed and keeps no more than the limit of it. Gives the length of what was read, 0 at the end.
fn read_line(input: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<usize> {
    let mut length = 0;
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let (used, done) = match chunk.iter().position(|byte| *byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (chunk.len(), chunk.is_empty()),
        };
        length += used;
        if length <= MAX_LINE {
            line.extend_from_slice(&chunk[..used]);
        }
        input.consume(used);
        if done {
            return Ok(length);
        }
    }
}

/// Responds to one line.
fn respond(text: &[u8], answer: &mut Vec<u8>) {
    let line = match Line::parse(text) {
        Ok(line) => line,
        Err(error) => return line::fail(answer, None, &error),
    };
    line::begin(answer, line.id(), true);
    if let Err(error) = operation::run(&line, answer) {
        answer.clear();
        line::fail(answer, line.id(), &error);
    } else {
        answer.extend_from_slice(b"}\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(questions: &str) -> String {
        let mut out = Vec::new();
        serve(BufReader::new(questions.as_bytes()), &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn replies_are_those_of_the_contract() {
        let cases = [
            (
                r#"{"id":1,"op":"decode","message":"HeartbeatResponse","version":1,"hex":"00000005001bff"}"#,
                r#"{"id":1,"ok":true,"json":{"throttleTimeMs":5,"errorCode":27},"leftover":1}"#,
            ),
            (
                r#"{"id":2,"op":"encode","message":"HeartbeatResponse","version":1,"json":{"errorCode":27}}"#,
                r#"{"id":2,"ok":true,"hex":"00000000001b"}"#,
            ),
            (
                r#"{"id":3,"op":"reencode","message":"HeartbeatResponse","version":1,"hex":"00000005001bff"}"#,
                r#"{"id":3,"ok":true,"hex":"00000005001b","leftover":1}"#,
            ),
            (
                r#"{"id":4,"op":"default","message":"HeartbeatResponse","version":4}"#,
                r#"{"id":4,"ok":true,"hex":"00000000000000"}"#,
            ),
            (
                r#"{"id":9,"op":"transcode","message":"HeartbeatResponse","version":4,"toVersion":0,"hex":"00000005001b00"}"#,
                r#"{"id":9,"ok":true,"hex":"001b"}"#,
            ),
            (r#"{"id":5,"op":"header","api":18,"version":3}"#, r#"{"id":5,"ok":true,"request":2,"response":0}"#),
            (
                r#"{"id":6,"op":"error","code":3}"#,
                r#"{"id":6,"ok":true,"name":"UNKNOWN_TOPIC_OR_PARTITION","retriable":true}"#,
            ),
        ];
        for (question, answer) in cases {
            assert_eq!(ask(question), format!("{answer}\n"));
        }
    }

    #[test]
    fn the_id_comes_back_as_it_came() {
        for id in ["null", "1e3", "18446744073709551616", r#""ž\u00e9""#, r#"{"a":[1,2.50]}"#] {
            let answer = ask(&format!(r#"{{"op":"error","code":0,"id":{id}}}"#));
            assert_eq!(answer, format!("{{\"id\":{id},\"ok\":true,\"name\":\"NONE\",\"retriable\":false}}\n"));
        }
    }

    #[test]
    fn an_empty_line_has_no_reply_and_the_last_needs_no_line_feed() {
        assert_eq!(ask("\n  \r\n"), "");
        assert_eq!(ask("{\"op\":\"error\",\"code\":0}").lines().count(), 1);
    }
}
