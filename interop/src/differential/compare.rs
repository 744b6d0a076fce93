use std::fmt;

use serde_json::Value;

/// One field in which two responses differ.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    /// Names and `*` for any index, such as `topics/*/errorCode`.
    pub(super) path: String,
    pub(super) kafka: Value,
    pub(super) milena: Value,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: kafka {}, milena {}", self.path, self.kafka, self.milena)
    }
}

pub(super) fn compare(kafka: &Value, milena: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk("", kafka, milena, &mut found);
    found
}

fn walk(path: &str, kafka: &Value, milena: &Value, found: &mut Vec<Difference>) {
    let below = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
    match (kafka, milena) {
        (Value::Object(one), Value::Object(other)) => {
            for name in one.keys().chain(other.keys().filter(|name| !one.contains_key(*name))) {
                let absent = Value::from("absent");
                let get = |side: &serde_json::Map<String, Value>| side.get(name).unwrap_or(&absent).clone();
                walk(&below(name), &get(one), &get(other), found);
            }
        }
        (Value::Array(one), Value::Array(other)) if one.len() == other.len() => {
            one.iter().zip(other).for_each(|(one, other)| walk(&below("*"), one, other, found));
        }
        _ if kafka != milena => {
            found.push(Difference { path: path.to_owned(), kafka: kafka.clone(), milena: milena.clone() });
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_field_that_differs_is_named() {
        let of = |one, other| compare(&one, &other).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(of(json!({"a": [1, {"b": null}]}), json!({"a": [1, {"b": null}]})).is_empty());
        let found = of(json!({"a": [1, {"b": 2}], "c": 3}), json!({"a": [1, {"b": null}], "d": 4}));
        assert_eq!(
            found,
            ["a/*/b: kafka 2, milena null", "c: kafka 3, milena \"absent\"", "d: kafka \"absent\", milena 4"]
        );
        assert_eq!(of(json!([1]), json!([])), [": kafka [1], milena []"]);
    }
}
