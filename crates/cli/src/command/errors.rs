use std::io::IsTerminal as _;

use clap::Args;
use milena_schema::{ErrorSpec, Spec};
use serde_json::{Value, json};

use crate::failure::{Failure, Result};
use crate::mention::places_of_error;
use crate::output;
use crate::table::Table;

const EXAMPLES: &str = "Examples:
  milena errors 3                                  what does error 3 mean
  milena errors NOT_LEADER_FOR_PARTITION           by name; names of earlier releases count too
  milena errors coordinator                        every code with this word in its name
  milena errors --json | jq -r '.[] | select(.retriable) | .name'

`retry` means that trying again can help, `refresh` that metadata or the coordinator should be
looked up first. On a terminal, up to three codes are told in full, with the fields whose
description names them; --json has that too. Kafka keeps no list of which API may answer with which.";

/// Explain the error codes of the protocol
///
/// Answers carry a number in `errorCode`, here with its name, what it means, and whether a client should try again. There
/// are 138 of them, from -1 to 136.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Errors {
    /// Only these codes: a number, a name, or a part of names
    #[arg(value_name = "CODE", allow_negative_numbers = true)]
    codes: Vec<String>,

    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

impl Errors {
    pub(crate) fn run(self) -> Result {
        let spec = Spec::kafka();
        let mut found: Vec<&ErrorSpec> = Vec::new();
        for wanted in &self.codes {
            // A whole name means one code; any other word, those that have it inside.
            let unknown = match spec.error_named(wanted) {
                Ok(error) => {
                    found.push(error);
                    continue;
                }
                Err(unknown) => unknown,
            };
            let part = wanted.to_uppercase().replace('-', "_");
            let before = found.len();
            if wanted.parse::<i64>().is_err() && !part.is_empty() {
                found.extend(spec.errors.iter().filter(|error| error.name.contains(&part)));
            }
            if found.len() == before {
                return Err(Failure::from(unknown).hint("`milena errors` lists them all"));
            }
        }
        if self.codes.is_empty() {
            found = spec.errors.iter().collect();
        }
        if self.json {
            return output::print_json(&found.into_iter().map(to_json).collect());
        }
        // One line each for grep; on a terminal a few are told in full.
        let text = match std::io::stdout().is_terminal() && found.len() <= 3 {
            true => found.into_iter().map(in_full).collect::<Vec<_>>().join("\n"),
            false => table(&found),
        };
        output::print(&text)
    }
}

fn advice(error: &ErrorSpec) -> &'static str {
    match (error.retriable, error.refresh) {
        (true, true) => "retry, refresh",
        (true, false) => "retry",
        (false, true) => "refresh",
        (false, false) => "",
    }
}

fn table(errors: &[&ErrorSpec]) -> String {
    let mut table = Table::new(&[">CODE", "NAME", "ADVICE", "SINCE", "MEANING"]);
    for error in errors {
        table.row(vec![
            error.code.to_string(),
            error.name.clone(),
            advice(error).to_owned(),
            error.added.clone(),
            error.doc.clone(),
        ]);
    }
    table.render()
}

fn in_full(error: &ErrorSpec) -> String {
    let mut text = format!("{} {}\n  {}\n", error.code, error.name, error.doc);
    if !advice(error).is_empty() {
        text.push_str(&format!("  advice: {}\n", advice(error)));
    }
    text.push_str(&format!("  since Kafka {}", error.added));
    if let Some(was) = &error.was {
        text.push_str(&format!(", once named {was}"));
    }
    text.push('\n');
    for place in places(error) {
        text.push_str(&format!("  named at {place}\n"));
    }
    text
}

/// Where the spec speaks of the code. No list of all that can answer with it: Kafka has none.
fn places(error: &ErrorSpec) -> Vec<String> {
    let places = places_of_error(Spec::kafka(), error.code).into_iter();
    places
        .map(|(message, path)| if path.is_empty() { message.name.clone() } else { format!("{}.{path}", message.name) })
        .collect()
}

fn to_json(error: &ErrorSpec) -> Value {
    json!({
        "code": error.code,
        "name": error.name,
        "retriable": error.retriable,
        "refresh": error.refresh,
        "added": error.added,
        "was": error.was,
        "namedAt": places(error),
        "doc": error.doc,
    })
}
