//! Times as people write them, in UTC, and as Kafka has them: milliseconds since 1970.

use milena_inspect::time::{date, days};

/// `2024-05-01`, `2024-05-01T12:30`, `2024-05-01T12:30:59.250Z`, or `@` and milliseconds.
pub(crate) fn parse(text: &str) -> Option<i64> {
    if let Some(millis) = text.strip_prefix('@') {
        return millis.parse().ok();
    }
    let (date, time) = text.split_once(['T', ' ']).unwrap_or((text, ""));
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    if !(0..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let mut millis = days(year, month, day) * 86_400_000;
    let time = time.strip_suffix('Z').unwrap_or(time);
    if !time.is_empty() {
        let mut parts = time.splitn(3, ':');
        let hour: i64 = parts.next()?.parse().ok().filter(|hour| (0..24).contains(hour))?;
        let minute: i64 = parts.next()?.parse().ok().filter(|minute| (0..60).contains(minute))?;
        let second: f64 = parts.next().unwrap_or("0").parse().ok().filter(|second| (0.0..61.0).contains(second))?;
        millis += hour * 3_600_000 + minute * 60_000 + (second * 1000.0).round() as i64;
    }
    Some(millis)
}

/// `2024-05-01T12:30:59.250Z`.
pub(crate) fn format(millis: i64) -> String {
    let (day, rest) = (millis.div_euclid(86_400_000), millis.rem_euclid(86_400_000));
    let (year, month, day) = date(day);
    let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", rest % 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_both_ways() {
        // The figures are of `date -u +%s`.
        assert_eq!(parse("1970-01-01"), Some(0));
        assert_eq!(parse("2024-02-29T23:59:59Z"), Some(1_709_251_199_000));
        assert_eq!(parse("1969-12-31 23:59"), Some(-60_000));
        assert_eq!(parse("@17"), Some(17));
        assert_eq!(format(1_709_251_199_250), "2024-02-29T23:59:59.250Z");
        for day in (-200_000..200_000).step_by(97) {
            let (year, month, of_month) = date(day);
            assert_eq!(days(year, month, of_month), day);
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in ["", "yesterday", "2024-13-01", "2024-05-01T25:00", "2024-05", "@", "2024-05-01T12"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
