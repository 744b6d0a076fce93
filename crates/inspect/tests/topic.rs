//! Records of Kafka's own topics, those that nobody should meet included.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use base64::Engine as _;
use milena_inspect::topic::{RecordContent, TopicReader, TopicRecord};

/// Hex with any spacing.
fn hex(text: &str) -> Vec<u8> {
    let digits: String = text.split_whitespace().collect();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

fn read(topic: &str, key: &str, value: &str) -> TopicRecord {
    let (key, value) = (hex(key), hex(value));
    let some = |bytes: &Vec<u8>| (!bytes.is_empty()).then(|| bytes.clone());
    TopicReader::for_topic(topic).unwrap().decode(some(&key).as_deref(), some(&value).as_deref())
}

fn why(content: &RecordContent) -> &str {
    match content {
        RecordContent::Raw { why, .. } => why,
        other => panic!("{other:?} is understood"),
    }
}

const OFFSETS: &str = "__consumer_offsets";
const OFFSET_KEY: &str = "0001 0001 67 0001 74 00000003";

#[test]
fn a_committed_offset_and_its_deletion() {
    let record = read(OFFSETS, OFFSET_KEY, "0003 000000000000002a 00000007 0002 6869 000001a22bc9b40b");
    let expected = serde_json::json!({
        "name": "OffsetCommit",
        "key": {"type": 1, "name": "OffsetCommitKey", "data": {"group": "g", "topic": "t", "partition": 3}},
        "value": {"version": 3, "name": "OffsetCommitValue", "data": {
            "offset": 42, "leaderEpoch": 7, "metadata": "hi", "commitTimestamp": 1_796_030_968_843_u64,
        }},
    });
    assert_eq!(record.to_json(), expected);
    assert!(record.is_understood() && !record.is_deletion());

    let record = read(OFFSETS, OFFSET_KEY, "");
    assert!(record.is_understood() && record.is_deletion());
    assert_eq!(record.to_json()["deletion"], true);
}

#[test]
fn a_group_of_version_3_has_members_with_blobs() {
    let value = "0003 0008 636f6e73756d6572 00000002 0005 72616e6765 0002 6d31 000001a22bc9b40b 00000001 \
        0002 6d31 ffff 0001 63 0002 2f61 00002710 00002710 00000004 deadbeef 00000000";
    let record = read(OFFSETS, "0002 0001 67", value);
    let json = record.value.json().unwrap();
    assert_eq!(record.name, Some("GroupMetadata"));
    assert_eq!((&json["protocolType"], &json["generation"]), (&"consumer".into(), &2.into()));
    assert_eq!(json["members"][0]["groupInstanceId"], serde_json::Value::Null);
    assert_eq!(json["members"][0]["subscription"], "3q2+7w==");
    assert!(record.notes.is_empty() && record.is_understood());
}

#[test]
fn a_key_cut_to_4_bytes_is_kept_and_so_is_its_value() {
    let record = read(OFFSETS, "0001 0001", "0003 000000000000002a 00000007 0002 6869 000001a22bc9b40b");
    assert!(why(&record.key).contains("OffsetCommitKey.group"), "{}", why(&record.key));
    assert_eq!(record.to_json()["key"]["raw"], "AAEAAQ==");
    assert_eq!(record.value.json().unwrap()["offset"], 42);
    assert!(!record.is_understood());
    for (key, expected) in [("00", "1 byte is too few for a type"), ("0001", "OffsetCommitKey.group")] {
        assert!(why(&read(OFFSETS, key, "0003").key).contains(expected), "{key}");
    }
}

#[test]
fn types_of_newer_releases_are_read_and_those_above_all_are_kept() {
    // A member of a KIP-848 group: type 5, flexible.
    let record = read(OFFSETS, "0003 0001 67", "0000 00000005 00");
    assert_eq!((record.name, &record.value.json().unwrap()["epoch"]), (Some("ConsumerGroupMetadata"), &5.into()));
    let record = read(OFFSETS, "0063 0001 67", "0000 00000005 00");
    assert_eq!((record.name, why(&record.key)), (None, "type 99 is above those known, the highest is 23"));
    assert_eq!(record.to_json()["value"]["raw"], "AAAAAAAFAA==");
    // 18 was given to a record that never shipped.
    assert_eq!(why(&read(OFFSETS, "0012 0001 67", "").key), "type 18 is not known");
    assert!(why(&read(OFFSETS, OFFSET_KEY, "0009 00").value).contains("no version 9"));
}

#[test]
fn the_oldest_type_of_an_offset_has_values_of_later_versions() {
    let key = "0000 0001 67 0001 74 00000003";
    let record = read(OFFSETS, key, "0000 000000000000002a 0000 000001a22bc9b40b");
    assert_eq!(record.to_json()["value"]["name"], "LegacyOffsetCommitValue");
    let record = read(OFFSETS, key, "0001 000000000000002a 0000 000001a22bc9b40b ffffffffffffffff");
    assert_eq!(record.value.json().unwrap()["expireTimestamp"], -1);
}

#[test]
fn a_transaction_and_a_share_partition() {
    let record = read(
        "__transaction_state",
        "0000 0002 7478",
        "0000 0000000000000fa0 0001 0000ea60 01 00000001 0001 74 00000001 00000002 000001a22bc9b40b 000001a22bc9b40b",
    );
    let json = record.value.json().unwrap();
    assert_eq!((record.name, &record.key.json().unwrap()["transactionalId"]), (Some("TransactionLog"), &"tx".into()));
    assert_eq!((&json["producerId"], &json["transactionPartitions"][0]["topic"]), (&4000.into(), &"t".into()));

    let key = "0000 0001 73 00000000000000000000000000000007 00000001";
    let record = read("__share_group_state", key, "");
    assert_eq!(record.name, Some("ShareSnapshot"));
    assert!(record.is_understood() && record.is_deletion());
}

#[test]
fn records_of_the_metadata_log_have_three_numbers_in_front() {
    let topic = "01 02 00 08 6c657474657273 00000000000000000000000000000007 00";
    let record = read("__cluster_metadata", "", topic);
    let expected = serde_json::json!({
        "name": "TopicRecord", "key": null,
        "value": {"frameVersion": 1, "type": 2, "version": 0, "name": "TopicRecord", "data": {
            "name": "letters", "topicId": "AAAAAAAAAAAAAAAAAAAABw",
        }},
    });
    assert_eq!(record.to_json(), expected);
    let record = read("__cluster_metadata", "", &format!("{topic} 0102"));
    assert_eq!(record.notes, ["unexpected 2 bytes after the value, from byte 28 of it"]);
    assert_eq!(record.to_json()["value"]["leftover"], "AQI=");

    for (value, expected) in [
        ("00 02 00", "frame version 0 is not known, 1 is"),
        ("01 28 00", "type 40 is above those known, the highest is 29"),
        ("01 0d 00", "type 13 is not known"),
        ("01 02 09 00", "no version 9"),
        ("01 ff", "varint cut off (at byte 1)"),
    ] {
        let record = read("__cluster_metadata", "", value);
        assert!(why(&record.value).contains(expected), "{value}: {}", why(&record.value));
    }
    let record = read("__cluster_metadata", "00", topic);
    assert!(!record.is_understood() && record.name == Some("TopicRecord"));
}

#[test]
fn a_number_with_two_uses_is_the_one_that_fits() {
    // ClientQuotaRecord: one entity, key, value, remove.
    let new = "01 0e 00 02 05 75736572 06 616c696365 00 04 616263 4059000000000000 00 00";
    assert_eq!(read("__cluster_metadata", "", new).name, Some("ClientQuotaRecord"));
    let old = "01 0e 00 00000001 0004 75736572 0005 616c696365 0003 616263 4059000000000000 00";
    assert_eq!(read("__cluster_metadata", "", old).name, Some("QuotaRecord"));
}

#[test]
fn the_remote_log_counts_for_itself() {
    let value = "01 02 00 02 74 00000000000000000000000000000007 00000003 00 00000001 000001a22bc9b40b 02 00";
    let record = read("__remote_log_metadata", "", value);
    assert_eq!(record.name, Some("RemotePartitionDeleteMetadataRecord"));
    let json = record.value.json().unwrap();
    assert_eq!((&json["topicIdPartition"]["name"], &json["remotePartitionDeleteState"]), (&"t".into(), &2.into()));
    assert_eq!(read("__cluster_metadata", "", value).name, Some("TopicRecord"), "each log counts for itself");
    assert_eq!(TopicReader::for_topic("letters"), None);
    assert_eq!(TopicReader::topics().len(), 5);
}

#[test]
fn a_version_in_front_of_each_member_is_redpandas() {
    // A worker of Connect as Redpanda stored it: issue 799 of franz-go.
    let value = "\
        AAMAB2Nvbm5lY3QAAAAJAAlzZXNzaW9uZWQAPGNvbm5lY3QtMTcyLjIzLjAuNTo4MDgzLTRhNjQ2YTJjLTQ5YjMtNDE4ZC05MjJlLWY4ZDdkMj\
        k4MTRjYgAAAZEZRlAJAAAAAQADADxjb25uZWN0LTE3Mi4yMy4wLjU6ODA4My00YTY0NmEyYy00OWIzLTQxOGQtOTIyZS1mOGQ3ZDI5ODE0Y2L/\
        /wAXY29ubmVjdC0xNzIuMjMuMC41OjgwODMACjE3Mi4yMy4wLjUAAOpgAAAnEAAAAJYAAgAXaHR0cDovLzE3Mi4yMy4wLjU6ODA4My8AAAAAAA\
        AAMQAAAG8AAgAAADxjb25uZWN0LTE3Mi4yMy4wLjU6ODA4My0wNDhmYzNkNC1lZTJkLTQ1NDgtYWIzYi01MWI1NWFjNDQxZjcAF2h0dHA6Ly8x\
        NzIuMjMuMC41OjgwODMvAAAAAAAAAC0AAAAAAAAAAAAAAAAAAABvAAIAAAA8Y29ubmVjdC0xNzIuMjMuMC41OjgwODMtNGE2NDZhMmMtNDliMy\
        00MThkLTkyMmUtZjhkN2QyOTgxNGNiABdodHRwOi8vMTcyLjIzLjAuNTo4MDgzLwAAAAAAAAAxAAAAAAAAAAAAAAAA";
    let value = base64::engine::general_purpose::STANDARD.decode(value).unwrap();
    let record = TopicReader::for_topic(OFFSETS).unwrap().decode(Some(&hex("0002 0001 67")), Some(&value));
    let json = record.value.json().unwrap();
    assert_eq!((&json["protocol"], &json["generation"]), (&"sessioned".into(), &9.into()));
    let member = &json["members"][0];
    assert_eq!((&member["clientHost"], &member["sessionTimeout"]), (&"172.23.0.5".into(), &10_000.into()));
    assert_eq!(
        record.notes,
        ["the version stands in front of each member too, as Redpanda writes it; ranges count without those"]
    );

    let [(path, subscription), (_, assignment)] = &record.blobs[..] else { panic!("{:?}", record.blobs) };
    assert_eq!((path.as_str(), subscription.version), ("members[0].subscription", 2));
    assert_eq!((&subscription.json["url"], subscription.leftover), (&"http://172.23.0.5:8083/".into(), 0));
    assert_eq!(subscription.inner[0].1.json["configOffset"], 45);
    assert_eq!((&assignment.json["configOffset"], &assignment.json["delay"]), (&49.into(), &0.into()));
}
