use std::time::Duration;

use milena_client::{Acks, Client, ClientConfig, Codec, Error, Header, Record};
use milena_connection::IncomingRequest;
use milena_messages::produce::response::{PartitionProduceResponse, TopicProduceResponse};
use milena_messages::{ApiKey, ErrorCode, MetadataRequest, ProduceRequest, ProduceResponse, VersionRange};
use milena_records::Batches;

use crate::broker::{Act, Broker, TOPIC, TOPIC_ID, metadata, respond_with};

fn outcome(error_code: ErrorCode, base_offset: i64) -> Act {
    let partition = PartitionProduceResponse { error_code, base_offset, ..Default::default() };
    let topic = TopicProduceResponse {
        name: TOPIC.into(),
        topic_id: TOPIC_ID,
        partition_responses: vec![partition],
        ..Default::default()
    };
    respond_with::<ProduceRequest>(ProduceResponse { responses: vec![topic], ..Default::default() })
}

fn records() -> Vec<Record> {
    vec![Record::new("k", "v"), Record::from_value("w").with_timestamp(5)]
}

fn brief(broker: &Broker) -> ClientConfig {
    ClientConfig {
        deadline: Duration::from_millis(400),
        unknown_topic_grace: Duration::from_millis(100),
        ..broker.config()
    }
}

/// Responds to Produce by its number, leaves all else to the broker.
async fn producing(mut script: impl FnMut(usize) -> Act + Send + 'static) -> Broker {
    Broker::start(move |nth, request| match request.api_key {
        ApiKey::PRODUCE => script(nth),
        _ => Act::Silence,
    })
    .await
}

#[tokio::test]
async fn a_leader_that_moved_is_looked_up_and_the_batch_sent_again() {
    let broker = producing(|nth| match nth {
        0 => outcome(ErrorCode::NOT_LEADER_OR_FOLLOWER, -1),
        _ => outcome(ErrorCode::NONE, 41),
    })
    .await;
    let outcome = broker.client().await.produce(TOPIC, 0, Acks::All, Codec::None, records()).await.unwrap();
    assert_eq!((outcome.base_offset, outcome.magic, outcome.api_version), (Some(41), 2, 13));
    assert_eq!((broker.seen(ApiKey::PRODUCE), broker.seen(ApiKey::METADATA)), (2, 2));
}

#[tokio::test]
async fn a_leader_that_never_leads_fails_at_the_deadline_with_the_last_cause() {
    let broker = producing(|_| outcome(ErrorCode::NOT_LEADER_OR_FOLLOWER, -1)).await;
    let client = Client::connect(brief(&broker)).await.unwrap();
    let error = client.produce(TOPIC, 0, Acks::All, Codec::None, records()).await.unwrap_err();
    let Error::Deadline { attempts, last, .. } = &error else { panic!("{error}") };
    assert!(*attempts > 1);
    let wanted = format!("{} responded to Produce for letters-0 with NOT_LEADER_OR_FOLLOWER", broker.address);
    assert_eq!(last.to_string(), wanted);
    assert!(milena_client::Report(&error).to_string().ends_with(&wanted));
    assert_eq!(error.code(), Some(ErrorCode::NOT_LEADER_OR_FOLLOWER));
}

#[tokio::test]
async fn a_topic_of_a_moment_ago_is_waited_for_and_one_that_never_comes_is_not() {
    let script = |found_at| {
        move |nth, request: &IncomingRequest| match request.api_key {
            ApiKey::METADATA if nth < found_at => respond_with::<MetadataRequest>(metadata(1, false)),
            ApiKey::PRODUCE => outcome(ErrorCode::NONE, 0),
            _ => Act::Silence,
        }
    };
    let broker = Broker::start(script(2)).await;
    broker.client().await.produce(TOPIC, 0, Acks::All, Codec::None, records()).await.unwrap();
    assert_eq!(broker.seen(ApiKey::METADATA), 3);

    let broker = Broker::start(script(usize::MAX)).await;
    let client = Client::connect(brief(&broker)).await.unwrap();
    let error = client.produce(TOPIC, 0, Acks::All, Codec::None, records()).await.unwrap_err();
    let wanted = format!("{} responded to Metadata for letters with UNKNOWN_TOPIC_OR_PARTITION", broker.address);
    assert_eq!(error.to_string(), wanted);
}

