mod bytes;
mod tree;

use clap::Args;
use milena_schema::{MessageSpec, Spec};
use serde_json::Value;

use super::subject::{self, check_version};
use crate::failure::{Failure, Result};
use crate::output;

const EXAMPLES: &str = "Examples:
  milena describe FetchRequest                     every field of every version
  milena describe Fetch --version 12               request and response at version 12
  milena describe FetchRequest --diff 11 12        what the newer version changes
  milena describe OffsetCommitValue --json         records in Kafka's own topics are messages too
  milena describe MetadataRequest --version 12 --template
  milena describe Metadata --example               a frame of the newest version, byte by byte

Each line is a field: its name in JSON, its type (`?` if it may be null, `[]` for arrays), the
versions that have it, then `tag N` (written only when it differs from the default), the default if
it is not 0, false or empty, `ignorable` (silently dropped by versions that lack it), and `key` (the
array is indexed by it). FIRST and LAST are the first and last releases of Apache Kafka that have a
version; `-` is the newest known release. For records they say when the version was defined; some
bytes are older than that. HEADER is the version of the header before the message.";

/// Show the layout of a message as a tree, at one version or all of them
///
/// NAME is a message such as FetchRequest, or an API such as Fetch for both its request and its response. Each field has its
/// type, versions, default and meaning, each version its header and the releases of Kafka that have it. All 292 messages of
/// the protocol can be shown, including those inside records and files.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Describe {
    /// The message or API
    #[arg(value_name = "NAME", required = true)]
    name: String,

    /// Only this version
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    version: Option<i16>,

    /// What changes from version A to version B
    #[arg(long, value_names = ["A", "B"], num_args = 2, conflicts_with_all = ["version", "template"])]
    diff: Vec<i16>,

    /// Print the message's JSON with every field at its default, for `milena encode`
    #[arg(long, requires = "version", conflicts_with = "json")]
    template: bool,

    /// Show an example byte by byte; of the newest version without --version
    #[arg(long, conflicts_with_all = ["diff", "template"])]
    example: bool,

    /// Print JSON instead of a tree
    #[arg(long)]
    json: bool,
}

impl Describe {
    pub(crate) fn run(self) -> Result {
        let messages = find(&self.name)?;
        for message in &messages {
            for version in self.version.iter().chain(&self.diff) {
                check_version(*version, &message.name, message.versions)?;
            }
        }
        let width = output::terminal_width();
        let mut texts = Vec::new();
        let mut documents = Vec::new();
        for message in messages {
            if self.example {
                let version = self.version.unwrap_or(message.versions.max());
                match self.json {
                    true => documents.push(bytes::to_json(message, version)?),
                    false => texts.push(bytes::text(message, version, width)?),
                }
                continue;
            }
            match (self.diff.as_slice(), self.version) {
                (&[from, to], _) => {
                    let diff = message.layout_diff(from, to).map_err(Failure::failed)?;
                    match self.json {
                        true => documents.push(diff.to_json()),
                        false => texts.push(tree::diff(&diff, width)),
                    }
                }
                (_, Some(version)) if self.template => {
                    documents.push(message.default_json(version).map_err(Failure::failed)?);
                }
                (_, Some(version)) if self.json => {
                    let mut json = message.layout(version).map_err(Failure::failed)?.to_json();
                    json["history"] = tree::history_json(message, Some(version));
                    documents.push(json);
                }
                (_, None) if self.json => documents.push(tree::to_json(message)),
                (_, version) => texts.push(tree::text(message, version, width)),
            }
        }
        if documents.is_empty() {
            return output::print(&texts.join("\n"));
        }
        let one = documents.len() == 1;
        output::print_json(&if one { documents.remove(0) } else { Value::Array(documents) })
    }
}

/// The message of that name, or the two of the API of that name.
fn find(name: &str) -> Result<Vec<&'static MessageSpec>> {
    let spec = Spec::kafka();
    let unknown = match subject::message(name) {
        Ok(message) => return Ok(vec![message]),
        Err(unknown) => unknown,
    };
    let api = match spec.api_named(name) {
        Ok(api) => api,
        Err(api) if unknown.near().is_empty() && !api.near().is_empty() => return Err(api.into()),
        Err(_) => return Err(unknown.into()),
    };
    let pair = [format!("{}Request", api.name), format!("{}Response", api.name)];
    pair.iter().map(|name| Ok(spec.message(name)?)).collect()
}
