//! `decode --as frames`: requests and responses with their headers.

use bytes::Bytes;
use milena_messages::ErrorCode;
use milena_schema::{Api, Spec};
use serde_json::{Map, Value, json};

use super::part::{Part, Printer, note_leftover};
use crate::command::subject::body;
use crate::failure::{Failure, Result};
use crate::frame::{self, Frame};

/// Reads all frames. Responses are those to a request of `answered`.
pub(super) fn run(bytes: &Bytes, answered: Option<(&'static Api, i16)>, printer: &mut Printer) -> Result {
    let frames = match answered {
        Some(_) => frame::split(bytes, |_| true),
        None => frame::split(bytes, frame::begins_with_api),
    };
    if frames.is_empty() {
        return Err(Failure::failed("there are no bytes to decode"));
    }
    frames.iter().try_for_each(|frame| decode_frame(frame, answered, printer))
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
