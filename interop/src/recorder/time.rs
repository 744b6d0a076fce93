use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time in UTC as RFC 3339 has it, with microseconds.
pub(crate) fn now() -> String {
    format(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

fn format(since_1970: Duration) -> String {
    let seconds = since_1970.as_secs();
    let (year, month, day) = date(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:06}Z", since_1970.subsec_micros())
}

/// The day of the Gregorian calendar. Years are taken to begin in March, so that leap days come last.
fn date(days_since_1970: u64) -> (u64, u64, u64) {
    // Days between March 1st of year 0 and 1970, and in 400 years.
    let days = days_since_1970 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    // 153 days in the five months from March to July, and again from August to December.
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + later, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        // As `date -u -d @SECONDS` says.
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_399, "2000-02-28T23:59:59.000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000Z"),
        ] {
            assert_eq!(format(Duration::from_secs(seconds)), text);
        }
        assert!(format(Duration::from_micros(1_000_042)).ends_with("T00:00:01.000042Z"));
    }
}
