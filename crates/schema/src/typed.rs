use milena_messages::Message;
use milena_wire::{Error, Result};
use serde_json::Value;

use crate::model::MessageSpec;
use crate::spec::Spec;

/// A typed message as JSON, in the form of Kafka's own JSON converters, with the fields that `version` has.
///
/// ```
/// use milena_messages::MetadataRequest;
/// use milena_schema::to_json;
///
/// let json = to_json(&MetadataRequest { topics: None, ..Default::default() }, 4)?;
/// assert_eq!(json, serde_json::json!({"topics": null, "allowAutoTopicCreation": true}));
/// # Ok::<(), milena_wire::Error>(())
/// ```
///
/// # Errors
/// As [`Message::encode`]: a value that the version cannot carry.
pub fn to_json<M: Message>(message: &M, version: i16) -> Result<Value> {
    Ok(spec::<M>()?.decode(message.to_bytes(version)?, version)?.json)
}

/// A typed message from JSON in the form of Kafka's own JSON converters.
///
/// # Errors
/// JSON that is not the message at that version: a field that is unknown or of another type.
pub fn from_json<M: Message>(json: &Value, version: i16) -> Result<M> {
    M::from_bytes(spec::<M>()?.encode(json, version)?, version)
}

fn spec<M: Message>() -> Result<&'static MessageSpec> {
    Spec::kafka().message(M::NAME).map_err(|error| Error::invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use milena_messages::FetchRequest;
    use serde_json::json;

    use super::*;

    #[test]
    fn typed_messages_pass_through_json() {
        let request = FetchRequest { max_wait_ms: 500, max_bytes: 9, ..Default::default() };
        let json = to_json(&request, 4).unwrap();
        // The names and order of Kafka's FetchRequestDataJsonConverter.
        let expected = json!({
            "replicaId": -1, "maxWaitMs": 500, "minBytes": 0, "maxBytes": 9, "isolationLevel": 0, "topics": []
        });
        assert_eq!(json, expected);
        assert_eq!(from_json::<FetchRequest>(&json, 4).unwrap(), request);
        assert!(from_json::<FetchRequest>(&json!({"replicaId": "x"}), 4).is_err());
        assert!(from_json::<FetchRequest>(&json!({"replica": 1}), 4).is_err());
        assert!(to_json(&request, 99).is_err());
    }

    #[test]
    fn requests_and_responses_are_found_by_key() {
        let spec = Spec::kafka();
        for api in &spec.apis {
            assert_eq!(spec.request(api.key).map(|message| message.key), Some(Some(api.key)));
            assert_eq!(spec.response(api.key).map(|message| message.key), Some(Some(api.key)));
        }
        assert!(spec.request(-1).is_none() && spec.response(10_000).is_none());
    }
}
