//! Times as people write them, and as Kafka stores them: milliseconds since 1970-01-01 UTC.

use std::time::{SystemTime, UNIX_EPOCH};

use milena_inspect::time::{date, days};

/// What [`parse`] accepts, for help and errors.
pub(crate) const FORMS: &str = "a time: 2024-05-01, 2024-05-01T12:30:59.250Z, 2024-05-01T14:30+02:00, -1h (an hour ago), now, or @ and milliseconds";

const DAY: i64 = 86_400_000;

/// `2024-05-01`, `2024-05-01T12:30`, `2024-05-01T12:30:59.250Z`, the same with a zone such as `+02:00`; `now`; `-90s`,
/// `-30m`, `-1h`, `-2d` or `-1w` for that long ago; or `@` and milliseconds since 1970. Without a zone a time is UTC.
///
/// # Errors
/// Why the text is no time, or why Kafka cannot look it up: negative timestamps are not times on the wire.
pub(crate) fn parse(text: &str) -> Result<i64, String> {
    let millis = match text.strip_prefix('@') {
        Some(millis) => millis.parse().map_err(|_| format!("`{millis}` is not a number of milliseconds since 1970"))?,
        None if text == "now" => now(),
        None => match ago(text) {
            Some(before) => now().checked_sub(before?).ok_or("this is too long ago")?,
            None => moment(text).ok_or_else(|| format!("expected {FORMS}"))?,
        },
    };
    match millis {
        0.. => Ok(millis),
        _ => Err("this is before 1970, where Kafka's timestamps begin".to_owned()),
    }
}

/// Milliseconds since 1970, by the clock of this machine.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// Milliseconds of a text such as `-1h`; `None` for a text of another form, such as `-10`.
fn ago(text: &str) -> Option<Result<i64, String>> {
    let text = text.strip_prefix('-')?;
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let unit = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => DAY,
        "w" => 7 * DAY,
        _ => return None,
    };
    let number: i64 = number.parse().ok()?;
    Some(number.checked_mul(unit).ok_or_else(|| "this is too long ago".to_owned()))
}

/// A date with or without a time of day, in UTC or with a zone.
fn moment(text: &str) -> Option<i64> {
    let (date_text, time) = text.split_once(['T', 't', ' ']).unwrap_or((text, ""));
    let mut parts = date_text.splitn(3, '-');
    let year = number(parts.next()?, 4)?;
    let (month, day) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let number_of_day = days(year, month, day);
    // A day that the month does not have would be one of the next month.
    if !(1..=12).contains(&month) || date(number_of_day) != (year, month, day) {
        return None;
    }
    let mut millis = number_of_day * DAY;
    if time.is_empty() {
        return (text.len() == date_text.len()).then_some(millis);
    }
    let (time, zone) = match time.find(['Z', 'z', '+', '-']) {
        Some(at) => (&time[..at], offset(&time[at..])?),
        None => (time, 0),
    };
    let mut parts = time.splitn(3, ':');
    let (hour, minute) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let (second, fraction) = match parts.next() {
        None => (0, 0),
        Some(seconds) => {
            let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
            let digits = !fraction.is_empty() && fraction.bytes().all(|digit| digit.is_ascii_digit());
            let millis = digits.then(|| format!("{fraction:0<3}"))?;
            (number(whole, 2)?, number(&millis[..3], 3)?)
        }
    };
    // A leap second counts as the first of the next minute.
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    millis += hour * 3_600_000 + minute * 60_000 + second * 1000 + fraction;
    Some(millis - zone)
}

/// Milliseconds that a zone is ahead of UTC: `Z`, `+02:00`, `+0200` or `+02`.
fn offset(zone: &str) -> Option<i64> {
    if matches!(zone, "Z" | "z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let digits = zone.get(1..)?;
    let (hours, minutes) = match (digits.split_once(':'), digits.len()) {
        (Some(both), _) => both,
        (None, 4) => (digits.get(..2)?, digits.get(2..)?),
        (None, _) => (digits, "00"),
    };
    let (hours, minutes) = (number(hours, 2)?, number(minutes, 2)?);
    (hours <= 18 && minutes <= 59).then_some(sign * (hours * 3_600_000 + minutes * 60_000))
}

/// A number of at most so many digits, and nothing else.
fn number(text: &str, digits: usize) -> Option<i64> {
    let valid = (1..=digits).contains(&text.len()) && text.bytes().all(|digit| digit.is_ascii_digit());
    valid.then(|| text.parse().ok()).flatten()
}

/// `2024-05-01T12:30:59.250Z`.
pub(crate) fn format(millis: i64) -> String {
    let (day, rest) = (millis.div_euclid(DAY), millis.rem_euclid(DAY));
    let (year, month, day) = date(day);
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", rest % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_both_ways() {
        // The figures are from `date -u +%s`.
        assert_eq!(parse("1970-01-01"), Ok(0));
        assert_eq!(parse("2024-02-29T23:59:59Z"), Ok(1_709_251_199_000));
        assert_eq!(parse("2024-02-29 23:59"), Ok(1_709_251_140_000));
        assert_eq!(parse("2024-02-29T23:59:59.2507Z"), Ok(1_709_251_199_250));
        assert_eq!(parse("@17"), Ok(17));
        assert_eq!(format(1_709_251_199_250), "2024-02-29T23:59:59.250Z");
        for day in (-200_000..200_000).step_by(97) {
            let (year, month, of_month) = date(day);
            assert_eq!(days(year, month, of_month), day);
        }
    }

    #[test]
    fn a_zone_is_subtracted() {
        // `date -u -d '2024-05-01T14:30:00+02:00' +%s` and the like.
        for text in [
            "2024-05-01T14:30:00+02:00",
            "2024-05-01T14:30+0200",
            "2024-05-01 14:30+02",
            "2024-05-01T09:00:00.000-03:30",
            "2024-05-02T02:30+14",
        ] {
            assert_eq!(parse(text), Ok(1_714_566_600_000), "{text}");
        }
        assert_eq!(parse("1970-01-01T01:00+01:00"), Ok(0));
    }

    #[test]
    fn a_time_may_be_relative() {
        for (text, before) in [("now", 0), ("-0ms", 0), ("-90s", 90_000), ("-1h", 3_600_000), ("-2d", 2 * DAY)] {
            let (earliest, found, latest) = (now() - before, parse(text).unwrap(), now() - before);
            assert!((earliest..=latest).contains(&found), "{text}");
        }
        assert_eq!(ago("-1w"), Some(Ok(7 * DAY)));
        assert_eq!(ago("-10"), None);
        assert!(parse("-99999999999999999h").is_err());
    }

    #[test]
    fn a_time_before_1970_is_refused() {
        for text in ["1969-12-31 23:59", "1970-01-01T00:00+01:00", "@-1", "@-2", "@-5", "-60000d", "0000-01-01"] {
            let error = parse(text).unwrap_err();
            assert!(error.contains("before 1970"), "{text}: {error}");
        }
    }

    #[test]
    fn a_text_that_is_no_time_is_refused() {
        for text in [
            "",
            "yesterday",
            "2024-13-01",
            "2024-02-30",
            "2023-02-29",
            "2024-05-01T25:00",
            "2024-05-01T",
            "2024-05",
            "@",
            "@1.5",
            "2024-05-01T12",
            "2024-05-01T12:30+24:00",
            "2024-05-01T12:30+02:99",
            "2024-05-01T12:30:5e1",
            "+2024-05-01",
            "-h",
        ] {
            let error = parse(text).unwrap_err();
            assert!(!error.contains("before 1970"), "{text}: {error}");
        }
    }
}
