use std::path::Path;

use crate::Error;
use crate::check::Difference;

/// One row of `deviations.md`: a difference that is meant.
#[derive(Clone, Debug)]
pub struct Deviation {
    /// Its name.
    pub id: String,
    /// Schema name of the message, or `*`.
    pub message: String,
    /// Kinds of vectors, or `*`.
    pub kinds: String,
    /// `typed`, `schema` or `both`.
    pub codec: String,
    /// What is found, as [`Found::name`](crate::Found::name) says it.
    pub found: String,
    /// Text that the detail of the difference has to contain; may be empty.
    pub detail: String,
    /// `milena` or `Kafka`.
    pub stricter: String,
    /// Why.
    pub reason: String,
}

impl Deviation {
    fn covers(&self, difference: &Difference) -> bool {
        (self.message == "*" || self.message == difference.message)
            && (self.kinds == "*" || self.kinds.split(", ").any(|kind| kind == difference.kind))
            && (self.codec == "both" || self.codec == difference.codec.name())
            && self.found == difference.found.name()
            && difference.detail.contains(&self.detail)
    }
}

/// All rows of `deviations.md`.
#[derive(Clone, Debug, Default)]
pub struct Deviations(pub Vec<Deviation>);

impl Deviations {
    /// Reads the table from a file of Markdown: every row whose first cell is a number after `D`.
    ///
    /// # Errors
    /// The file cannot be read, or a row does not have eight cells.
    pub fn read(file: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(file).map_err(|error| Error::new(file.display(), error))?;
        Self::parse(&text).map_err(|line| Error::new(format!("{}:{line}", file.display()), "eight cells expected"))
    }

    fn parse(text: &str) -> Result<Self, usize> {
        let mut rows = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let Some(line) = line.strip_prefix("| D") else { continue };
            let cells: Vec<&str> = line.trim_end().trim_end_matches('|').split(" | ").map(str::trim).collect();
            let [id, message, kinds, codec, found, detail, stricter, reason] = cells[..] else {
                return Err(number + 1);
            };
            rows.push(Deviation {
                id: format!("D{id}"),
                message: message.to_owned(),
                kinds: kinds.to_owned(),
                codec: codec.to_owned(),
                found: found.to_owned(),
                detail: detail.trim_matches('`').to_owned(),
                stricter: stricter.to_owned(),
                reason: reason.to_owned(),
            });
        }
        Ok(Self(rows))
    }

    /// The index of the first row that covers a difference.
    pub fn position(&self, difference: &Difference) -> Option<usize> {
        self.0.iter().position(|row| row.covers(difference))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Codec, Found};

    const TABLE: &str = "\
# Text

| id | message | vectors | codec | difference | detail | stricter | reason |
|---|---|---|---|---|---|---|---|
| D1 | * | input, mutant | both | reads | `Runtime` | Kafka | So. |
| D2 | FetchRequest | * | schema | reads |  | Kafka | So. |
";

    #[test]
    fn a_row_covers_what_all_its_cells_cover() {
        let rows = Deviations::parse(TABLE).unwrap();
        let mut difference = Difference {
            message: "FetchRequest".to_owned(),
            version: 4,
            kind: "mutant",
            codec: Codec::Schema,
            found: Found::Reads,
            detail: "RuntimeException".to_owned(),
            input: String::new(),
        };
        assert_eq!(rows.position(&difference), Some(0));
        difference.kind = "value";
        assert_eq!(rows.position(&difference), Some(1));
        difference.codec = Codec::Typed;
        assert_eq!(rows.position(&difference), None);
        difference.kind = "input";
        assert_eq!(rows.position(&difference), Some(0));
        difference.detail = "BufferUnderflowException".to_owned();
        assert_eq!(rows.position(&difference), None);
    }

    #[test]
    fn a_row_with_a_cell_too_few_is_named_by_its_line() {
        assert_eq!(Deviations::parse("\n| D1 | * | * | both | reads | Kafka | So. |\n").unwrap_err(), 2);
    }
}
