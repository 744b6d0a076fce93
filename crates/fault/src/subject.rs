//! What a request is about, and the part of it that a rule concerns.

use milena_connection::fault::{Scope, Subject};
use milena_schema::{Entity, Field, MessageSpec, StructId, Type};
use serde_json::Value;

use crate::build::meaning;
use crate::respond::{FaultedRequest, fields, message};
use crate::session::Members;

/// Gives the name of a topic for its id, in the form of JSON.
pub type TopicNames<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The topics, partitions, groups and transactional ids that a request names; `session` has the partitions of the fetch
/// session or share session that it belongs to. Empty when the request cannot be read.
pub fn subject(request: &FaultedRequest, session: Option<&Members>, names: TopicNames<'_>) -> Subject {
    let mut subject = Subject::default();
    let spec = message(request.api, "Request");
    if let (Some(spec), Some(json)) = (spec, request.json_with(session)) {
        Walk { spec, version: request.version, names }.collect(StructId::ROOT, &json, None, &mut subject);
    }
    subject
}

/// Walks over messages whose elements are topics and partitions.
pub(crate) struct Walk<'a> {
    pub(crate) spec: &'a MessageSpec,
    pub(crate) version: i16,
    pub(crate) names: TopicNames<'a>,
}

impl Walk<'_> {
    /// The topic of a struct: its own, or that of the struct around it.
    pub(crate) fn topic(&self, id: StructId, json: &Value, around: Option<&str>) -> Option<String> {
        let own = fields(self.spec, id, self.version).find_map(|field| {
            let text = json.get(&field.json_name)?.as_str().filter(|text| !text.is_empty())?;
            match field.ty {
                Type::String if field.entity == Some(Entity::TopicName) => Some(text.to_owned()),
                // A name beside it counts; an id alone has to be known.
                Type::Uuid
                    if field.json_name == "topicId"
                        && json.get("name").and_then(Value::as_str).is_none_or(str::is_empty) =>
                {
                    Some((self.names)(text).unwrap_or_default())
                }
                _ => None,
            }
        });
        own.or_else(|| around.map(str::to_owned)).filter(|topic| !topic.is_empty())
    }

    fn collect(&self, id: StructId, json: &Value, around: Option<&str>, subject: &mut Subject) {
        let topic = self.topic(id, json, around);
        if let Some(topic) = &topic {
            if !subject.topics.iter().any(|(known, _)| known == topic) {
                subject.topics.push((topic.clone(), Vec::new()));
            }
        }
        for field in fields(self.spec, id, self.version) {
            let Some(value) = json.get(&field.json_name) else { continue };
            match &field.ty {
                Type::Struct(inner) => self.collect(*inner, value, topic.as_deref(), subject),
                Type::Array(element) => {
                    let values = value.as_array().map_or(&[][..], Vec::as_slice);
                    for value in values {
                        match **element {
                            Type::Struct(inner) => self.collect(inner, value, topic.as_deref(), subject),
                            _ => note(field, value, topic.as_deref(), subject),
                        }
                    }
                }
                _ => note(field, value, topic.as_deref(), subject),
            }
        }
    }

    /// The part of a message that a rule concerns, and the rest of it. Elements that are no topic belong to both.
    pub(crate) fn split(&self, id: StructId, json: &Value, around: Option<&str>, scope: &Scope) -> (Value, Value) {
        let topic = self.topic(id, json, around);
        let (mut concerned, mut rest) = (json.clone(), json.clone());
        for field in fields(self.spec, id, self.version) {
            let (Type::Array(element), Some(values)) =
                (&field.ty, json.get(&field.json_name).and_then(Value::as_array))
            else {
                continue;
            };
            let (mut inside, mut outside) = (Vec::new(), Vec::new());
            for value in values {
                match self.side(field, element, value, topic.as_deref(), scope) {
                    Side::Concerned => inside.push(value.clone()),
                    Side::Other => outside.push(value.clone()),
                    Side::Both(one, other) => {
                        inside.push(one);
                        outside.push(other);
                    }
                    Side::Neither => {
                        inside.push(value.clone());
                        outside.push(value.clone());
                    }
                }
            }
            concerned[&field.json_name] = inside.into();
            rest[&field.json_name] = outside.into();
        }
        (concerned, rest)
    }

    fn side(&self, field: &Field, element: &Type, value: &Value, around: Option<&str>, scope: &Scope) -> Side {
        let concerned = |yes: bool| if yes { Side::Concerned } else { Side::Other };
        let Type::Struct(inner) = element else {
            return match value.as_i64().and_then(|number| i32::try_from(number).ok()) {
                Some(partition) if is_partitions(field) && around.is_some() => {
                    concerned(scope.has_partition(partition))
                }
                _ if field.entity == Some(Entity::TopicName) => concerned(scope.has_topic(value.as_str())),
                _ => Side::Neither,
            };
        };
        let topic = self.topic(*inner, value, around);
        if around.is_none() && topic.is_none() && !self.is_topic(*inner) {
            // Such as a group with its topics.
            let (one, other) = self.split(*inner, value, around, scope);
            return if one == other { Side::Neither } else { Side::Both(one, other) };
        }
        if !scope.has_topic(topic.as_deref()) {
            return Side::Other;
        }
        if let Some(partition) = self.partition(*inner, value) {
            return concerned(scope.has_partition(partition));
        }
        let (one, other) = self.split(*inner, value, topic.as_deref(), scope);
        match (self.has_elements(*inner, &one), self.has_elements(*inner, &other)) {
            (_, false) => Side::Concerned,
            (false, true) => Side::Other,
            (true, true) => Side::Both(one, other),
        }
    }

    fn is_topic(&self, id: StructId) -> bool {
        fields(self.spec, id, self.version)
            .any(|field| field.entity == Some(Entity::TopicName) || field.json_name == "topicId")
    }

    /// The partition that a struct stands for.
    pub(crate) fn partition(&self, id: StructId, json: &Value) -> Option<i32> {
        let field = fields(self.spec, id, self.version)
            .find(|field| field.ty == Type::Int32 && meaning(field) == "partitionIndex")?;
        json.get(&field.json_name)?.as_i64().and_then(|number| i32::try_from(number).ok())
    }

    /// Whether any topic is named.
    pub(crate) fn names_topics(&self, id: StructId, json: &Value) -> bool {
        let mut subject = Subject::default();
        self.collect(id, json, None, &mut subject);
        // A topic whose id is not known is one as well.
        !subject.topics.is_empty() || self.has_elements(id, json)
    }

    /// Whether any array of a struct has elements.
    fn has_elements(&self, id: StructId, json: &Value) -> bool {
        fields(self.spec, id, self.version)
            .any(|field| json.get(&field.json_name).and_then(Value::as_array).is_some_and(|array| !array.is_empty()))
    }
}

