use super::*;

fn reader(bytes: &'static [u8]) -> Reader {
    Reader::new(Bytes::from_static(bytes))
}

#[test]
fn integers_are_big_endian() {
    let mut r = reader(&[0xff, 0x01, 0x02, 0x80, 0, 0, 1]);
    assert_eq!(r.i8().unwrap(), -1);
    assert_eq!(r.i16().unwrap(), 0x0102);
    assert_eq!(r.i32().unwrap(), i32::MIN + 1);
    let error = r.i64().unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Malformed, Some(7)));
}

#[test]
fn varints_are_read_as_kafka_reads_them() {
    assert_eq!(reader(&[0x81, 0x80, 0x80, 0x80, 0x00]).uvarint().unwrap(), 1);
    assert_eq!(reader(&[0x81, 0x80, 0x80, 0x80, 0x40]).uvarint().unwrap(), 1);
    assert_eq!(reader(&[0xff, 0xff, 0xff, 0xff, 0x0f]).uvarint().unwrap(), u32::MAX);
    assert!(reader(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x00]).uvarint().is_err());
    assert!(reader(&[0x80, 0x80]).uvarint().is_err());
}

#[test]
fn what_is_stepped_over_is_refused_as_what_is_read() {
    let inputs: [&'static [u8]; 8] =
        [&[], &[0], &[1], &[3, b'a', b'b', 9], &[9, b'a'], &[0xff, 0xff], &[0, 1, b'x', 2], &[0xff, 0xff, 0xff, 0xff]];
    type Step = fn(&mut Reader) -> Result<()>;
    let pairs: [(Step, Step); 8] = [
        (|r| r.skip_string(true), |r| r.string(true).map(drop)),
        (|r| r.skip_string(false), |r| r.string(false).map(drop)),
        (|r| r.skip_nullable_string(true), |r| r.nullable_string(true).map(drop)),
        (|r| r.skip_nullable_string(false), |r| r.nullable_string(false).map(drop)),
        (|r| r.skip_bytes(true), |r| r.bytes(true).map(drop)),
        (|r| r.skip_bytes(false), |r| r.bytes(false).map(drop)),
        (|r| r.skip_nullable_bytes(true), |r| r.nullable_bytes(true).map(drop)),
        (|r| r.skip(4), |r| r.i32().map(drop)),
    ];
    for bytes in inputs {
        for (number, (skip, read)) in pairs.iter().enumerate() {
            let (mut skipped, mut taken) = (reader(bytes), reader(bytes));
            assert_eq!(skip(&mut skipped), read(&mut taken), "{bytes:?} {number}");
            assert_eq!(skipped.position(), taken.position(), "{bytes:?} {number}");
        }
    }
}

#[test]
fn null_and_empty_are_different() {
    assert_eq!(reader(&[0xff, 0xff]).nullable_string(false).unwrap(), None);
    assert_eq!(reader(&[0xff, 0xfe]).nullable_string(false).unwrap(), None);
    assert_eq!(reader(&[0, 0]).nullable_string(false).unwrap().as_deref(), Some(""));
    assert_eq!(reader(&[0]).nullable_string(true).unwrap(), None);
    assert_eq!(reader(&[1]).nullable_string(true).unwrap().as_deref(), Some(""));
    assert!(reader(&[0xff, 0xff]).string(false).is_err());
    assert!(reader(&[0]).bytes(true).is_err());
}

#[test]
fn markers_of_structs_are_read_as_java_reads_them() {
    let markers: [(&'static [u8], bool); 4] = [(&[0], false), (&[1], true), (&[2], true), (&[0x7f], true)];
    for (bytes, present) in markers {
        assert_eq!(reader(bytes).tagged_present().unwrap(), present);
        assert!(reader(bytes).present().unwrap());
    }
    assert!(!reader(&[0xff]).present().unwrap());
    assert!(!reader(&[0xff, 0xff, 0xff, 0xff, 0x0f]).tagged_present().unwrap());
}

#[test]
fn a_count_is_checked_before_anything_is_reserved() {
    let error = reader(&[0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0]).array(false, Reader::i64).unwrap_err();
    assert_eq!((error.kind(), error.offset()), (ErrorKind::Malformed, Some(0)));
    let error = reader(&[0x80, 0x80, 0x80, 0x80, 0x08]).int32s(true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
}

#[test]
fn many_large_elements_of_few_bytes_exceed_the_budget() {
    let mut bytes = vec![0, 0x10, 0, 0];
    bytes.resize(0x10_0000 + 4, 0);
    let error = Reader::new(bytes.into()).array(false, |r| r.i8().map(|_| [0u64; 16])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::LimitExceeded);
}

#[test]
fn text_that_is_not_utf8_is_replaced_as_java_does() {
    assert_eq!(reader(&[2, 0xff]).string(true).unwrap(), "\u{FFFD}");
    assert_eq!(reader(&[4, 0xed, 0xa0, 0x80]).string(true).unwrap(), "\u{FFFD}");
    assert_eq!(reader(&[3, 0xed, 0xa0]).string(true).unwrap(), "\u{FFFD}");
    assert_eq!(reader(&[5, b'a', 0xe2, 0x82, b'b']).string(true).unwrap(), "a\u{FFFD}b");
}

#[test]
fn unknown_tags_are_kept_and_a_negative_size_is_refused() {
    let tags = reader(&[1, 0xd0, 0x0f, 2, 7, 8]).unknown_tags(true).unwrap();
    assert_eq!(tags.iter().map(|t| (t.tag, t.data.to_vec())).collect::<Vec<_>>(), [(2000, vec![7, 8])]);
    let error = reader(&[0x01, 0xd0, 0x0f, 0xfe, 0xff, 0xff, 0xff, 0x0f, 0x01]).unknown_tags(true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed);
}
