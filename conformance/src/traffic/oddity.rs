use std::path::Path;

use crate::Error;
use crate::traffic::check::Strange;

/// One row of `traffic/oddities.md`: what a client or a broker does that is not as it could be, and why it is so.
#[derive(Clone, Debug)]
pub struct Oddity {
    /// Its name.
    pub id: String,
    /// How the name of the client begins, or `*`.
    pub client: String,
    /// Schema name of the message.
    pub message: String,
    /// Its versions, with commas, or `*`.
    pub versions: String,
    /// What is strange, as [`Strange::what`] says it.
    pub what: String,
    /// Why.
    pub reason: String,
}

impl Oddity {
    fn covers(&self, strange: &Strange) -> bool {
        (self.client == "*" || strange.client.starts_with(&self.client))
            && self.message == strange.message
            && (self.versions == "*" || self.versions.split(", ").any(|one| one == strange.version.to_string()))
            && self.what == strange.what
    }
}

/// All rows of `traffic/oddities.md`.
#[derive(Clone, Debug, Default)]
pub struct Oddities(pub Vec<Oddity>);

impl Oddities {
    /// Reads the table from a file of Markdown: every row whose first cell is a number after `T`.
    ///
    /// # Errors
    /// The file cannot be read, or a row does not have six cells.
    pub fn read(file: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(file).map_err(|error| Error::new(file.display(), error))?;
        Self::parse(&text).map_err(|line| Error::new(format!("{}:{line}", file.display()), "six cells expected"))
    }

    fn parse(text: &str) -> Result<Self, usize> {
        let mut rows = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let Some(line) = line.strip_prefix("| T") else { continue };
            let cells: Vec<&str> = line.trim_end().trim_end_matches('|').split(" | ").map(str::trim).collect();
            let [id, client, message, versions, what, reason] = cells[..] else { return Err(number + 1) };
            rows.push(Oddity {
                id: format!("T{id}"),
                client: client.to_owned(),
                message: message.to_owned(),
                versions: versions.to_owned(),
                what: what.to_owned(),
                reason: reason.to_owned(),
            });
        }
        Ok(Self(rows))
    }

    /// The index of the first row that covers something strange.
    pub fn position(&self, strange: &Strange) -> Option<usize> {
        self.0.iter().position(|row| row.covers(strange))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_covers_what_all_its_cells_cover() {
        let table = "| T1 | lib | MetadataRequest | 9, 13 | 3 bytes left over | So. |\n";
        let rows = Oddities::parse(table).unwrap();
        let strange = Strange {
            client: "librdkafka-2".to_owned(),
            broker: "4.4.0".to_owned(),
            message: "MetadataRequest".to_owned(),
            version: 13,
            what: "3 bytes left over".to_owned(),
            detail: String::new(),
        };
        assert_eq!(rows.position(&strange), Some(0));
        assert_eq!(rows.position(&Strange { version: 1, ..strange.clone() }), None);
        assert_eq!(rows.position(&Strange { client: "kafkajs-2".to_owned(), ..strange.clone() }), None);
        assert_eq!(rows.position(&Strange { message: "FetchRequest".to_owned(), ..strange.clone() }), None);
        assert_eq!(rows.position(&Strange { what: "2 bytes left over".to_owned(), ..strange }), None);
        assert_eq!(Oddities::parse("\n| T1 | lib | x | So. |\n").unwrap_err(), 2);
    }
}
