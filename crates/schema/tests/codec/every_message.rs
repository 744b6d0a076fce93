//! Laws that hold for every message.

use super::*;

/// Checks that a struct has every field of the layout, at another value than the default.
fn full(json: &Value, fields: &[LayoutField<'_>], flexible: bool, path: &str) {
    let map = json.as_object().expect(path);
    assert_eq!(map.len(), fields.len() + usize::from(flexible), "{path}");
    assert_eq!(map.contains_key(UNKNOWN_TAGGED_FIELDS), flexible, "{path}");
    for field in fields {
        let path = format!("{path}.{}", field.field.json_name);
        let value = &map[&field.field.json_name];
        assert!(!value.is_null() && *value != field.default, "{path} is {value}");
        match value {
            Value::Array(elements) => {
                assert!(elements.len() >= 2, "{path}");
                if field.field.ty.struct_id().is_some() {
                    elements.iter().for_each(|element| full(element, &field.fields, flexible, &path));
                }
            }
            Value::Object(_) => full(value, &field.fields, flexible, &path),
            _ => {}
        }
    }
}

#[test]
fn samples_hold_every_field_of_their_version() {
    for message in &Spec::kafka().messages {
        for version in message.versions.iter() {
            let json = message.sample_json(version, 7).unwrap();
            let layout = message.layout(version).unwrap();
            full(&json, &layout.fields, layout.flexible, &message.name);
            assert_eq!(json, message.sample_json(version, 7).unwrap());
        }
    }
}

#[test]
fn notes_cover_the_message() {
    for message in &Spec::kafka().messages {
        let version = message.versions.max();
        let json = message.sample_json(version, 3).unwrap();
        let wire = message.encode(&json, version).unwrap();
        let annotated = message.decode_annotated(wire.clone(), version);
        assert_eq!(annotated.outcome.unwrap().json, json);
        let notes = annotated.notes;
        assert_eq!(notes[0].range, 0..wire.len());
        let mut above: Vec<&milena_schema::Note> = Vec::new();
        let mut end = 0;
        for note in &notes {
            above.truncate(note.depth);
            if let Some(parent) = above.last() {
                assert!(note.path.starts_with(&parent.path), "{} in {}", note.path, parent.path);
                assert!(parent.range.start <= note.range.start && note.range.end <= parent.range.end, "{}", note.path);
            }
            assert!(note.range.start >= end && note.content != NoteContent::Failed, "{} {}", note.path, end);
            end = if matches!(note.content, NoteContent::Value(_)) { note.range.end } else { note.range.start };
            above.push(note);
        }
    }
}

#[test]
fn notes_tell_fields_and_bytes() {
    let wire = bytes("00000001 0003 c3a161 01 03 d00f 01 05 00");
    let annotated = message("MetadataRequest").decode_annotated(bytes("00000001 0003 c3a161"), 1);
    let notes: Vec<_> = annotated.notes.iter().map(|n| (n.path.as_str(), n.ty.as_str(), n.range.clone())).collect();
    assert_eq!(
        notes,
        [
            ("MetadataRequest", "MetadataRequest", 0..9),
            ("MetadataRequest.topics", "[]MetadataRequestTopic?", 0..9),
            ("MetadataRequest.topics[0]", "MetadataRequestTopic", 4..9),
            ("MetadataRequest.topics[0].name", "string", 4..9),
        ]
    );
    assert_eq!(annotated.notes[3].content, NoteContent::Value(json!("áa")));
    assert_eq!(annotated.notes[1].content, NoteContent::Array(1));

    let cut = message("MetadataRequest").decode_annotated(wire.slice(..7), 1);
    assert_eq!(cut.notes.len(), 4);
    assert!(cut.notes.iter().all(|note| note.content == NoteContent::Failed));
    assert_eq!(cut.outcome.unwrap_err().path(), "MetadataRequest.topics[0].name");

    let tagged = message("BeginTransactionRecord").decode_annotated(bytes("02 d00f 01 07 00 02 0261"), 0);
    let notes: Vec<_> = tagged.notes.iter().map(|n| (n.name.as_str(), n.tag, n.range.clone())).collect();
    assert_eq!(
        notes,
        [
            ("BeginTransactionRecord", None, 0..9),
            ("_unknownTaggedFields[0]", Some(2000), 4..5),
            ("name", Some(0), 7..9),
        ]
    );
    assert_eq!(tagged.notes[1].to_json()["value"], json!("Bw=="));
}

#[test]
fn a_message_cut_off_anywhere_is_an_error_with_a_place() {
    for message in &Spec::kafka().messages {
        let version = message.versions.max();
        let wire = message.encode(&message.sample_json(version, 5).unwrap(), version).unwrap();
        for length in (0..wire.len()).step_by(1 + wire.len() / 40) {
            let error = message.decode(wire.slice(..length), version).unwrap_err();
            assert!(
                error.path().starts_with(&message.name) && error.offset().is_some_and(|at| at <= length),
                "{error}"
            );
            let annotated = message.decode_annotated(wire.slice(..length), version);
            assert_eq!(annotated.outcome.unwrap_err(), error);
        }
    }
}

/// What stands in a JSON form and is a number, text or an id, in the order of the spec.
fn scalars(json: &Value, fields: &[LayoutField<'_>], out: &mut Vec<String>) {
    for field in fields {
        let value = &json[&field.field.json_name];
        let elements = if let Value::Array(elements) = value { elements.clone() } else { vec![value.clone()] };
        for element in elements {
            match element {
                Value::Object(_) => scalars(&element, &field.fields, out),
                Value::Bool(value) => out.push(format!("{} {}", field.field.name, u8::from(value))),
                Value::Number(number) => out.push(format!("{} {number}", field.field.name)),
                Value::String(text) if !matches!(field.field.ty, Type::Bytes | Type::Records) => {
                    out.push(format!("{} {text}", field.field.name));
                }
                _ => {}
            }
        }
    }
}

#[test]
fn a_scan_shows_what_the_json_has() {
    for message in &Spec::kafka().messages {
        for version in message.versions.iter() {
            let json = message.sample_json(version, 5).unwrap();
            let wire = message.encode(&json, version).unwrap();
            let mut seen = Vec::new();
            let leftover = message.scan(wire.clone(), version, |field, value| {
                if let Scalar::Bytes(bytes) = &value {
                    assert!(wire.as_ptr_range().contains(&bytes.as_ptr()) || bytes.is_empty(), "{}", field.name);
                    return;
                }
                seen.push(match value {
                    Scalar::Integer(number) => format!("{} {number}", field.name),
                    Scalar::Text(text) => format!("{} {text}", field.name),
                    Scalar::Uuid(id) => format!("{} {id}", field.name),
                    Scalar::Float(number) => format!("{} {number:?}", field.name),
                    _ => unreachable!(),
                });
            });
            assert_eq!(leftover, Ok(0));
            let mut expected = Vec::new();
            scalars(&json, &message.layout(version).unwrap().fields, &mut expected);
            // Tagged fields come last on the wire.
            seen.sort();
            expected.sort();
            assert_eq!(seen, expected, "{} {version}", message.name);
            let Some(last) = wire.len().checked_sub(1) else { continue };
            let cut = wire.slice(..last);
            let error = message.decode(cut.clone(), version).unwrap_err();
            assert_eq!(message.scan(cut, version, |_, _| {}).unwrap_err().to_string(), error.to_string());
        }
    }
}

#[test]
fn a_finder_finds_what_a_scan_shows_and_where_it_is() {
    let is_wanted = |field: &Field| field.entity.is_some();
    for message in &Spec::kafka().messages {
        for version in message.versions.iter() {
            let wire = message.encode(&message.sample_json(version, 9).unwrap(), version).unwrap();
            let mut scanned = Vec::new();
            let show = |field: &Field, value: Scalar| format!("{} {value:?}", field.name);
            message
                .scan(wire.clone(), version, |field, value| {
                    scanned.extend(is_wanted(field).then(|| show(field, value)));
                })
                .unwrap();
            // The frame is somewhere inside of other bytes.
            let frame = Bytes::from([b"size", &wire[..], b"rest"].concat());
            let finder = message.finder(version, |_, field| is_wanted(field)).unwrap();
            assert!(finder.finds_anything() || scanned.is_empty());
            let mut found = Vec::new();
            let left = finder.walk(&frame, 4, |one| {
                found.push(show(one.field, one.value.clone()));
                let bytes = &frame[one.range.clone()];
                match one.value {
                    Scalar::Integer(number) => assert_eq!(bytes, &number.to_be_bytes()[8 - bytes.len()..]),
                    Scalar::Text(text) => assert!(bytes.ends_with(text.as_bytes()) && bytes.len() <= text.len() + 3),
                    Scalar::Uuid(id) => assert_eq!(bytes, id.as_bytes()),
                    _ => {}
                }
                for tag in one.tags {
                    assert!(tag.at.end <= one.range.start && one.range.end <= tag.at.end + tag.size as usize);
                }
            });
            assert_eq!((left, &found), (Ok(4), &scanned), "{} {version}", message.name);
            // Without the last byte it ends at the same place, or before it gets there.
            if let Some(last) = wire.len().checked_sub(1) {
                assert!(finder.walk(&wire.slice(..last), 0, |_| {}).is_err(), "{} {version}", message.name);
                let finder = finder.until_last();
                let mut early = Vec::new();
                finder.walk(&wire, 0, |one| early.push(show(one.field, one.value))).unwrap();
                assert_eq!(early, scanned, "{} {version}", message.name);
            }
        }
    }
}

#[test]
fn the_size_of_a_tagged_field_matters_to_who_wants_it_exact() {
    // FetchResponse 16 without anything but NodeEndpoints (tag 0): node 1 at "h:9092" without a rack, said to take `size` bytes.
    let wire = |size: u8| {
        let head = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, size];
        let node = [2, 0, 0, 0, 1, 2, b'h', 0, 0, 0x23, 0x84, 0, 0];
        Bytes::from([&head[..], &node].concat())
    };
    let message = Spec::kafka().message("FetchResponse").unwrap();
    let finder = || message.finder(16, |_, field| field.name == "Host").unwrap();
    let mut found = Vec::new();
    finder().with_exact_tags().walk(&wire(13), 0, |one| found.push((one.range, one.tags.to_vec()))).unwrap();
    assert_eq!(found, [(19..21, vec![TagSize { at: 13..14, size: 13 }])]);
    assert!(finder().walk(&wire(12), 0, |_| {}).is_ok());
    assert!(finder().with_exact_tags().walk(&wire(12), 0, |_| {}).is_err());
    assert!(finder().walk(&wire(13), 99, |_| {}).is_err());
}

#[test]
fn the_json_that_is_written_is_that_of_the_values() {
    for message in &Spec::kafka().messages {
        for version in message.versions.iter() {
            for json in [message.default_json(version), message.sample_json(version, 3), message.example_json(version)]
            {
                let wire = message.encode(&json.unwrap(), version).unwrap();
                let mut out = b"before ".to_vec();
                let leftover = message.write_json([&wire[..], b"!"].concat().into(), version, &mut out);
                assert_eq!(leftover, Ok(1), "{} {version}", message.name);
                let expected = format!("before {}", message.decode(wire.clone(), version).unwrap().json);
                assert_eq!(String::from_utf8(out).unwrap(), expected, "{} {version}", message.name);
                for part in 0..wire.len().min(4) {
                    let end = wire.len() * part / 4;
                    let cut = wire.slice(..end);
                    let mut out = b"before ".to_vec();
                    let Err(error) = message.write_json(cut.clone(), version, &mut out) else { panic!("{end}") };
                    assert_eq!(out, b"before ");
                    assert_eq!(error.to_string(), message.decode(cut, version).unwrap_err().to_string());
                }
            }
        }
    }
}

#[test]
fn tagged_fields_are_written_in_the_order_of_the_spec_the_last_of_several_and_no_defaults() {
    let message = Spec::kafka().message("ApiVersionsResponse").unwrap();
    // No error, one API, no throttling; then tags 3, 1, 9, 1 and 3 again, of which the last is the default.
    let wire = b"\0\0\x02\0\x12\0\0\0\x04\0\0\0\0\0\x05\x03\x01\x01\x01\x08\0\0\0\0\0\0\0\x01\x09\x02ab\x01\x08\0\0\0\0\0\0\0\x02\x03\x01\0";
    let mut out = Vec::new();
    assert_eq!(message.write_json(wire.to_vec().into(), 4, &mut out), Ok(0));
    let expected = r#"{"errorCode":0,"apiKeys":[{"apiKey":18,"minVersion":0,"maxVersion":4}],"throttleTimeMs":0,"#
        .to_owned()
        + r#""finalizedFeaturesEpoch":2,"_unknownTaggedFields":[{"tag":9,"data":"YWI="}]}"#;
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}
