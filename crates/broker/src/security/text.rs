//! ACLs as text.

use std::fmt;
use std::str::FromStr;

use crate::security::acl::{
    ANY_ONE, Acl, CLUSTER_NAME, Operation, Pattern, PatternType, Permission, ResourceType, Rule,
};

/// Text that is not an [`Acl`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}`: {reason}")]
pub struct AclError {
    text: String,
    reason: String,
}

/// The name of an operation or type as text, such as `alter-configs`.
fn text(one: impl fmt::Debug) -> String {
    let mut text = String::new();
    for letter in format!("{one:?}").chars() {
        if letter.is_ascii_uppercase() && !text.is_empty() {
            text.push('-');
        }
        text.push(letter.to_ascii_lowercase());
    }
    text
}

/// The one with this name. Dashes, underscores and case do not matter: Kafka's tools write `AlterConfigs` and
/// `ALTER_CONFIGS`.
fn named<T: Copy + fmt::Debug>(what: &str, all: &[T], name: &str) -> Result<T, String> {
    let letters = |text: &str| text.replace(['-', '_'], "").to_ascii_lowercase();
    all.iter().copied().find(|one| letters(&text(one)) == letters(name)).ok_or_else(|| {
        let names: Vec<String> = all.iter().map(text).collect();
        format!("no {what} is called {name}; expected one of {}", names.join(", "))
    })
}

const FORM: &str =
    "an ACL is written `allow User:alice read topic:letters`, with `from HOST` at the end if it is for one host";

impl FromStr for Acl {
    type Err = AclError;

    fn from_str(line: &str) -> Result<Self, AclError> {
        let wrong = |reason: String| AclError { text: line.to_owned(), reason };
        let words: Vec<&str> = line.split_whitespace().collect();
        let (permission, principal, operation, resource, host) = match words[..] {
            [permission, principal, operation, resource] => (permission, principal, operation, resource, ANY_ONE),
            [permission, principal, operation, resource, "from", host] => {
                (permission, principal, operation, resource, host)
            }
            _ => return Err(wrong(FORM.to_owned())),
        };
        let permission = named("permission", Permission::ALL, permission).map_err(wrong)?;
        let operation = named("operation", Operation::ALL, operation).map_err(wrong)?;
        let (type_name, name) = resource.split_once(':').unwrap_or((resource, ""));
        let resource_type = named("type of resource", ResourceType::ALL, type_name).map_err(wrong)?;
        let name = if resource_type == ResourceType::Cluster && name.is_empty() { CLUSTER_NAME } else { name };
        let (name, pattern_type) = match name.strip_suffix(ANY_ONE) {
            Some(prefix) if !prefix.is_empty() => (prefix, PatternType::Prefixed),
            _ => (name, PatternType::Literal),
        };
        let pattern = Pattern { resource_type, pattern_type, name: name.to_owned() };
        let rule = Rule::new(principal, host, operation, permission);
        rule.and_then(|rule| Acl::new(pattern, rule)).map_err(|refusal| wrong(refusal.message.into_owned()))
    }
}

impl fmt::Display for Acl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pattern, rule } = self;
        let (permission, operation) = (text(rule.permission), text(rule.operation));
        write!(f, "{permission} {} {operation} {}", rule.principal, text(pattern.resource_type))?;
        match pattern.pattern_type {
            PatternType::Literal if pattern.resource_type == ResourceType::Cluster => {}
            PatternType::Literal => write!(f, ":{}", pattern.name)?,
            PatternType::Prefixed => write!(f, ":{}*", pattern.name)?,
        }
        if rule.host != ANY_ONE { write!(f, " from {}", rule.host) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_and_written_alike() {
        for text in [
            "allow User:alice read topic:letters",
            "deny User:* all group:etl-*",
            "allow User:alice write topic:*",
            "allow User:bob describe-tokens user:User:alice",
            "allow User:bob alter cluster",
            "allow User:bob write transactional-id:t from 10.0.0.0/8",
            "allow User:bob describe delegation-token:abc from 127.0.0.1",
        ] {
            assert_eq!(text.parse::<Acl>().unwrap().to_string(), text);
        }
        let read: Acl = "Allow User:a AlterConfigs Topic:t".parse().unwrap();
        assert_eq!(read.to_string(), "allow User:a alter-configs topic:t");
        let read: Acl = "allow User:a alter cluster:kafka-cluster".parse().unwrap();
        assert_eq!(read.to_string(), "allow User:a alter cluster");
    }

    #[test]
    fn an_error_says_what_is_wrong() {
        for (text, reason) in [
            ("", FORM),
            ("allow User:a read", FORM),
            ("allow User:a read topic:t at host", FORM),
            ("permit User:a read topic:t", "no permission is called permit; expected one of deny, allow"),
            (
                "allow User:a read thing:t",
                "no type of resource is called thing; expected one of topic, group, cluster, transactional-id, delegation-token, user",
            ),
            ("allow User:a read topic", "Invalid empty resource name"),
            ("allow User:a read cluster:mine", "The only valid name for the CLUSTER resource is kafka-cluster"),
        ] {
            let error = text.parse::<Acl>().unwrap_err().to_string();
            assert_eq!(error, format!("`{text}`: {reason}"));
        }
        let error = "allow User:a eat topic:t".parse::<Acl>().unwrap_err().to_string();
        assert!(error.contains("no operation is called eat; expected one of all, read, write"), "{error}");
        let error = "allow alice read topic:t".parse::<Acl>().unwrap_err().to_string();
        assert!(error.contains("Could not parse principal from `alice`"), "{error}");
    }
}
