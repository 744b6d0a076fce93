//! What a setting of a topic, group or subscription of client metrics is, and which values it takes.

use std::borrow::Cow;

/// What values a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Bool,
    /// From the first to the second.
    Int(i64, i64),
    /// An integer that is at least the first, and within the limits of the brokers, the second and the third.
    Limited(i64, i64, i64),
    /// At least that.
    Long(i64),
    /// From 0 to 1.
    Ratio,
    /// From 1 to 9, or -1.
    GzipLevel,
    OneOf(&'static [&'static str]),
    /// Any number of them, with commas between.
    ListOf(&'static [&'static str]),
    /// Any words with commas between.
    List,
    /// `*`, or pairs of partition and broker.
    Replicas,
    /// `earliest`, `latest`, or `by_duration:` with a duration.
    OffsetReset,
    Text,
}

impl Kind {
    /// The number of DescribeConfigs.
    pub(crate) fn config_type(self) -> i8 {
        match self {
            Self::Bool => 1,
            Self::OneOf(_) | Self::Text | Self::OffsetReset => 2,
            Self::Int(..) | Self::Limited(..) | Self::GzipLevel => 3,
            Self::Long(_) => 5,
            Self::Ratio => 6,
            Self::ListOf(_) | Self::List | Self::Replicas => 7,
        }
    }

    /// Whether values are lists, to which one can append.
    pub(crate) fn is_list(self) -> bool {
        self.config_type() == 7
    }

    /// A value as DescribeConfigs shows it: Kafka reads it and writes it again.
    pub(crate) fn shown(self, value: &str) -> Cow<'_, str> {
        match self {
            Self::Bool => value.to_ascii_lowercase().into(),
            _ => value.into(),
        }
    }

    /// Checks a value, with Kafka's messages.
    ///
    /// # Errors
    /// Why the setting does not take the value.
    pub(crate) fn check(self, name: &str, value: &str) -> Result<(), String> {
        let invalid = |value: &str, why: String| Err(format!("Invalid value {value} for configuration {name}: {why}"));
        let between = |number: i64, min: i64, max: i64| {
            if number < min {
                invalid(value, format!("Value must be at least {min}"))
            } else if number > max {
                invalid(value, format!("Value must be no more than {max}"))
            } else {
                Ok(())
            }
        };
        let int = || value.parse::<i32>().map(i64::from);
        match self {
            Self::Bool if is_bool(value) => Ok(()),
            Self::Bool => invalid(value, "Expected value to be either true or false".to_owned()),
            Self::Int(min, max) => match int() {
                Ok(number) => between(number, min, max),
                Err(_) => invalid(value, "Not a number of type INT".to_owned()),
            },
            Self::Limited(min, low, high) => match int() {
                Ok(number) if number < min => between(number, min, i64::MAX),
                Ok(number) if number < low || number > high => {
                    Err(format!("{name} must be in the range {low} to {high} inclusive."))
                }
                Ok(_) => Ok(()),
                Err(_) => invalid(value, "Not a number of type INT".to_owned()),
            },
            Self::GzipLevel => match int() {
                Ok(-1 | 1..=9) => Ok(()),
                Ok(_) => invalid(value, "Value must be between 1 and 9 or equal to -1".to_owned()),
                Err(_) => invalid(value, "Not a number of type INT".to_owned()),
            },
            Self::Long(min) => match value.parse::<i64>() {
                Ok(number) => between(number, min, i64::MAX),
                Err(_) => invalid(value, "Not a number of type LONG".to_owned()),
            },
            Self::Ratio => match value.parse::<f64>() {
                Ok(number) if number < 0.0 => invalid(&format!("{number:?}"), "Value must be at least 0".to_owned()),
                Ok(number) if number <= 1.0 => Ok(()),
                Ok(number) => invalid(&format!("{number:?}"), "Value must be no more than 1".to_owned()),
                Err(_) => invalid(value, "Not a number of type DOUBLE".to_owned()),
            },
            Self::OneOf(names) if names.contains(&value) => Ok(()),
            Self::OneOf(names) => invalid(value, format!("String must be one of: {}", names.join(", "))),
            Self::ListOf(names) => match parts(value).find(|part| !names.contains(part)) {
                None => Ok(()),
                Some("") => Err(format!("Configuration '{name}' values must not be empty.")),
                Some(part) => invalid(part, format!("String must be one of: {}", names.join(", "))),
            },
            Self::Replicas if value == "*" || parts(value).all(is_replica) => Ok(()),
            Self::Replicas => invalid(
                &format!("[{}]", parts(value).collect::<Vec<_>>().join(", ")),
                format!(
                    "{name} must be the literal '*' or a list of replicas in the following format: \
                     [partitionId]:[brokerId],[partitionId]:[brokerId],..."
                ),
            ),
            Self::OffsetReset if matches!(value, "earliest" | "latest") || value.starts_with("by_duration:P") => Ok(()),
            Self::OffsetReset => invalid(
                value,
                format!(
                    "Invalid value `{value}` for configuration {name}. The value must be either 'earliest', 'latest' or \
                     of the format 'by_duration:<PnDTnHnMn.nS>'."
                ),
            ),
            Self::List | Self::Text => Ok(()),
        }
    }
}

