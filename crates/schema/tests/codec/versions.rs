//! Layouts and their differences.

use super::*;

#[test]
fn layouts_differ_by_what_the_spec_says() {
    let fetch = message("FetchRequest");
    let diff = fetch.layout_diff(12, 15).unwrap();
    let changes: Vec<_> = diff.changes.iter().map(|change| (change.kind.name(), change.path.as_str())).collect();
    assert_eq!(
        changes,
        [
            ("removed", "replicaId"),
            ("added", "replicaState"),
            ("removed", "topics[].topic"),
            ("added", "topics[].topicId"),
            ("removed", "forgottenTopicsData[].topic"),
            ("added", "forgottenTopicsData[].topicId"),
        ]
    );
    assert_eq!(diff.flexible, (true, true));
    assert!(fetch.layout_diff(3, 3).unwrap().changes.is_empty());

    let diff = message("MetadataRequest").layout_diff(9, 10).unwrap();
    let expected = "MetadataRequest version 9 to 10\n+ topics[].topicId  uuid\n~ topics[].name  string? may be null  entity \
                    topicName\n";
    assert_eq!(diff.to_string(), expected);
    assert_eq!(diff.to_json()["changes"][1]["change"], json!("nullable"));
    assert_eq!(message("MetadataRequest").layout_diff(10, 9).unwrap().changes[1].kind.name(), "not nullable");
}

#[test]
fn a_layout_reads_as_a_tree() {
    let layout = message("HeartbeatRequest").layout(4).unwrap();
    let expected = "HeartbeatRequest version 4 of 0-4, flexible\n  \
        GroupId          string   entity groupId\n  \
        GenerationId     int32  // From the last JoinGroup response.\n  \
        MemberId         string\n  \
        GroupInstanceId  string?  default null  // Static membership id (KIP-345); null = dynamic member.\n";
    assert_eq!(layout.to_string(), expected);
    let json = layout.to_json();
    assert_eq!(json["fields"][3]["type"], json!("string?"));
    assert_eq!(json["fields"][3]["default"], json!(null));
    let fetch = message("FetchRequest").layout(15).unwrap().to_json();
    assert_eq!(fetch["fields"][1]["fields"][0]["jsonName"], json!("replicaId"));
    assert_eq!(fetch["fields"][1]["tag"], json!(1));
}