#[tokio::test]
async fn a_partition_that_the_topic_lacks_is_named() {
    let broker = producing(|_| outcome(ErrorCode::NONE, 0)).await;
    let client = Client::connect(brief(&broker)).await.unwrap();
    let error = client.produce(TOPIC, 2, Acks::All, Codec::None, records()).await.unwrap_err();
    assert_eq!(error.to_string(), "letters has no partition 2, it has 2 partitions: 0 to 1");
}

#[tokio::test]
async fn a_batch_that_may_have_been_appended_is_sent_again_only_when_asked_for() {
    let script = |nth| match nth {
        0 => Act::HalfClose,
        _ => outcome(ErrorCode::NONE, 1),
    };
    let broker = producing(script).await;
    let error = broker.client().await.produce(TOPIC, 0, Acks::All, Codec::None, records()).await.unwrap_err();
    assert!(matches!(error, Error::Closed { api: ApiKey::PRODUCE, .. }), "{error}");
    assert_eq!(broker.seen(ApiKey::PRODUCE), 1);

    let broker = producing(script).await;
    let client = Client::connect(ClientConfig { resend_unanswered: true, ..broker.config() }).await.unwrap();
    client.produce(TOPIC, 0, Acks::All, Codec::None, records()).await.unwrap();
    assert_eq!(broker.seen(ApiKey::PRODUCE), 2);
}

#[tokio::test]
async fn acks_0_waits_for_no_response_and_the_connection_goes_on() {
    let broker = Broker::start(|_, request| match request.api_key {
        ApiKey::PRODUCE => {
            let produce: ProduceRequest = request.decode().unwrap();
            match produce.acks {
                0 => Act::Respond(Box::new(|machine, request| machine.respond_nothing(request).unwrap())),
                acks => outcome(ErrorCode::NONE, acks.into()),
            }
        }
        _ => Act::Silence,
    })
    .await;
    let client = broker.client().await;
    let sent = client.produce(TOPIC, 0, Acks::None, Codec::None, records()).await.unwrap();
    assert_eq!(sent.base_offset, None);
    let next = client.produce(TOPIC, 0, Acks::Leader, Codec::None, records()).await.unwrap();
    assert_eq!(next.base_offset, Some(1));
    assert_eq!((broker.seen(ApiKey::PRODUCE), broker.connections()), (2, 1));
}

#[tokio::test]
async fn the_record_format_follows_the_version_that_the_broker_speaks() {
    for (version, magic) in [(0, 0), (1, 0), (2, 1), (3, 2), (13, 2)] {
        let versions = |api: ApiKey| match api {
            ApiKey::PRODUCE => (api, VersionRange::new(0, version)),
            api => (api, api.versions()),
        };
        let broker = Broker::with_versions(ApiKey::all().map(versions).collect(), move |_, request| {
            if request.api_key != ApiKey::PRODUCE {
                return Act::Silence;
            }
            let produce: ProduceRequest = request.decode().unwrap();
            let records = produce.topic_data[0].partition_data[0].records.clone().unwrap();
            let batch = Batches::new(records).next().unwrap().unwrap();
            outcome(ErrorCode::NONE, batch.magic().into())
        })
        .await;
        let client = broker.client().await;
        let outcome = client.produce(TOPIC, 0, Acks::All, Codec::Gzip, records()).await.unwrap();
        assert_eq!((outcome.base_offset, outcome.magic), (Some(magic.into()), magic));

        let mut with_header = records();
        with_header[1].headers.push(Header::new("h", "1"));
        let result = client.produce(TOPIC, 0, Acks::All, Codec::None, with_header).await;
        let zstd = client.produce(TOPIC, 0, Acks::All, Codec::Zstd, records()).await;
        if magic < 2 {
            let wanted =
                format!("1 of 2 records were written: record 1 cannot be written: magic {magic} has no headers");
            assert_eq!(milena_client::Report(&result.unwrap_err()).to_string(), wanted);
        }
        if version < 7 {
            let error = zstd.unwrap_err();
            assert!(matches!(error, Error::Unsupported { api: ApiKey::PRODUCE, .. }), "{error}");
        } else {
            zstd.unwrap();
        }
    }
}