fn is_bool(value: &str) -> bool {
    value.eq_ignore_ascii_case("true") || value.eq_ignore_ascii_case("false")
}

fn is_replica(part: &str) -> bool {
    part.split_once(':').is_some_and(|(partition, broker)| {
        [partition, broker].iter().all(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    })
}

/// The parts of a list; an empty value has none.
pub(crate) fn parts(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(move |_| !value.is_empty())
}

/// One setting.
#[derive(Debug)]
pub(crate) struct Setting {
    pub(crate) name: &'static str,
    pub(crate) default: &'static str,
    pub(crate) kind: Kind,
    /// The setting of the brokers that is the default.
    pub(crate) of_broker: Option<&'static str>,
    /// Whether that one has a default itself. Those of times have none: theirs is that of the same setting in hours.
    pub(crate) broker_has_default: bool,
    pub(crate) about: &'static str,
}

/// Lists settings: name, default, kind, the name of the brokers' setting, perhaps with `no default`, or `-`, and what it is about.
macro_rules! settings {
    (@broker -) => { None };
    (@broker $name:literal) => { Some($name) };
    (@broker (no default $name:literal)) => { Some($name) };
    (@default (no default $name:literal)) => { false };
    (@default $name:tt) => { true };
    ($($name:expr, $default:expr, $kind:expr, $broker:tt, $about:expr;)*) => {
        &[$($crate::cluster::setting::Setting {
            name: $name,
            default: $default,
            kind: $kind,
            of_broker: settings!(@broker $broker),
            broker_has_default: settings!(@default $broker),
            about: $about,
        }),*]
    };
}
pub(crate) use settings;

#[cfg(test)]
mod tests {
    use super::*;

    /// The messages of Kafka 4.4.
    #[test]
    fn values_are_refused_with_kafkas_messages() {
        for (kind, name, value, expected) in [
            (
                Kind::Long(-1),
                "retention.ms",
                "x",
                "Invalid value x for configuration retention.ms: Not a number of type LONG",
            ),
            (
                Kind::Long(-1),
                "retention.ms",
                "-2",
                "Invalid value -2 for configuration retention.ms: Value must be at least -1",
            ),
            (
                Kind::Int(1, 17),
                "compression.lz4.level",
                "18",
                "Invalid value 18 for configuration compression.lz4.level: Value must be no more than 17",
            ),
            (
                Kind::GzipLevel,
                "compression.gzip.level",
                "0",
                "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 and 9 or equal to -1",
            ),
            (
                Kind::Ratio,
                "min.cleanable.dirty.ratio",
                "2",
                "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1",
            ),
            (
                Kind::ListOf(&["compact", "delete"]),
                "cleanup.policy",
                "delete,none",
                "Invalid value none for configuration cleanup.policy: String must be one of: compact, delete",
            ),
            (
                Kind::ListOf(&["compact", "delete"]),
                "cleanup.policy",
                "compact,,delete",
                "Configuration 'cleanup.policy' values must not be empty.",
            ),
            (
                Kind::Limited(1, 45_000, 60_000),
                "consumer.session.timeout.ms",
                "1",
                "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.",
            ),
            (
                Kind::Bool,
                "preallocate",
                "yes",
                "Invalid value yes for configuration preallocate: Expected value to be either true or false",
            ),
        ] {
            assert_eq!(kind.check(name, value), Err(expected.to_owned()));
        }
        assert_eq!(Kind::ListOf(&["compact"]).check("cleanup.policy", ""), Ok(()));
        assert_eq!(Kind::Replicas.check("x", "0:1,1:1"), Ok(()));
        assert!(
            Kind::Replicas
                .check("x", "bad")
                .unwrap_err()
                .starts_with("Invalid value [bad] for configuration x: x must be")
        );
    }
}
