use std::fs;

use super::compare::Difference;
use crate::error::{Context, Error, Result};
use crate::place;

/// The rows of `interop/deviations.md`: differences that are meant.
#[derive(Debug)]
pub(super) struct Deviations(Vec<Row>);

#[derive(Debug)]
struct Row {
    api: String,
    path: String,
    kafka: String,
    milena: String,
    met: bool,
}

impl Deviations {
    pub(super) fn read() -> Result<Self> {
        let path = place::root().join("interop/deviations.md");
        Self::parse(&fs::read_to_string(&path).on(&path)?)
    }

    fn parse(text: &str) -> Result<Self> {
        let lines = text.lines().filter(|line| line.starts_with('|')).skip(2);
        let row = |line: &str| {
            let cells: Vec<String> =
                line.trim_matches('|').split('|').map(|cell| cell.trim().replace('`', "")).collect();
            match <[String; 5]>::try_from(cells) {
                Ok([api, path, kafka, milena, reason]) if !reason.is_empty() => {
                    Ok(Row { api, path, kafka, milena, met: false })
                }
                _ => Err(Error::Other(format!("deviations.md: five filled cells were expected in {line}"))),
            }
        };
        Ok(Self(lines.map(row).collect::<Result<_>>()?))
    }

    /// Whether a row allows this difference; it is met then.
    pub(super) fn cover(&mut self, api: &str, difference: &Difference) -> bool {
        let fits = |cell: &str, value: &serde_json::Value| {
            let shown = value.to_string();
            cell == "any" || cell == shown
        };
        let row = self.0.iter_mut().find(|row| {
            row.api == api
                && row.path == difference.path
                && fits(&row.kafka, &difference.kafka)
                && fits(&row.milena, &difference.milena)
        });
        row.map(|row| row.met = true).is_some()
    }

    /// The rows that no difference met.
    pub(super) fn unmet(&self) -> Vec<String> {
        self.0.iter().filter(|row| !row.met).map(|row| format!("{} {}", row.api, row.path)).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_covers_its_difference_only_and_is_met_by_it() {
        let text = "# x\n\n| API | field | Kafka | milena | reason |\n|---|---|---|---|---|\n| Fetch | `a/*/b` | `1` | any | so |\n";
        let mut rows = Deviations::parse(text).unwrap();
        let difference = |path: &str, kafka| Difference { path: path.into(), kafka: json!(kafka), milena: json!(2) };
        assert!(!rows.cover("Fetch", &difference("a/*/c", 1)));
        assert!(!rows.cover("Fetch", &difference("a/*/b", 3)));
        assert!(!rows.cover("Produce", &difference("a/*/b", 1)));
        assert_eq!(rows.unmet(), ["Fetch a/*/b"]);
        assert!(rows.cover("Fetch", &difference("a/*/b", 1)));
        assert!(rows.unmet().is_empty());
        assert!(Deviations::parse("| a |\n|-|\n| Fetch | x |").is_err());
    }

    #[test]
    fn the_table_can_be_read() {
        Deviations::read().unwrap();
    }
}
