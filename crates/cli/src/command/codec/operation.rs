use std::io::Write as _;

use milena_messages::{ErrorCode, MessageVisitor, visit_message};
use milena_schema::{Api, MessageSpec, Spec, UnknownName};
use milena_wire::{Error, ErrorKind, Result, VersionRange};

use super::line::Line;
use super::records;
use super::typed::{Default, Transcode};
use crate::output::push_hex;

/// Does what a line asks for and writes the members of its response after `"ok":true`.
pub(super) fn run(line: &Line, answer: &mut Vec<u8>) -> Result<()> {
    let op = line.text("op")?;
    match &*op {
        "decode" => {
            let (message, version) = message(line)?;
            let decoded = message.decode(line.bytes("hex")?, version)?;
            answer.extend_from_slice(b",\"json\":");
            serde_json::to_writer(&mut *answer, &decoded.json).map_err(|error| Error::invalid(error.to_string()))?;
            leftover(answer, decoded.leftover);
        }
        "encode" => {
            let (message, version) = message(line)?;
            hex(answer, &message.encode(&line.json("json")?, version)?);
        }
        "reencode" => {
            let (message, version) = message(line)?;
            let (bytes, rest) = typed(message, Transcode { bytes: line.bytes("hex")?, from: version, to: version })??;
            hex(answer, &bytes);
            leftover(answer, rest);
        }
        "transcode" => {
            let (message, from) = message(line)?;
            let to = version(line, "toVersion", &message.name, message.versions)?;
            let (bytes, _) = typed(message, Transcode { bytes: line.bytes("hex")?, from, to })??;
            hex(answer, &bytes);
        }
        "default" => {
            let (message, version) = message(line)?;
            hex(answer, &typed(message, Default { version })??);
        }
        "records" => records::read(line, answer)?,
        "build" => hex(answer, &records::build(line)?),
        "header" => {
            let api = api(line)?;
            let version = version(line, "version", &api.name, api.versions)?;
            let (request, response) = (api.request_header_version(version), api.response_header_version(version));
            // Writing to memory does not fail.
            let _ = write!(answer, ",\"request\":{request},\"response\":{response}");
        }
        "error" => {
            let code = line.int16("code")?;
            let name = code.ok().and_then(|code| ErrorCode(code).name());
            let (Ok(code), Some(name)) = (code, name) else {
                let code = code.map_or_else(|number| number, i64::from);
                return Err(Error::invalid(format!("no error code {code}, known are -1 to 136")));
            };
            let retriable = ErrorCode(code).is_retriable();
            let _ = write!(answer, ",\"name\":\"{name}\",\"retriable\":{retriable}");
        }
        other => {
            return Err(Error::invalid(format!(
                "no op is named {other:?}; expected decode, encode, reencode, default, transcode, header, error, records or build"
            )));
        }
    }
    Ok(())
}

fn hex(answer: &mut Vec<u8>, bytes: &[u8]) {
    answer.extend_from_slice(b",\"hex\":\"");
    push_hex(answer, bytes);
    answer.push(b'"');
}

fn leftover(answer: &mut Vec<u8>, bytes: usize) {
    let _ = write!(answer, ",\"leftover\":{bytes}");
}

/// The message and version that a line names.
fn message(line: &Line) -> Result<(&'static MessageSpec, i16)> {
    let message = Spec::kafka().message(&line.text("message")?).map_err(unknown)?;
    Ok((message, version(line, "version", &message.name, message.versions)?))
}

fn api(line: &Line) -> Result<&'static Api> {
    let spec = Spec::kafka();
    match line.int16("api") {
        Ok(Ok(key)) => spec.api_named(&key.to_string()).map_err(unknown),
        Ok(Err(number)) => spec.api_named(&number.to_string()).map_err(unknown),
        Err(error) => match line.text("api") {
            Ok(name) => spec.api_named(&name).map_err(unknown),
            Err(_) => Err(error),
        },
    }
}

fn unknown(error: UnknownName) -> Error {
    Error::new(ErrorKind::UnknownMessage, error.to_string())
}

fn version(line: &Line, member: &str, what: &str, valid: VersionRange) -> Result<i16> {
    let number = match line.int16(member)? {
        Ok(version) if valid.contains(version) => return Ok(version),
        Ok(version) => i64::from(version),
        Err(number) => number,
    };
    let message = format!("no version {number}, valid are {valid}");
    Err(Error::new(ErrorKind::UnsupportedVersion, message).within(what.to_owned()))
}

fn typed<V: MessageVisitor>(message: &MessageSpec, visitor: V) -> Result<V::Output> {
    let missing = || Error::new(ErrorKind::UnknownMessage, format!("no struct for `{}`", message.name));
    visit_message(&message.name, visitor).ok_or_else(missing)
}
