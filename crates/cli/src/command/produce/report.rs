//! Reports lines that were not written.

use milena_client::Error;

use super::batch::{Fate, Lost};
use crate::failure::Failure;
use crate::output::size;

/// Most errors about single lines that are printed; the numbers of later ones are listed at the end.
const SHOWN: u64 = 20;

/// Most ranges of line numbers that are kept for that list.
const LISTED: usize = 1000;

/// Counts lines that were not written, and reports them on stderr.
#[derive(Debug, Default)]
pub(super) struct Report {
    refused: u64,
    in_doubt: u64,
    unwritten: u64,
    /// Refused lines without an error of their own: first and last of each range.
    unshown: Vec<(u64, u64)>,
    /// Whether the hint about the size of records was printed.
    hinted_size: bool,
    /// Whether the hint about lines in doubt was printed.
    hinted_doubt: bool,
}

impl Report {
    /// A line that is no record, or of a partition that is not there.
    pub(super) fn bad_line(&mut self, line: u64, what: &str) {
        self.refused += 1;
        self.show(&[line], Failure::failed(format!("line {line}: {what}")));
    }

    /// Lines that were sent, and not written or perhaps not.
    pub(super) fn lost(&mut self, topic: &str, partition: i32, lost: Lost) {
        let count = lost.lines.len() as u64;
        let (numbers, lines, error) = (&lost.lines, lines(&lost.lines), lost.error);
        match lost.fate {
            Fate::Refused => {
                self.refused += count;
                let failure = self.refusal(topic, &lines, error);
                self.show(numbers, failure);
            }
            Fate::InDoubt => {
                self.in_doubt += count;
                let preface = format!("{lines} may or may not be in {topic}-{partition}: ");
                let failure = Failure::from(error).preface(preface).hint(
                    "look for them with `milena consume` before sending them again; --resend sends such batches again, so \
                     that records may be there twice",
                );
                if self.hinted_doubt { failure.without_hint() } else { failure }.report();
                self.hinted_doubt = true;
            }
            Fate::Unwritten => {
                self.unwritten += count;
                Failure::from(error).preface(format!("{lines} not written to {topic}-{partition}: ")).report();
            }
        }
    }

    fn refusal(&mut self, topic: &str, lines: &str, error: Error) -> Failure {
        let (bytes, limit, setting) = match error {
            Error::RecordTooLarge { size, limit, setting, .. } => (size, limit, setting),
            // The index of the record in its batch means nothing to users.
            Error::RecordRefused { code, message, .. } => {
                let message = message.map(|message| format!(": {message}")).unwrap_or_default();
                return Failure::failed(format!("{lines}: {topic} refuses the record with {code}{message}"));
            }
            Error::RecordInvalid { cause, .. } => return Failure::failed(format!("{lines}: {cause}")),
            error => return Failure::from(error).preface(format!("{lines}: ")),
        };
        let limit = limit.map_or("less".to_owned(), size);
        let failure = Failure::failed(format!(
            "{lines}: too large for {topic}: a batch of this record alone has {}, and {setting} is {limit}",
            size(bytes)
        ));
        if std::mem::replace(&mut self.hinted_size, true) {
            return failure;
        }
        failure.hint("raise max.message.bytes of the topic, or make records smaller with --codec zstd")
    }

    /// Whether writing should go on.
    pub(super) fn goes_on(&self) -> bool {
        self.unwritten == 0
    }

    /// The failure that sums up, if there is one. `read` lines were read; `all` says whether there are no more.
    pub(super) fn failure(&self, read: u64, all: bool) -> Option<Failure> {
        let parts = [(self.refused + self.unwritten, "not written"), (self.in_doubt, "in doubt")];
        let parts: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        if parts.is_empty() {
            return None;
        }
        if !self.unshown.is_empty() {
            let more = if self.unshown.len() < LISTED { "" } else { " and more" };
            eprintln!("note: also refused: {}{more}", in_words(&self.unshown));
        }
        let (first, rest) = if all { ("", "") } else { ("the first ", "; nothing was sent of the lines after these") };
        let lines = if read == 1 { "line" } else { "lines" };
        Some(Failure::failed(format!("of {first}{read} {lines}: {}{rest}", parts.join(", "))))
    }

    fn show(&mut self, numbers: &[u64], failure: Failure) {
        if self.refused <= SHOWN {
            failure.report();
            return;
        }
        for number in numbers {
            if self.unshown.len() < LISTED {
                add(&mut self.unshown, *number);
            }
        }
    }
}

/// Numbers of lines, in words.
fn lines(numbers: &[u64]) -> String {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    let mut ranges = Vec::new();
    numbers.into_iter().for_each(|number| add(&mut ranges, number));
    in_words(&ranges)
}

/// Adds a number to ranges, to the last one if it comes next.
fn add(ranges: &mut Vec<(u64, u64)>, number: u64) {
    match ranges.last_mut() {
        Some((_, last)) if *last + 1 == number => *last = number,
        _ => ranges.push((number, number)),
    }
}

/// `line 3`, or `lines 1-5, 7`.
fn in_words(ranges: &[(u64, u64)]) -> String {
    let text = |(first, last): &(u64, u64)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    let texts: Vec<String> = ranges.iter().map(text).collect();
    let word = if matches!(ranges, [(first, last)] if first == last) { "line" } else { "lines" };
    format!("{word} {}", texts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_named_as_ranges() {
        assert_eq!(lines(&[3]), "line 3");
        assert_eq!(lines(&[7, 1, 2, 3, 9, 10]), "lines 1-3, 7, 9-10");
    }

    #[test]
    fn the_sum_names_what_is_lost_and_what_is_in_doubt() {
        let mut report = Report::default();
        assert!(report.failure(5, true).is_none());
        (report.refused, report.in_doubt) = (2, 3);
        assert_eq!(report.failure(10, true).unwrap().message(), "of 10 lines: 2 not written, 3 in doubt");
        report.unwritten = 1;
        assert_eq!(
            report.failure(10, false).unwrap().message(),
            "of the first 10 lines: 3 not written, 3 in doubt; nothing was sent of the lines after these"
        );
    }
}
