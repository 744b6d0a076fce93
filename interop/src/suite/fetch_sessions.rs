//! Fetch sessions (KIP-227).

use std::time::Duration;

use milena_client::{Acks, Client, Codec, NewTopic, Record, Target as To};
use milena_messages::fetch::request::{FetchPartition, FetchTopic, ForgottenTopic};
use milena_messages::{ErrorCode, FetchRequest, FetchResponse, Uuid};

use super::common::{holds, same};
use super::{Failure, Outcome, Target};

/// From here on topics go by id.
const BY_ID: i16 = 13;
/// The last version in which they go by name.
const BY_NAME: i16 = 12;

/// What a response says of a partition: topic, index, error code, high watermark, whether there are records.
type Row = (String, i32, ErrorCode, i64, bool);

struct Session<'a> {
    client: &'a Client,
    version: i16,
    topics: Vec<(String, Uuid)>,
    id: i32,
    epoch: i32,
    max_wait_ms: i32,
}

impl<'a> Session<'a> {
    fn new(client: &'a Client, version: i16, topics: &[(String, Uuid)]) -> Self {
        Self { client, version, topics: topics.to_vec(), id: 0, epoch: 0, max_wait_ms: 0 }
    }

    fn topic(&self, index: usize) -> (milena_messages::ByteString, Uuid) {
        let (name, id) = self.topics[index].clone();
        if self.version >= BY_ID { ("".into(), id) } else { (name.into(), Uuid::ZERO) }
    }

    /// A request of this session: topic, partition and offset of what is read, topic and partition of what is forgotten.
    async fn ask(&self, wanted: &[(usize, i32, i64)], forgotten: &[(usize, i32)]) -> Result<FetchResponse, Failure> {
        let topics = wanted.iter().map(|(index, partition, fetch_offset)| {
            let (topic, topic_id) = self.topic(*index);
            let one = FetchPartition {
                partition: *partition,
                fetch_offset: *fetch_offset,
                partition_max_bytes: 1 << 20,
                ..Default::default()
            };
            FetchTopic { topic, topic_id, partitions: vec![one], ..Default::default() }
        });
        let forgotten = forgotten.iter().map(|(index, partition)| {
            let (topic, topic_id) = self.topic(*index);
            ForgottenTopic { topic, topic_id, partitions: [*partition].into_iter().collect(), ..Default::default() }
        });
        let request = FetchRequest {
            max_wait_ms: self.max_wait_ms,
            min_bytes: 1,
            max_bytes: 1 << 20,
            session_id: self.id,
            session_epoch: self.epoch,
            topics: topics.collect(),
            forgotten_topics_data: forgotten.collect(),
            ..Default::default()
        };
        Ok(self.client.send_at(To::Any, &request, self.version).await?)
    }

    /// As [`Session::ask`], of a session that goes on.
    async fn next(&mut self, wanted: &[(usize, i32, i64)], forgotten: &[(usize, i32)]) -> Result<Vec<Row>, Failure> {
        let response = self.ask(wanted, forgotten).await?;
        same("the code of the response", response.error_code, ErrorCode::NONE)?;
        if self.epoch > 0 {
            same("session", response.session_id, self.id)?;
        }
        (self.id, self.epoch) = (response.session_id, self.epoch + 1);
        let name = |name: &str, id: Uuid| {
            let known =
                self.topics.iter().find(|(known, known_id)| known == name || (name.is_empty() && *known_id == id));
            known.map_or_else(|| id.to_string(), |(name, _)| name.clone())
        };
        let mut rows = Vec::new();
        for topic in &response.responses {
            for data in &topic.partitions {
                let has_records = data.records.as_ref().is_some_and(|records| !records.is_empty());
                let name = name(&topic.topic, topic.topic_id);
                rows.push((name, data.partition_index, data.error_code, data.high_watermark, has_records));
            }
        }
        Ok(rows)
    }
}

