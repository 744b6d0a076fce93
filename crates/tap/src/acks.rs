//! Whether a request wants an answer.

use std::sync::OnceLock;

use bytes::Bytes;
use milena_messages::ApiKey;
use milena_schema::{Finder, Scalar, Spec};

struct Unanswered {
    api: ApiKey,
    /// The value of the field at which no answer comes.
    value: i64,
    /// How to find the field, for each version.
    finders: Vec<(i16, Finder<'static>)>,
}

/// The APIs that the spec calls unanswered at some value of a field: Produce with acks = 0.
fn unanswered() -> &'static [Unanswered] {
    static ALL: OnceLock<Vec<Unanswered>> = OnceLock::new();
    ALL.get_or_init(|| {
        let spec = Spec::kafka();
        let all = spec.apis.iter().filter_map(|api| {
            let (name, value) = api.unanswered.as_ref()?;
            let message = spec.message(&format!("{}Request", api.name)).ok()?;
            let finder = |version| {
                let finder = message.finder(version, |_, field| field.json_name == *name).ok()?;
                Some((version, finder.until_last()))
            };
            let finders = message.versions.iter().filter_map(finder).collect();
            Some(Unanswered { api: ApiKey(api.key), value: *value, finders })
        });
        all.collect()
    })
}

/// Whether the request wants an answer. `body` is where its body begins.
pub(crate) fn is_answered(api: ApiKey, version: i16, frame: &Bytes, body: usize) -> bool {
    let Some(rule) = unanswered().iter().find(|rule| rule.api == api) else { return true };
    let Some((_, finder)) = rule.finders.iter().find(|(other, _)| *other == version) else { return true };
    let mut unanswered = false;
    let walked = finder.walk(frame, body, |found| unanswered = found.value == Scalar::Integer(rule.value));
    walked.is_err() || !unanswered
}

#[cfg(test)]
mod tests {
    use milena_messages::{Message as _, ProduceRequest, VersionRange};

    use super::*;

    #[test]
    fn a_produce_with_acks_0_wants_no_answer_at_any_version() {
        for version in VersionRange::new(0, 13).iter() {
            for (acks, answered) in [(0, false), (1, true), (-1, true)] {
                let transactional_id = (version >= 3).then(|| "letters".into());
                let request = ProduceRequest { acks, transactional_id, ..Default::default() };
                let body = request.to_bytes(version).unwrap();
                assert_eq!(is_answered(ApiKey::PRODUCE, version, &body, 0), answered, "version {version}, acks {acks}");
            }
        }
        assert!(is_answered(ApiKey::PRODUCE, 9, &Bytes::new(), 0));
        assert!(is_answered(ApiKey::FETCH, 9, &Bytes::from_static(b"\0\0"), 0));
    }
}
