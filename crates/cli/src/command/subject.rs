//! What `decode` and `encode` are about: a message, or a whole frame of a request or response.

use clap::Args;
use milena_inspect::blob::Kind as BlobKind;
use milena_schema::{Api, MessageSpec, Spec, UnknownName};
use milena_wire::VersionRange;

use crate::failure::{Failure, Result};

#[derive(Args, Debug)]
pub(crate) struct Subject {
    /// A message alone, such as FetchRequest, without header or size
    #[arg(long, short, value_name = "NAME", requires = "version")]
    message: Option<String>,

    /// Whole frames of requests: size, header and body
    #[arg(long)]
    request: bool,

    /// Whole frames of responses: size, header and body
    #[arg(long)]
    response: bool,

    /// The API that a frame is of, by name or key; a request says it itself
    #[arg(long, short, value_name = "API", conflicts_with = "message")]
    pub(crate) api: Option<String>,

    /// The version of the message
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) version: Option<i16>,
}

/// What the bytes are.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// A message without anything around it.
    Message(&'static MessageSpec, i16),
    /// A frame with the header of a request.
    Request,
    /// A frame with the header of a response.
    Response,
}

impl Subject {
    /// What the flags say, if they say it.
    pub(crate) fn shape(&self) -> Result<Option<Shape>> {
        match (&self.message, self.version) {
            (Some(name), Some(version)) => {
                let message = message(name)?;
                check_version(version, &message.name, message.versions)?;
                Ok(Some(Shape::Message(message, version)))
            }
            _ if self.response => Ok(Some(Shape::Response)),
            _ if self.request => Ok(Some(Shape::Request)),
            _ => Ok(None),
        }
    }

    /// The API of `--api`.
    pub(crate) fn api(&self) -> Result<Option<&'static Api>> {
        Ok(self.api.as_ref().map(|name| Spec::kafka().api_named(name)).transpose()?)
    }
}

/// The message of that name; case does not matter.
pub(crate) fn message(name: &str) -> Result<&'static MessageSpec, UnknownName> {
    let spec = Spec::kafka();
    let any_case = || spec.messages.iter().find(|message| message.name.eq_ignore_ascii_case(name));
    spec.message(name).or_else(|unknown| any_case().ok_or(unknown))
}

/// The request or response of an API.
pub(crate) fn body(api: &Api, request: bool) -> Result<&'static MessageSpec> {
    Ok(Spec::kafka().message(&format!("{}{}", api.name, if request { "Request" } else { "Response" }))?)
}

/// # Errors
/// A version that is not there.
pub(crate) fn check_version(version: i16, name: &str, valid: VersionRange) -> Result {
    match valid.contains(version) {
        true => Ok(()),
        false => Err(Failure::usage(format!("{name} has no version {version}")).hint(format!("valid are {valid}"))),
    }
}

/// The kind of blob of that name.
pub(crate) fn blob_kind(name: &str) -> Result<BlobKind, String> {
    BlobKind::named(name).ok_or_else(|| {
        let names: Vec<&str> = BlobKind::ALL.iter().map(|kind| kind.name()).collect();
        format!("expected one of {}", names.join(", "))
    })
}
