//! The table of results in `interop/README.md`.

use std::fmt::Write as _;
use std::fs;

use super::{Suite, Tally};
use crate::error::{Context, Error, Result};
use crate::place;

const BEGIN: &str = "<!-- suites -->\n";
const END: &str = "<!-- end of suites -->";

/// Writes the rows of the suites that ran, and keeps those of others.
pub(super) fn write(rows: &[(&Suite, Tally)]) -> Result<()> {
    let path = place::root().join("interop/README.md");
    let text = fs::read_to_string(&path).on(&path)?;
    let new = replaced(&text, &rows.iter().map(|(suite, tally)| (suite.title, row(suite, tally))).collect::<Vec<_>>())?;
    fs::write(&path, new).on(&path)
}

fn row(suite: &Suite, tally: &Tally) -> String {
    let reasons: Vec<String> = suite.expected.iter().map(|(name, why)| format!("`{name}`: {why}")).collect();
    let (passed, skipped, failed) = (tally.passed, tally.skipped, tally.failed.len());
    let why = if tally.expected == 0 { String::new() } else { reasons.join("; ") };
    format!("| {} | {passed} | {skipped} | {failed} | {} | {why} |", suite.title, tally.expected)
}

fn replaced(text: &str, rows: &[(&str, String)]) -> Result<String> {
    let parts = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?)));
    let (before, (table, after)) = parts.ok_or_else(|| Error::Other("interop/README.md has no table".to_owned()))?;
    let mut new = String::new();
    for line in table.lines() {
        let fresh = rows.iter().find(|(title, _)| line.starts_with(&format!("| {title} |")));
        let _ = writeln!(new, "{}", fresh.map_or(line, |(_, row)| row));
    }
    for (_, row) in rows.iter().filter(|(title, _)| !table.contains(&format!("| {title} |"))) {
        let _ = writeln!(new, "{row}");
    }
    Ok([before, BEGIN, &new, END, after].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_takes_the_place_of_its_old_one_and_others_stay() {
        let text = format!("before\n{BEGIN}| head |\n| a | 1 |\n| b | 2 |\n{END}\nafter\n");
        let rows = [("a", "| a | 3 |".to_owned()), ("c", "| c | 4 |".to_owned())];
        let wanted = format!("before\n{BEGIN}| head |\n| a | 3 |\n| b | 2 |\n| c | 4 |\n{END}\nafter\n");
        assert_eq!(replaced(&text, &rows).unwrap(), wanted);
        assert!(replaced("no table", &rows).is_err());
    }
}
