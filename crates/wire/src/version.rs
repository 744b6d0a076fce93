use std::fmt;
use std::str::FromStr;

/// A range of versions, both ends included. Text is `3`, `0-3`, `5+` or `none`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct VersionRange {
    min: i16,
    max: i16,
}

impl VersionRange {
    /// No version at all.
    pub const NONE: Self = Self { min: 0, max: -1 };
    /// Every version.
    pub const ALL: Self = Self { min: 0, max: i16::MAX };

    /// `min` to `max`; none when `max` is below `min`.
    pub const fn new(min: i16, max: i16) -> Self {
        if max < min { Self::NONE } else { Self { min, max } }
    }

    /// `min` and everything above.
    pub const fn from(min: i16) -> Self {
        Self { min, max: i16::MAX }
    }

    /// The lowest version; 0 for [`VersionRange::NONE`].
    pub const fn min(self) -> i16 {
        self.min
    }

    /// The highest version; `i16::MAX` when open, -1 for [`VersionRange::NONE`].
    pub const fn max(self) -> i16 {
        self.max
    }

    /// Whether the range holds no version.
    pub const fn is_empty(self) -> bool {
        self.max < self.min
    }

    /// Whether the version is in the range.
    pub const fn contains(self, version: i16) -> bool {
        self.min <= version && version <= self.max
    }

    /// Whether every version of `other` is in the range.
    pub const fn covers(self, other: Self) -> bool {
        other.is_empty() || (self.contains(other.min) && self.contains(other.max))
    }

    /// The versions in both ranges.
    #[must_use]
    pub const fn intersect(self, other: Self) -> Self {
        let min = if self.min > other.min { self.min } else { other.min };
        let max = if self.max < other.max { self.max } else { other.max };
        Self::new(min, max)
    }

    /// The highest version in both ranges, which is the one two peers should speak.
    pub const fn highest_common(self, other: Self) -> Option<i16> {
        let both = self.intersect(other);
        if both.is_empty() { None } else { Some(both.max) }
    }

    /// The versions, lowest first.
    pub fn iter(self) -> std::ops::RangeInclusive<i16> {
        self.min..=self.max
    }
}

impl fmt::Display for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match (self.min, self.max) {
            (min, max) if max < min => "none".to_owned(),
            (min, i16::MAX) => format!("{min}+"),
            (min, max) if min == max => min.to_string(),
            (min, max) => format!("{min}-{max}"),
        };
        f.pad(&text)
    }
}

impl fmt::Debug for VersionRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is not a version range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a version range: N, N-M, N+ or none expected")]
pub struct ParseVersionRangeError;

impl FromStr for VersionRange {
    type Err = ParseVersionRangeError;

    fn from_str(text: &str) -> Result<Self, ParseVersionRangeError> {
        let number = |text: &str| match text.parse::<i16>() {
            Ok(number) if number >= 0 && text.bytes().all(|b| b.is_ascii_digit()) => Ok(number),
            _ => Err(ParseVersionRangeError),
        };
        if text == "none" {
            return Ok(Self::NONE);
        }
        if let Some(min) = text.strip_suffix('+') {
            return Ok(Self::from(number(min)?));
        }
        match text.split_once('-') {
            Some((min, max)) => {
                let (min, max) = (number(min)?, number(max)?);
                if max < min { Err(ParseVersionRangeError) } else { Ok(Self::new(min, max)) }
            }
            None => number(text).map(|version| Self::new(version, version)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_ranges_agree() {
        for (text, min, max) in [("3", 3, 3), ("0-3", 0, 3), ("5+", 5, i16::MAX), ("none", 0, -1)] {
            let range: VersionRange = text.parse().unwrap();
            assert_eq!((range.min(), range.max(), range.to_string().as_str()), (min, max, text));
        }
        for text in ["", "-", "-1", "3-1", "1+2", "a", "+1", "1-", "99999"] {
            assert_eq!(text.parse::<VersionRange>(), Err(ParseVersionRangeError), "{text}");
        }
    }

    #[test]
    fn the_highest_common_version_is_in_both() {
        assert_eq!(VersionRange::new(0, 13).highest_common(VersionRange::new(3, 11)), Some(11));
        assert_eq!(VersionRange::new(0, 2).highest_common(VersionRange::from(3)), None);
        assert!(VersionRange::ALL.covers(VersionRange::NONE));
        assert!(!VersionRange::NONE.covers(VersionRange::new(0, 0)));
    }
}
