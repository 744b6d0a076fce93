//! What to tell about lines that were not written.

use milena_client::{Client, Target};
use milena_messages::describe_configs::request::DescribeConfigsResource;
use milena_messages::{ByteString, DescribeConfigsRequest};

use super::batch::{Fate, Lost, is_too_large};
use crate::failure::Failure;
use crate::output::size;

/// Most errors about single lines that are printed.
const SHOWN: u64 = 20;

/// The number of a topic in DescribeConfigs.
const TOPIC: i8 = 2;

/// Counts lines that were not written, and tells about them on stderr.
#[derive(Debug, Default)]
pub(super) struct Report {
    refused: u64,
    in_doubt: u64,
    unwritten: u64,
    /// The limit of the topic, once it was looked up.
    limit: Option<Option<String>>,
    hint_of_size: bool,
    hint_of_doubt: bool,
}

impl Report {
    /// A line that is no record, or of a partition that is not there.
    pub(super) fn bad_line(&mut self, line: u64, what: &str) {
        self.refused += 1;
        self.show(Failure::failed(format!("line {line}: {what}")));
    }

    /// Lines that were sent, and not written or perhaps not.
    pub(super) async fn lost(&mut self, client: &Client, topic: &str, partition: i32, lost: Lost) {
        let count = lost.lines.len() as u64;
        let lines = lines(&lost.lines);
        let error = &lost.error;
        match lost.fate {
            Fate::Refused if is_too_large(error) => {
                self.refused += count;
                let bytes = lost.bytes.map(|bytes| format!(" of {}", size(bytes))).unwrap_or_default();
                let limit = match self.limit(client, topic).await {
                    Some(limit) => format!("max.message.bytes is {limit}"),
                    None => "its max.message.bytes is less".to_owned(),
                };
                let failure = Failure::failed(format!("{lines}: a record{bytes} is too large for {topic}: {limit}"));
                let hint = "raise max.message.bytes of the topic, or try --codec zstd to make records smaller";
                self.show(if self.hint_of_size { failure } else { failure.hint(hint) });
                self.hint_of_size = true;
            }
            Fate::Refused => {
                self.refused += count;
                self.show(Failure::from(error.clone()).preface(format!("{lines}: ")));
            }
            Fate::InDoubt => {
                self.in_doubt += count;
                let failure = Failure::failed(format!("{lines} may or may not be in {topic}-{partition}: {error}"));
                let hint = "look for them with `milena consume` before sending them again; --resend sends such batches \
                            again, so that records may be there twice";
                if self.hint_of_doubt { failure } else { failure.hint(hint) }.report();
                self.hint_of_doubt = true;
            }
            Fate::Unwritten => {
                self.unwritten += count;
                let preface = format!("{lines} not written to {topic}-{partition}: ");
                Failure::from(error.clone()).preface(preface).report();
            }
        }
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
        let (first, rest) = if all { ("", "") } else { ("the first ", "; nothing was sent of the lines after these") };
        let lines = if read == 1 { "line" } else { "lines" };
        Some(Failure::failed(format!("of {first}{read} {lines}: {}{rest}", parts.join(", "))))
    }

    fn show(&self, failure: Failure) {
        match self.refused {
            0..=SHOWN => {
                failure.report();
            }
            count if count == SHOWN + 1 => eprintln!("note: there are more such lines"),
            _ => {}
        }
    }

    /// The `max.message.bytes` of the topic, as far as a broker says it.
    async fn limit(&mut self, client: &Client, topic: &str) -> Option<&str> {
        if self.limit.is_none() {
            let resource = DescribeConfigsResource {
                resource_type: TOPIC,
                resource_name: ByteString::from(topic),
                configuration_keys: Some(vec![ByteString::from("max.message.bytes")]),
                ..Default::default()
            };
            let request = DescribeConfigsRequest { resources: vec![resource], ..Default::default() };
            // It only makes an error clearer, so an error here is none.
            let response = client.send(Target::Any, &request).await.unwrap_or_default();
            let mut configs = response.results.into_iter().flat_map(|result| result.configs);
            let limit = configs.find(|config| &*config.name == "max.message.bytes").and_then(|config| config.value);
            self.limit = Some(limit.map(String::from));
        }
        self.limit.as_ref()?.as_deref()
    }
}

/// Numbers of lines, in words: `line 3`, or `lines 1-5, 7`.
fn lines(numbers: &[u64]) -> String {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let text = |(first, last): &(u64, u64)| if first == last { first.to_string() } else { format!("{first}-{last}") };
    let texts: Vec<String> = ranges.iter().map(text).collect();
    let word = if matches!(ranges.as_slice(), [(first, last)] if first == last) { "line" } else { "lines" };
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
