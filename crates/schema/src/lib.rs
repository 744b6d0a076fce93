//! Kafka's protocol as values.
//!
//! The layout of every message stands in `spec/`, in a small language of its own; this crate parses that text
//! ([`Spec`]), and reads and writes any (message, version) by it ([`MessageSpec::decode`], [`MessageSpec::encode`]), between
//! bytes and the JSON form that Kafka's own `*JsonConverter` classes use. The text of the whole protocol is embedded:
//! [`Spec::kafka`].
//!
//! ```
//! use milena_schema::Spec;
//!
//! let spec = Spec::kafka();
//! let fetch = spec.message("FetchRequest")?;
//! assert_eq!(fetch.versions.to_string(), "0-18");
//! assert_eq!(fetch.root().fields[0].name, "ClusterId");
//! # Ok::<(), milena_schema::UnknownName>(())
//! ```
//!
//! | room | what |
//! |---|---|
//! | [`Spec`] | APIs, messages, error codes, releases |
//! | [`MessageSpec`], [`StructSpec`], [`Field`], [`Type`], [`Default`](FieldDefault) | the layout of one message |
//! | [`MessageSpec::decode`], [`MessageSpec::encode`] | bytes to JSON and back; [`Decoded`], [`JSON_LIMITS`] |
//! | [`MessageSpec::decode_annotated`] | which bytes each field came from; [`Annotated`], [`Note`], [`Span`], [`Meaning`] |
//! | [`MessageSpec::default_json`], [`MessageSpec::example_json`], [`MessageSpec::sample_json`] | values to begin with, to show, to test with |
//! | [`MessageSpec::scan`] | the values of a message without building anything; [`Scalar`] |
//! | [`MessageSpec::finder`] | a few fields of a message and where they are; [`Finder`], [`Found`] |
//! | [`MessageSpec::layout`], [`MessageSpec::layout_diff`] | one version as a tree; what two versions differ in |
//! | `to_json`, `from_json` | the typed messages of `milena-messages` to JSON and back, with the feature `messages` |
//! | [`Parser`], [`SpecError`] | the language, with errors that name file, line and column |

mod check;
mod codec;
mod draft;
mod history;
mod layout;
mod line;
mod model;
mod parser;
mod spec;
#[cfg(feature = "messages")]
mod typed;

pub use codec::{
    Annotated, Decoded, Finder, Found, JSON_LIMITS, Meaning, Note, NoteContent, Scalar, Span, TagSize,
    UNKNOWN_TAGGED_FIELDS,
};
pub use layout::{Change, ChangeKind, Layout, LayoutDiff, LayoutField};
pub use model::{
    Api, Entity, ErrorSpec, Field, FieldDefault, MessageKind, MessageSpec, Release, Since, StructId, StructSpec, Type,
};
pub use parser::{Parser, SpecError};
pub use spec::{Spec, UnknownName};
#[cfg(feature = "messages")]
pub use typed::{from_json, to_json};
