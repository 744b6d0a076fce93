use std::collections::HashMap;

use milena_messages::delete_topics::request::DeleteTopicState;
use milena_messages::delete_topics::response::DeletableTopicResult;
use milena_messages::{DeleteTopicsRequest, DeleteTopicsResponse, ErrorCode, Uuid};

use super::Context;
use super::authorize::unauthorized;
use crate::cluster::TopicRef;
use crate::cluster::throttle::{ClientQuota, QuotaKind};
use crate::cost::Cost;
use crate::refusal::Refusal;
use crate::security::acl::{Operation, Resource};

/// From here on a client above its quota gets an error (KIP-599).
const STRICT: i16 = 5;

pub(super) fn handle(context: &Context, request: DeleteTopicsRequest, _cost: &mut Cost) -> DeleteTopicsResponse {
    let topics = if context.version >= 6 {
        request.topics
    } else {
        let by_name = |name| DeleteTopicState { name: Some(name), ..Default::default() };
        request.topic_names.into_iter().map(by_name).collect()
    };
    let mut times: HashMap<_, u32> = HashMap::new();
    topics.iter().for_each(|topic| *times.entry((topic.name.as_deref(), topic.topic_id)).or_default() += 1);
    // A client of an older version learns of it by the throttle time alone.
    let (quota, strict) = (context.quota(QuotaKind::Mutation), context.version >= STRICT);
    let mut responses = Vec::new();
    for topic in &topics {
        // One that is listed more than once stays, and is in the response once, as in Kafka.
        let result = match times.remove(&(topic.name.as_deref(), topic.topic_id)) {
            None => continue,
            Some(1) => delete(context, topic, quota.as_ref(), strict),
            Some(_) => Err(Refusal::new(ErrorCode::INVALID_REQUEST, "Duplicate topic name or id.")),
        };
        responses.push(match result {
            Ok(result) => result,
            Err(refusal) => refused(topic, &refusal),
        });
    }
    let throttle_time_ms = context.mutation_throttle_ms(quota.as_ref());
    DeleteTopicsResponse { responses, throttle_time_ms, ..Default::default() }
}

fn refused(topic: &DeleteTopicState, refusal: &Refusal) -> DeletableTopicResult {
    DeletableTopicResult {
        name: topic.name.clone(),
        topic_id: topic.topic_id,
        error_code: refusal.code,
        error_message: refusal.text().filter(|text| !text.is_empty()),
        ..Default::default()
    }
}

fn delete(
    context: &Context,
    topic: &DeleteTopicState,
    quota: Option<&ClientQuota>,
    strict: bool,
) -> Result<DeletableTopicResult, Refusal> {
    let state = &context.state;
    let wanted = match (&topic.name, topic.topic_id) {
        (Some(name), Uuid::ZERO) => TopicRef::Name(name),
        (None, id) if !id.is_zero() => TopicRef::Id(id),
        (Some(_), _) => {
            let message = "You may not specify both topic name and topic id.";
            return Err(Refusal::new(ErrorCode::INVALID_REQUEST, message));
        }
        (None, _) => return Err(Refusal::new(ErrorCode::INVALID_REQUEST, "Neither topic name nor id were specified.")),
    };
    let unknown = || Refusal::new(wanted.unknown(), "This server does not host this topic.");
    if !context.may(Operation::Delete, Resource::CLUSTER) {
        if let TopicRef::Name(name) = wanted {
            context.authorize(Operation::Describe, Resource::topic(name)).map_err(unauthorized)?;
        }
        let found = state.topic(wanted).ok_or_else(unknown)?;
        let resource = Resource::topic(&found.name);
        if let Err(code) = context.authorize(Operation::Delete, resource) {
            let refusal = unauthorized(code);
            if topic.name.is_some() {
                return Err(refusal);
            }
            // Who may see the topic gets its name.
            let name = Some(found.name.clone()).filter(|_| context.may(Operation::Describe, resource));
            let seen = DeleteTopicState { name, topic_id: found.id, ..Default::default() };
            return Ok(refused(&seen, &refusal));
        }
    }
    let partitions = state.topic(wanted).ok_or_else(unknown)?.partition_count();
    if !context.may_mutate(quota, partitions, strict) {
        return Err(Refusal::new(ErrorCode::THROTTLING_QUOTA_EXCEEDED, ""));
    }
    let deleted = state.delete_topic(wanted).ok_or_else(unknown)?;
    Ok(DeletableTopicResult { name: Some(deleted.name.clone()), topic_id: deleted.id, ..Default::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::tests::{Fixture, create, state};

    fn handle(state: &Fixture, request: DeleteTopicsRequest, version: i16) -> DeleteTopicsResponse {
        super::handle(&state.at(version), request, &mut Cost::quick())
    }

    fn ask(state: &Fixture, name: Option<&str>, topic_id: Uuid) -> DeletableTopicResult {
        let topic = DeleteTopicState { name: name.map(Into::into), topic_id, ..Default::default() };
        let request = DeleteTopicsRequest { topics: vec![topic], ..Default::default() };
        handle(state, request, 6).responses.remove(0)
    }

    #[test]
    fn topics_go_by_name_or_by_id() {
        let state = state();
        let (a, b) = (create(&state, "a", 1).id, create(&state, "b", 1).id);
        let by_name = ask(&state, Some("a"), Uuid::ZERO);
        assert_eq!((by_name.error_code, by_name.topic_id), (ErrorCode::NONE, a));
        let by_id = ask(&state, None, b);
        assert_eq!((by_id.error_code, by_id.name.as_deref()), (ErrorCode::NONE, Some("b")));
        assert!(state.topics().is_empty());
        assert_eq!(ask(&state, Some("a"), Uuid::ZERO).error_code, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION);
        assert_eq!(ask(&state, None, b).error_code, ErrorCode::UNKNOWN_TOPIC_ID);
    }

    #[test]
    fn name_and_id_exclude_each_other() {
        let state = state();
        let id = create(&state, "a", 1).id;
        assert_eq!(ask(&state, Some("a"), id).error_code, ErrorCode::INVALID_REQUEST);
        assert_eq!(ask(&state, None, Uuid::ZERO).error_code, ErrorCode::INVALID_REQUEST);
    }

    #[test]
    fn a_topic_that_is_listed_twice_is_not_deleted() {
        let state = state();
        create(&state, "a", 1);
        let request =
            DeleteTopicsRequest { topic_names: vec!["a".into(), "a".into(), "b".into()], ..Default::default() };
        // As Kafka 4.4 responds to version 3.
        let codes: Vec<_> = handle(&state, request, 0).responses.iter().map(|result| result.error_code).collect();
        assert_eq!(codes, [ErrorCode::INVALID_REQUEST, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION]);
        assert!(state.topic(TopicRef::Name("a")).is_some());
    }
}
