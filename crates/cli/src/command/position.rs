//! Places in a partition, as `--from` and `--to` name them, and where they are.

use std::str::FromStr;

use milena_client::{Client, Isolation, OffsetSpec, RangeOptions, Result, Start, Stop};

use crate::time;

/// Where to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// At a place that the client can look up.
    Start(Start),
    /// At the last records, so many of them.
    Last(u64),
}

/// Where to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum To {
    /// At the end as it is when reading begins.
    End,
    /// Never.
    Never,
    /// Before an offset.
    Offset(i64),
    /// Before the first record at or after a time.
    Time(i64),
}

impl FromStr for From {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "earliest" => return Ok(Self::Start(Start::EARLIEST)),
            "latest" => return Ok(Self::Start(Start::LATEST)),
            _ => {}
        }
        if let Some(count) = text.strip_prefix('-').filter(|count| is_number(count)) {
            return count.parse().map(Self::Last).map_err(|_| "there are not so many records".to_owned());
        }
        match place(text, "expected earliest, latest, an offset, -N for the last N records,")? {
            Place::Offset(offset) => Ok(Self::Start(Start::Offset(offset))),
            Place::Time(time) => Ok(Self::Start(Start::At(OffsetSpec::Timestamp(time)))),
        }
    }
}

impl FromStr for To {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "end" => return Ok(Self::End),
            "never" => return Ok(Self::Never),
            _ => {}
        }
        Ok(match place(text, "expected end, never, an offset,")? {
            Place::Offset(offset) => Self::Offset(offset),
            Place::Time(time) => Self::Time(time),
        })
    }
}

enum Place {
    Offset(i64),
    Time(i64),
}

fn place(text: &str, expected: &str) -> Result<Place, String> {
    if is_number(text) {
        return text.parse().map(Place::Offset).map_err(|_| format!("{text} is greater than any offset"));
    }
    if text.strip_prefix('-').is_some_and(is_number) {
        return Err(format!("{expected} or {}; offsets begin at 0", time::FORMS));
    }
    let wrong = |error: String| match error.strip_prefix("expected ") {
        Some(forms) => format!("{expected} or {forms}"),
        None => error,
    };
    time::parse(text).map(Place::Time).map_err(wrong)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit())
}

/// The part of a partition to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Where to begin.
    pub(crate) start: Start,
    /// How many records from there to pass over.
    pub(crate) skip: u64,
    /// Where to stop.
    pub(crate) stop: Stop,
}

/// Looks up the part of a partition between two places.
///
/// # Errors
/// The offsets cannot be looked up, or the records that `-N` counts cannot be read.
pub(crate) async fn part(
    client: &Client,
    topic: &str,
    partition: i32,
    (from, to): (From, To),
    options: &RangeOptions,
) -> Result<Part> {
    let isolation = options.fetch.isolation;
    let stop = match to {
        To::End => Stop::End,
        To::Never => Stop::Never,
        To::Offset(offset) => Stop::Offset(offset),
        To::Time(time) => match offset(client, topic, partition, OffsetSpec::Timestamp(time), isolation).await? {
            Some(offset) => Stop::Offset(offset),
            None => Stop::End,
        },
    };
    let count = match from {
        From::Start(start) => return Ok(Part { start, skip: 0, stop }),
        From::Last(count) => count,
    };
    let earliest = offset(client, topic, partition, OffsetSpec::Earliest, isolation).await?.unwrap_or_default();
    let latest = offset(client, topic, partition, OffsetSpec::Latest, isolation).await?.unwrap_or_default();
    let end = match stop {
        Stop::Offset(offset) => offset.min(latest),
        Stop::End | Stop::Never => latest,
    };
    // The same end for counting and for reading.
    let stop = if stop == Stop::Never { stop } else { Stop::Offset(end) };
    let (start, skip) = last(client, topic, partition, count, earliest..end, options).await?;
    Ok(Part { start: Start::Offset(start), skip, stop })
}

/// Where the last `count` records of a range of offsets begin: an offset, and how many records to pass over from there.
///
/// Offsets say little about how many records there are: markers of transactions have some, and compaction removes others.
/// So this counts, in steps back from the end that double until there are enough.
async fn last(
    client: &Client,
    topic: &str,
    partition: i32,
    count: u64,
    range: std::ops::Range<i64>,
    options: &RangeOptions,
) -> Result<(i64, u64)> {
    let (mut start, mut found) = (range.end, 0);
    let mut step = i64::try_from(count).unwrap_or(i64::MAX);
    while found < count && start > range.start {
        let end = start;
        start = end.saturating_sub(step).max(range.start);
        if start == range.start && count - found >= (end - start) as u64 {
            // Even if every offset has a record, all are wanted.
            return Ok((start, 0));
        }
        let (from, to) = (Start::Offset(start), Stop::Offset(end));
        let mut reader = client.fetch_range(topic, partition, from, to, options.clone()).await?;
        while reader.next().await?.is_some() {
            found += 1;
        }
        step = step.saturating_mul(2);
    }
    Ok((start, found.saturating_sub(count)))
}

async fn offset(
    client: &Client,
    topic: &str,
    partition: i32,
    spec: OffsetSpec,
    isolation: Isolation,
) -> Result<Option<i64>> {
    let found = client.list_offsets(&[(topic, partition, spec)], isolation).await.pop().transpose()?;
    Ok(found.flatten().map(|found| found.offset))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_have_many_names() {
        assert_eq!("17".parse(), Ok(From::Start(Start::Offset(17))));
        assert_eq!("-3".parse(), Ok(From::Last(3)));
        assert_eq!("earliest".parse(), Ok(From::Start(Start::EARLIEST)));
        assert_eq!("@5".parse(), Ok(From::Start(Start::At(OffsetSpec::Timestamp(5)))));
        assert_eq!("1970-01-02".parse(), Ok(From::Start(Start::At(OffsetSpec::Timestamp(86_400_000)))));
        assert!(matches!("-1h".parse(), Ok(From::Start(Start::At(OffsetSpec::Timestamp(1..))))));
        assert_eq!("end".parse(), Ok(To::End));
        assert_eq!("never".parse(), Ok(To::Never));
        assert_eq!("17".parse(), Ok(To::Offset(17)));
        assert_eq!("1970-01-02T01:00+01:00".parse(), Ok(To::Time(86_400_000)));
        assert!(matches!("-1h".parse(), Ok(To::Time(1..))));
    }

    #[test]
    fn a_place_that_is_none_is_refused() {
        let from = |text: &str| text.parse::<From>().unwrap_err();
        let to = |text: &str| text.parse::<To>().unwrap_err();
        assert!(
            from("soon").starts_with("expected earliest, latest, an offset, -N for the last N records, or a time: ")
        );
        assert!(to("soon").starts_with("expected end, never, an offset, or a time: "));
        assert!(to("-1").ends_with("offsets begin at 0"));
        // These are -2 and -1 on the wire, which mean the ends of the log.
        for text in ["@-2", "@-1", "1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.998Z"] {
            assert!(from(text).contains("before 1970"), "{text}");
            assert!(to(text).contains("before 1970"), "{text}");
        }
        assert!(from("99999999999999999999").contains("greater than any offset"));
    }
}
