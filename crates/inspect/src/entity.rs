//! What values inside of a message refer to: topics, groups, error codes.

use milena_schema::{Entity, MessageSpec, StructId, Type};
use serde_json::Value;

/// Visits every value of a message in its JSON form that refers to something, in the order of the spec.
///
/// The elements of an array of which each is a topic name come one by one. Null refers to nothing and is left out.
pub fn visit(message: &MessageSpec, json: &Value, see: &mut impl FnMut(Entity, &Value)) {
    structure(message, StructId::ROOT, json, see);
}

fn structure(message: &MessageSpec, id: StructId, json: &Value, see: &mut impl FnMut(Entity, &Value)) {
    let Value::Object(map) = json else { return };
    for field in &message.structure(id).fields {
        if let Some(json) = map.get(&field.json_name) {
            value(message, &field.ty, field.entity, json, see);
        }
    }
}

fn value(message: &MessageSpec, ty: &Type, entity: Option<Entity>, json: &Value, see: &mut impl FnMut(Entity, &Value)) {
    match (ty, json) {
        (_, Value::Null) => {}
        (Type::Array(element), Value::Array(array)) => {
            array.iter().for_each(|json| value(message, element, entity, json, see));
        }
        (Type::Struct(id), json) => structure(message, *id, json, see),
        (_, json) => {
            if let Some(entity) = entity {
                see(entity, json);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use milena_schema::Spec;
    use serde_json::json;

    use super::*;

    #[test]
    fn entities_are_found_at_any_depth_and_in_arrays() {
        let message = Spec::kafka().message("MetadataResponse").unwrap();
        let json = json!({
            "brokers": [{"nodeId": 3}],
            "topics": [
                {"errorCode": 5, "name": "letters", "partitions": [{"errorCode": 9, "replicaNodes": [3, 4]}]},
                {"errorCode": 0, "name": null},
            ],
        });
        let mut seen = Vec::new();
        visit(message, &json, &mut |entity, value| seen.push(format!("{} {value}", entity.name())));
        let expected = [
            "brokerId 3",
            "errorCode 5",
            "topicName \"letters\"",
            "errorCode 9",
            "brokerId 3",
            "brokerId 4",
            "errorCode 0",
        ];
        assert_eq!(seen, expected);
    }
}
