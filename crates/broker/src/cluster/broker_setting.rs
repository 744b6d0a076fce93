//! The settings of brokers as Kafka 4.4 lists them.

use std::collections::BTreeMap;
use std::sync::OnceLock;

/// A line for each: name, type, whether clients may change it, and `=` with its default unless that is null.
const LIST: &str = include_str!("broker_settings.txt");

/// Settings whose values DescribeConfigs does not show are passwords.
const PASSWORD: i8 = 9;
const LIST_TYPE: i8 = 7;

/// One setting of brokers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BrokerSetting {
    /// The number of DescribeConfigs.
    pub(crate) config_type: i8,
    /// Whether it stays as it was when the broker started.
    pub(crate) is_fixed: bool,
    pub(crate) default: Option<&'static str>,
}

impl BrokerSetting {
    pub(crate) fn is_sensitive(self) -> bool {
        self.config_type == PASSWORD
    }

    pub(crate) fn is_list(self) -> bool {
        self.config_type == LIST_TYPE
    }

    /// Checks the type of a value, with Kafka's messages.
    ///
    /// # Errors
    /// Why the setting does not take the value.
    pub(crate) fn check(self, name: &str, value: &str) -> Result<(), String> {
        let invalid = |what: &str| Err(format!("Invalid value {value} for configuration {name}: {what}"));
        match self.config_type {
            1 if !value.eq_ignore_ascii_case("true") && !value.eq_ignore_ascii_case("false") => {
                invalid("Expected value to be either true or false")
            }
            3 if value.parse::<i32>().is_err() => invalid("Not a number of type INT"),
            4 if value.parse::<i16>().is_err() => invalid("Not a number of type SHORT"),
            5 if value.parse::<i64>().is_err() => invalid("Not a number of type LONG"),
            6 if value.parse::<f64>().is_err() => invalid("Not a number of type DOUBLE"),
            _ => Ok(()),
        }
    }
}

/// All of them, by name.
pub(crate) fn all() -> &'static BTreeMap<&'static str, BrokerSetting> {
    static ALL: OnceLock<BTreeMap<&'static str, BrokerSetting>> = OnceLock::new();
    ALL.get_or_init(|| LIST.lines().filter_map(parse).collect())
}

fn parse(line: &'static str) -> Option<(&'static str, BrokerSetting)> {
    let (facts, default) = match line.split_once(" =") {
        Some((facts, default)) => (facts, Some(default)),
        None => (line, None),
    };
    let mut words = facts.split(' ');
    let name = words.next()?;
    let types = ["bool", "string", "int", "short", "long", "double", "list", "class", "password"];
    let wanted = words.next()?;
    let config_type = (1..).zip(types).find(|(_, name)| *name == wanted)?.0;
    let is_fixed = match words.next()? {
        "fixed" => true,
        "dynamic" => false,
        _ => return None,
    };
    Some((name, BrokerSetting { config_type, is_fixed, default }))
}

/// Settings of keys and certificates, which Kafka changes for single listeners only.
pub(crate) fn is_of_listeners(name: &str) -> bool {
    ["ssl.key.", "ssl.keystore.", "ssl.truststore."].iter().any(|start| name.starts_with(start))
}

/// The same setting in hours, or under another name, on which a setting without a default falls back.
pub(crate) fn fallback(name: &str) -> Option<&'static str> {
    Some(match name {
        "log.retention.ms" => "log.retention.hours",
        "log.roll.ms" => "log.roll.hours",
        "log.roll.jitter.ms" => "log.roll.jitter.hours",
        "log.flush.interval.ms" => "log.flush.scheduler.interval.ms",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_a_setting() {
        assert_eq!((all().len(), LIST.lines().count()), (350, 350));
        let port = all()["num.partitions"];
        assert_eq!(port, BrokerSetting { config_type: 3, is_fixed: true, default: Some("1") });
        assert_eq!(all()["log.retention.ms"].default, None);
        assert!(all()["ssl.keystore.password"].is_sensitive() && !all()["ssl.keystore.password"].is_fixed);
        for (name, setting) in all() {
            assert!(setting.default.is_none_or(|default| setting.check(name, default).is_ok()), "{name}");
        }
        assert!(["log.retention.hours", "log.roll.hours"].iter().all(|name| all()[name].default == Some("168")));
    }
}
