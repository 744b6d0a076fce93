use bytes::Bytes;
use milena_records::{Control, RecordRef};
use milena_schema::Spec;
use serde_json::{Value, json};

/// What a record of a control batch says, with its `type` as Kafka's tools name it. The type is `INVALID` for one that
/// says nothing of the kind.
pub fn control_json(record: &RecordRef) -> Value {
    let control = match Control::parse(record) {
        Ok(control) => control,
        Err(error) => return json!({ "type": "INVALID", "message": error.to_string() }),
    };
    let (message, value) = match control {
        Control::Abort { coordinator_epoch } | Control::Commit { coordinator_epoch } => {
            return json!({ "type": control.name(), "coordinatorEpoch": coordinator_epoch });
        }
        Control::LeaderChange(value) => ("LeaderChangeMessage", value),
        Control::SnapshotHeader(value) => ("SnapshotHeaderRecord", value),
        Control::SnapshotFooter(value) => ("SnapshotFooterRecord", value),
        Control::KRaftVersion(value) => ("KRaftVersionRecord", value),
        Control::KRaftVoters(value) => ("VotersRecord", value),
        _ => return json!({ "type": control.name(), "typeId": control.type_id() }),
    };
    let mut json = json!({ "type": control.name() });
    if let (Ok(message), Some(version)) = (Spec::kafka().message(message), value.first_chunk()) {
        // The version stands in the message itself; of a newer one we read what we know, as Kafka does.
        let version = i16::from_be_bytes(*version).min(message.versions.max());
        if let Ok(decoded) = message.decode(Bytes::copy_from_slice(value), version) {
            json["message"] = decoded.json;
        }
    }
    json
}