/// Two topics of two partitions, by name and id.
async fn topics(target: &Target, client: &Client) -> Result<Vec<(String, Uuid)>, Failure> {
    let mut topics = Vec::new();
    for letter in ["a", "b"] {
        topics.push(create(client, format!("{}-{letter}", target.prefix)).await?);
    }
    Ok(topics)
}

async fn create(client: &Client, name: String) -> Result<(String, Uuid), Failure> {
    let created = client.create_topic(NewTopic::new(name, 2, 1)).await?;
    // The node that leads may learn of it a little later.
    tokio::time::sleep(Duration::from_millis(300)).await;
    let id = created.id.ok_or("the topic has no id")?;
    Ok((created.name, id))
}

async fn put(client: &Client, topic: &str, partition: i32) -> Outcome {
    client.produce(topic, partition, Acks::All, Codec::None, vec![Record::from_value("x")]).await?;
    Ok(())
}

pub(super) async fn a_session_gives_what_changed(target: Target) -> Outcome {
    let client = target.client().await?;
    let topics = topics(&target, &client).await?;
    let (a, b) = (topics[0].0.clone(), topics[1].0.clone());
    let row = |topic: &str, partition, end, records| (topic.to_owned(), partition, ErrorCode::NONE, end, records);
    put(&client, &a, 0).await?;
    for version in [BY_NAME, BY_ID] {
        let base = i64::from(version - BY_NAME) * 2;
        let mut session = Session::new(&client, version, &topics);
        let all = session.next(&[(0, 0, base), (0, 1, base), (1, 0, base)], &[]).await?;
        let ends = [row(&a, 0, base + 1, true), row(&a, 1, base, false), row(&b, 0, base, false)];
        same("a session begins with all partitions", all, ends.to_vec())?;
        holds("there is a session", session.id != 0)?;
        same("records come again", session.next(&[], &[]).await?, vec![row(&a, 0, base + 1, true)])?;
        same("the client goes on", session.next(&[(0, 0, base + 1)], &[]).await?, vec![])?;
        for (topic, partition) in [(&a, 1), (&b, 0), (&a, 0)] {
            put(&client, topic, partition).await?;
        }
        let all = session.next(&[], &[]).await?;
        let ends = [row(&a, 1, base + 1, true), row(&b, 0, base + 1, true), row(&a, 0, base + 2, true)];
        same("partitions that gave records come last", all, ends.to_vec())?;
        let rest = session.next(&[(0, 1, base + 1)], &[]).await?;
        same("two of them", rest, vec![row(&b, 0, base + 1, true), row(&a, 0, base + 2, true)])?;
        let rest = session.next(&[], &[(1, 0), (1, 7)]).await?;
        same("one was forgotten", rest, vec![row(&a, 0, base + 2, true)])?;
        let missing = session.next(&[(0, 0, base + 2), (0, 9, 0)], &[]).await?;
        let unknown = (a.clone(), 9, ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, -1, false);
        same("errors", missing, vec![unknown.clone()])?;
        same("errors come each time", session.next(&[], &[]).await?, vec![unknown])?;
        let outside = session.next(&[(0, 0, base + 90)], &[(0, 9)]).await?;
        same("too far", outside, vec![(a.clone(), 0, ErrorCode::OFFSET_OUT_OF_RANGE, -1, false)])?;
        let back = session.next(&[(0, 0, base + 2)], &[]).await?;
        same("after an error", back, vec![row(&a, 0, base + 2, false)])?;
        // The next round begins where all three partitions end alike.
        for (topic, partition) in [(&a, 1), (&b, 0)] {
            put(&client, topic, partition).await?;
        }
        put(&client, &a, 0).await?;
        let last = session.ask(&[], &[(0, 0), (0, 1)]).await?;
        same("nothing is left", (last.error_code, last.session_id, last.responses.len()), (ErrorCode::NONE, 0, 0))?;
        session.epoch += 1;
        same("it is gone", session.ask(&[], &[]).await?.error_code, ErrorCode::FETCH_SESSION_ID_NOT_FOUND)?;
    }
    Ok(())
}

