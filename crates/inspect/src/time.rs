//! Moments as text: RFC 3339 in UTC, to the microsecond.

use std::time::Duration;

const DAY: u64 = 86_400;

/// A moment since 1970, such as `2024-05-01T12:30:59.250000Z`. What is finer than a microsecond is left out.
///
/// ```
/// use std::time::Duration;
///
/// let moment = Duration::new(1_709_251_199, 250_001_999);
/// assert_eq!(milena_inspect::time::format(moment), "2024-02-29T23:59:59.250001Z");
/// ```
pub fn format(moment: Duration) -> String {
    let (year, month, day) = date((moment.as_secs() / DAY) as i64);
    format!("{year:04}-{month:02}-{day:02}T{}Z", of_day(moment))
}

/// The time of the day alone, such as `12:30:59.250000`.
pub(crate) fn of_day(moment: Duration) -> String {
    let (seconds, micros) = (moment.as_secs() % DAY, moment.subsec_micros());
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{hour:02}:{minute:02}:{second:02}.{micros:06}")
}

/// The moment that a text of that form names, with as many digits of a second as there are. `None` when it is no such
/// text, is of another time zone, or lies before 1970.
///
/// ```
/// use std::time::Duration;
///
/// assert_eq!(milena_inspect::time::parse("1970-01-02T00:00:00.5Z"), Some(Duration::from_millis(86_400_500)));
/// assert_eq!(milena_inspect::time::parse("yesterday"), None);
/// ```
pub fn parse(text: &str) -> Option<Duration> {
    let (date, time) = text.strip_suffix(['Z', 'z'])?.split_once(['T', 't', ' '])?;
    let [year, month, day] = numbers(date, '-')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(time, ':')?;
    let in_range = (1970..10_000).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    if !in_range || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    if fraction.is_empty() || fraction.len() > 9 || !fraction.bytes().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    let nanos = format!("{fraction:0<9}").parse().ok()?;
    // All are small, and the day is not before 1970.
    let seconds = days(year as i64, month as i64, day as i64) as u64 * DAY + hour * 3600 + minute * 60 + second;
    Some(Duration::new(seconds, nanos))
}

fn numbers(text: &str, separator: char) -> Option<[u64; 3]> {
    let mut parts = text.split(separator).map(|part| {
        let digits = !part.is_empty() && part.bytes().all(|digit| digit.is_ascii_digit());
        digits.then(|| part.parse().ok()).flatten()
    });
    let numbers = [parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some(numbers)
}

/// Days from 1970 to a date, given as year, month and day of the Gregorian calendar; below 0 for one before.
pub fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March here, so that the odd day comes last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The date so many days from 1970: year, month and day. The other way round than [`days`].
pub fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_date() {
        // Of `date -u -d @N +%FT%TZ`.
        let known = [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_399, "2000-02-28T23:59:59.000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000Z"),
            (253_402_300_799, "9999-12-31T23:59:59.000000Z"),
        ];
        for (seconds, text) in known {
            assert_eq!(format(Duration::from_secs(seconds)), text);
            assert_eq!(parse(text), Some(Duration::from_secs(seconds)));
        }
        assert!(format(Duration::from_micros(1_000_042)).ends_with("T00:00:01.000042Z"));
    }

    #[test]
    fn what_is_no_moment_is_none() {
        let texts = [
            "",
            "Z",
            "2024-05-01",
            "2024-05-01T12:30:00",
            "2024-05-01T12:30:00+02:00",
            "2024-13-01T00:00:00Z",
            "1969-12-31T23:59:59Z",
            "2024-05-01T24:00:00Z",
            "2024-05-01T12:30:00.Z",
            "2024-05-01T12:30:00.0000000001Z",
            "2024-05-01T-1:30:00Z",
            "2024-05-+1T12:30:00Z",
        ];
        for text in texts {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
