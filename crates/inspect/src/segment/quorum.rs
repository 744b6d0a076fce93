use milena_schema::Spec;
use milena_storage::Fault;
use serde_json::Value;

/// The content of a `quorum-state`, versions 0 and 1 of `QuorumStateData` (KIP-595, KIP-853).
///
/// # Errors
/// Not JSON, an unknown version, or fields that the version does not have.
pub fn quorum_state_json(text: &[u8]) -> Result<Value, Box<Fault>> {
    let malformed = |message: String| Box::new(Fault::malformed(0..text.len() as u64, message));
    let json: Value = serde_json::from_slice(text).map_err(|error| malformed(format!("not JSON: {error}")))?;
    let mut fields = json.clone();
    let version = fields.as_object_mut().and_then(|fields| fields.remove("data_version"));
    let version = version.as_ref().and_then(Value::as_i64).and_then(|version| i16::try_from(version).ok());
    let version = version.ok_or_else(|| malformed("no data_version".to_owned()))?;
    let message = Spec::kafka().message("QuorumStateData").map_err(|error| malformed(error.to_string()))?;
    message.encode(&fields, version).map_err(|error| malformed(error.to_string()))?;
    Ok(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_of_a_quorum_is_compared_with_its_layout() {
        // What Kafka 4.4 and 3.9 write.
        let text = br#"{"clusterId":"","leaderId":1,"leaderEpoch":1,"votedId":-1,"appliedOffset":0,"currentVoters":[{"voterId":1}],"data_version":0}"#;
        assert_eq!(quorum_state_json(text).unwrap()["leaderId"], 1);
        let text = br#"{"leaderId":1,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}"#;
        assert_eq!(quorum_state_json(text).unwrap()["votedId"], -1);
        for wrong in ["", "{}", r#"{"data_version":9}"#, r#"{"leaderId":"me","data_version":0}"#] {
            assert!(quorum_state_json(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