enum Side {
    Concerned,
    Other,
    Both(Value, Value),
    /// It is neither a topic nor a partition.
    Neither,
}

fn is_partitions(field: &Field) -> bool {
    ["partitions", "partitionIndexes", "partitionIndices"].contains(&field.json_name.as_str())
}

fn note(field: &Field, value: &Value, topic: Option<&str>, subject: &mut Subject) {
    if let Some(text) = value.as_str().map(str::to_owned) {
        match field.entity {
            Some(Entity::GroupId) => subject.groups.push(text),
            Some(Entity::TransactionalId) => subject.transactional_ids.push(text),
            // Of an array of names; that of a struct is known already.
            Some(Entity::TopicName) if topic.is_none() => subject.topics.push((text, Vec::new())),
            _ => {}
        }
        return;
    }
    let partition = value.as_i64().and_then(|number| i32::try_from(number).ok());
    let is_one = meaning(field) == "partitionIndex" || is_partitions(field);
    if let (Some(partition), true, Some(topic)) = (partition, is_one, topic) {
        if let Some((_, partitions)) = subject.topics.iter_mut().find(|(known, _)| known == topic) {
            partitions.push(partition);
        }
    }
}

/// Puts the elements of one response into another: those of the same topic together.
pub(crate) fn merge(into: &mut Value, from: &Value) {
    let (Some(into), Some(from)) = (into.as_object_mut(), from.as_object()) else { return };
    for (name, more) in from {
        let (Some(more), Some(known)) = (more.as_array(), into.get_mut(name).and_then(Value::as_array_mut)) else {
            continue;
        };
        for element in more.iter().filter(|element| element.is_object()) {
            match known.iter_mut().find(|other| same(other, element)) {
                Some(other) => merge(other, element),
                None => known.push(element.clone()),
            }
        }
    }
}

/// Whether two elements are of the same topic or group, and hold others.
fn same(one: &Value, other: &Value) -> bool {
    let keys = ["name", "topic", "topicName", "topicId", "groupId"];
    let has_key = keys.iter().any(|key| other.get(key).is_some());
    has_key && keys.iter().all(|key| one.get(key) == other.get(key))
}
