use std::io::IsTerminal as _;

use clap::Args;
use milena_schema::{ErrorSpec, Spec};
use serde_json::{Value, json};

use crate::failure::{Failure, Result};
use crate::mention::places_of_error;
use crate::output;
use crate::table::{Table, wrap};

const EXAMPLES: &str = "Examples:
  milena errors 3                                  what does error 3 mean
  milena errors NOT_LEADER_FOR_PARTITION           by name; names of earlier releases count too
  milena errors coordinator                        every code with this word in its name
  milena errors --json | jq -r '.[] | select(.retriable) | .name'

`retry` means that a retry can help, `refresh` that metadata or the coordinator should be looked up
first. Up to three codes are shown in full on a terminal, with the fields whose description names
them; --json has these fields too. Kafka keeps no list of which API returns which code.";

/// Explain the error codes of the protocol
///
/// Responses have a number in `errorCode`. This shows its name, its meaning, and whether a client should retry. There are
/// 138 codes, from -1 to 136.
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
            // A whole name means one code; any other word means the codes whose names contain it.
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
        // One line each for grep; on a terminal a few are shown in full.
        let width = output::terminal_width();
        let text = match std::io::stdout().is_terminal() && found.len() <= 3 {
            true => found.into_iter().map(|error| in_full(error, width)).collect::<Vec<_>>().join("\n"),
            false => table(&found, width),
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

/// One line for each code; where they are wider than `width`, the meaning is below.
fn table(errors: &[&ErrorSpec], width: usize) -> String {
    let start = |error: &ErrorSpec| {
        vec![error.code.to_string(), error.name.clone(), advice(error).to_owned(), error.added.clone()]
    };
    let mut table = Table::new(&[">CODE", "NAME", "ADVICE", "SINCE", "MEANING"]);
    errors.iter().for_each(|error| table.row([start(error), vec![error.doc.clone()]].concat()));
    let text = table.render();
    if text.lines().all(|line| line.chars().count() <= width) {
        return text;
    }
    let mut table = Table::new(&[">CODE", "NAME", "ADVICE", "SINCE"]);
    errors.iter().for_each(|error| table.row(start(error)));
    let text = table.render();
    let mut lines = text.lines();
    let mut out: Vec<String> = lines.by_ref().take(1).map(ToOwned::to_owned).collect();
    for (error, line) in errors.iter().zip(lines) {
        out.push(line.to_owned());
        out.extend(wrap(&error.doc, width.saturating_sub(6)).into_iter().map(|line| format!("      {line}")));
    }
    out.push(String::new());
    out.join("\n")
}

fn in_full(error: &ErrorSpec, width: usize) -> String {
    let mut text = format!("{} {}\n", error.code, error.name);
    for line in wrap(&error.doc, width.saturating_sub(2)) {
        text.push_str(&format!("  {line}\n"));
    }
    if !advice(error).is_empty() {
        text.push_str(&format!("  advice: {}\n", advice(error)));
    }
    text.push_str(&format!("  since Kafka {}", error.added));
    if let Some(was) = &error.was {
        text.push_str(&format!(", formerly {was}"));
    }
    text.push('\n');
    for place in places(error) {
        text.push_str(&format!("  named at {place}\n"));
    }
    text
}

/// The places in the spec that name the code. This is no list of all that can return it: Kafka has none.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_fit_80_columns_and_have_one_line_for_each_code_where_there_is_room() {
        let errors: Vec<&ErrorSpec> = Spec::kafka().errors.iter().collect();
        assert_eq!(table(&errors, usize::MAX).lines().count(), 1 + errors.len());
        let all = table(&errors, 80) + &errors.iter().map(|error| in_full(error, 80)).collect::<String>();
        for line in all.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
        for error in errors {
            assert!(all.contains(&format!("{} {}\n", error.code, error.name)));
        }
    }
}
