//! Blobs of groups: what they are, what they could be, and those that tools of others stumbled over.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use bytes::Bytes;
use milena_inspect::blob::{Kind, encode, guess, read};
use milena_schema::Spec;
use serde_json::json;

/// Hex with any spacing.
fn hex(text: &str) -> Bytes {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

/// Two topics with three partitions each, as a consumer of 2.4 sent them: issue 1149 of kafka-go took it for a
/// subscription.
const REPORTED_AS_SUBSCRIPTION: &str = "0001 00000002 000d 746573742d7772697465722d30 00000003 00000000 00000002 00000001 \
    000d 746573742d7772697465722d31 00000003 00000000 00000002 00000001 ffffffff";

#[test]
fn subscriptions_of_every_version_are_read() {
    let cases = [
        ("0000 00000001 0001 74 ffffffff", json!({"topics": ["t"], "userData": null})),
        (
            "0001 00000001 0001 74 00000001 09 00000001 0001 74 00000001 00000005",
            json!({"topics": ["t"], "userData": "CQ==", "ownedPartitions": [{"topic": "t", "partitions": [5]}]}),
        ),
        (
            "0002 00000000 ffffffff 00000000 00000007",
            json!({"topics": [], "userData": null, "ownedPartitions": [], "generationId": 7}),
        ),
        (
            "0003 00000000 ffffffff 00000000 00000007 0002 6131",
            json!({"topics": [], "userData": null, "ownedPartitions": [], "generationId": 7, "rackId": "a1"}),
        ),
    ];
    for (bytes, expected) in cases {
        let blob = read(Kind::Subscription, hex(bytes)).unwrap();
        assert_eq!((&blob.json, blob.leftover), (&expected, 0), "{bytes}");
        assert_eq!(encode(Kind::Subscription, blob.version, &blob.json).unwrap(), hex(bytes));
        assert_eq!(guess(hex(bytes))[0].kind, Kind::Subscription, "{bytes}");
    }
}

#[test]
fn an_assignment_reported_as_a_subscription_is_seen() {
    let as_told = read(Kind::Subscription, hex(REPORTED_AS_SUBSCRIPTION));
    assert!(as_told.is_err() || as_told.unwrap().leftover > 0);
    let guesses = guess(hex(REPORTED_AS_SUBSCRIPTION));
    assert_eq!((guesses[0].kind, guesses[0].leftover), (Kind::Assignment, 0));
    let topics = &guesses[0].json["assignedPartitions"];
    assert_eq!(topics[1], json!({"topic": "test-writer-1", "partitions": [0, 2, 1]}));
    assert_eq!(guesses[0].notes, ["no bytes are left over", "its text is readable"]);
}

#[test]
fn a_subscription_of_version_1_with_bytes_after_it_is_read_and_they_are_named() {
    // Version 1 with what version 2 has after it, as some clients send it: issue 1808 of sarama.
    let blob = read(Kind::Subscription, hex("0001 00000001 0001 74 ffffffff 00000000 ffffffff")).unwrap();
    assert_eq!((blob.version, blob.leftover), (1, 4));
    assert_eq!(blob.notes, ["4 bytes left over, from byte 17"]);
    assert_eq!(blob.to_json()["leftover"], "/////w==");
    assert_eq!(guess(hex("0001 00000001 0001 74 ffffffff 00000000 ffffffff"))[0].kind, Kind::Subscription);
}

#[test]
fn a_version_of_the_future_is_read_as_the_highest_known() {
    let blob = read(Kind::Assignment, hex("0009 00000001 0001 74 00000001 00000003 ffffffff 1234")).unwrap();
    assert_eq!((blob.version, blob.part.version, blob.leftover), (9, 3, 2));
    assert!(blob.notes[0].contains("version 9 is not known and was read as 3"));
    assert!(read(Kind::Assignment, hex("ffff 00000000 ffffffff")).unwrap_err().to_string().contains("version -1"));
}

#[test]
fn connect_speaks_three_versions() {
    let eager = "0000 0012 687474703a2f2f612e622e633a383038332f 0000000000000007";
    let blob = &guess(hex(eager))[0];
    assert_eq!((blob.kind, &blob.json["configOffset"]), (Kind::ConnectSubscription, &7.into()));
    assert_eq!(blob.json["url"], "http://a.b.c:8083/");
    let sessioned = format!("{} ffffffff", eager.replacen("0000", "0002", 1));
    assert_eq!(guess(hex(&sessioned))[0].json["allocation"], json!(null));

    let assignment = "0001 0000 0001 6c 0008 687474703a2f2f61 0000000000000007 \
        00000001 0001 63 00000002 ffffffff 00000000 ffffffff 00000000";
    let blob = &guess(hex(assignment))[0];
    assert_eq!((blob.kind, blob.leftover), (Kind::ConnectAssignment, 0));
    assert_eq!(blob.json["assignment"], json!([{"connector": "c", "tasks": [-1, 0]}]));
    assert_eq!(blob.json["revoked"], json!(null));
    assert_eq!(encode(blob.kind, 1, &blob.json).unwrap(), hex(assignment));
}

#[test]
fn user_data_is_named_by_what_fits() {
    let subscription = |user_data: &str| {
        let user_data = hex(user_data);
        let mut bytes = hex("0000 00000001 0001 74").to_vec();
        bytes.extend((user_data.len() as i32).to_be_bytes());
        bytes.extend(user_data);
        read(Kind::Subscription, bytes.into()).unwrap().inner.pop().map(|(_, blob)| blob)
    };
    let sticky = subscription("00000001 0001 74 00000002 00000000 00000003 00000005").unwrap();
    assert_eq!((sticky.kind, sticky.version, &sticky.json["generation"]), (Kind::StickyUserData, 1, &5.into()));
    let older = subscription("00000001 0001 74 00000001 00000000").unwrap();
    assert_eq!((older.kind, older.version), (Kind::StickyUserData, 0));
    let cooperative = subscription("00000005").unwrap();
    assert_eq!((cooperative.kind, &cooperative.json["generation"]), (Kind::CooperativeStickyUserData, &5.into()));
    assert!(subscription("deadbeefdeadbeef").is_none());
}

#[test]
fn streams_is_read_at_every_version() {
    let message = Spec::kafka().message("SubscriptionInfoData").unwrap();
    for version in message.versions.iter() {
        let mut json = message.default_json(version).unwrap();
        json["version"] = version.into();
        let blob = &guess(encode(Kind::StreamsSubscription, version, &json).unwrap())[0];
        assert_eq!((blob.kind, blob.version, &blob.json), (Kind::StreamsSubscription, version, &json));
    }
    assert!(read(Kind::StreamsSubscription, hex("0000000c 00")).is_err());
}

#[test]
fn what_is_no_blob_is_nothing() {
    for bytes in ["", "00", "ffff ffff ffff", "deadbeef deadbeef"] {
        assert!(guess(hex(bytes)).is_empty(), "{bytes}");
    }
}