pub(super) async fn a_request_that_does_not_fit_its_session_is_refused(target: Target) -> Outcome {
    let client = target.client().await?;
    let topics = topics(&target, &client).await?;
    let mut by_id = Session::new(&client, BY_ID, &topics);
    by_id.next(&[(0, 0, 0)], &[]).await?;
    let code = async |session: &Session<'_>| -> Result<(ErrorCode, i32, usize), Failure> {
        let response = session.ask(&[(0, 1, 0)], &[]).await?;
        Ok((response.error_code, response.session_id, response.responses.len()))
    };
    for epoch in [2, i32::MAX, -2, i32::MIN] {
        let other = Session { epoch, topics: topics.clone(), ..by_id };
        same("another epoch", code(&other).await?, (ErrorCode::INVALID_FETCH_SESSION_EPOCH, 0, 0))?;
    }
    let other = Session { version: BY_NAME, topics: topics.clone(), ..by_id };
    same("names", code(&other).await?, (ErrorCode::FETCH_SESSION_TOPIC_ID_ERROR, 0, 0))?;
    for id in [0, -1, if by_id.id == 1 { 2 } else { 1 }] {
        let other = Session { id, topics: topics.clone(), ..by_id };
        same("another session", code(&other).await?, (ErrorCode::FETCH_SESSION_ID_NOT_FOUND, 0, 0))?;
    }
    for id in [i32::MIN, i32::MAX] {
        let other = Session { id, topics: topics.clone(), ..by_id };
        same("no session has it", code(&other).await?, (ErrorCode::UNKNOWN_SERVER_ERROR, id, 0))?;
    }
    same("none of that harmed", by_id.next(&[], &[]).await?, vec![])?;
    // A request that opens a session closes the one that it names, and so does one that wants none.
    for epoch in [0, -1] {
        let mut old = Session::new(&client, BY_NAME, &topics);
        old.next(&[(0, 0, 0)], &[]).await?;
        let again = Session { epoch, topics: topics.clone(), ..old };
        let response = again.ask(&[(0, 0, 0)], &[]).await?;
        same("partitions", response.responses.len(), 1)?;
        same("a new session", response.session_id != 0 && response.session_id != old.id, epoch == 0)?;
        same("the old one", code(&old).await?.0, ErrorCode::FETCH_SESSION_ID_NOT_FOUND)?;
    }
    Ok(())
}

pub(super) async fn a_topic_that_is_made_again_is_another_one_for_a_session(target: Target) -> Outcome {
    let client = target.client().await?;
    let mut topics = topics(&target, &client).await?;
    // No topic has this id.
    topics.push(("no topic".to_owned(), Uuid::from_bytes([1; 16])));
    let mut by_id = Session::new(&client, BY_ID, &topics);
    by_id.next(&[(2, 0, 0), (0, 0, 0), (1, 0, 0)], &[]).await?;
    let mut by_name = Session::new(&client, BY_NAME, &topics);
    by_name.next(&[(0, 0, 0), (1, 0, 0)], &[]).await?;
    let name = topics[0].0.clone();
    let row = |code, end| (name.clone(), 0, code, end, false);
    let nowhere = ("no topic".to_owned(), 0, ErrorCode::UNKNOWN_TOPIC_ID, -1, false);

    let deleted = client.delete_topics(&[&name]).await?;
    same("deleted", deleted.len(), 1)?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let gone = row(ErrorCode::UNKNOWN_TOPIC_OR_PARTITION, -1);
    same("by id", by_id.next(&[], &[]).await?, vec![nowhere.clone(), gone.clone()])?;
    same("by name", by_name.next(&[], &[]).await?, vec![gone])?;

    create(&client, name.clone()).await?;
    (by_id.max_wait_ms, by_name.max_wait_ms) = (10_000, 0);
    let other = row(ErrorCode::INCONSISTENT_TOPIC_ID, -1);
    same("by id", by_id.next(&[], &[]).await?, vec![other, nowhere])?;
    same("by name", by_name.next(&[], &[]).await?, vec![row(ErrorCode::NONE, 0)])
}
