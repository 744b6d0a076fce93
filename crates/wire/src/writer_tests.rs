use super::*;
use crate::Reader;

#[test]
fn lengths_of_both_dialects_are_those_of_the_protocol() {
    let mut w = Writer::new();
    w.string("ab", false).unwrap();
    w.string("ab", true).unwrap();
    w.nullable_string(None, false).unwrap();
    w.nullable_string(None, true).unwrap();
    w.nullable_bytes(None, false).unwrap();
    w.bytes(&Bytes::from_static(b"x"), true).unwrap();
    assert_eq!(&w.into_bytes()[..], b"\0\x02ab\x03ab\xff\xff\0\xff\xff\xff\xff\x02x");
}

#[test]
fn a_string_of_32768_bytes_is_refused() {
    let text = "x".repeat(MAX_STRING_BYTES + 1);
    assert_eq!(Writer::new().string(&text, true).unwrap_err().kind(), ErrorKind::InvalidValue);
    assert!(Writer::new().string(&text[1..], false).is_ok());
}

#[test]
fn segments_hold_the_same_bytes_and_share_the_payload() {
    let payload = Bytes::from(vec![7; 5000]);
    let write = |w: &mut Writer| {
        w.i32(0);
        w.bytes(&payload, false).unwrap();
        w.i16(5);
        w.patch_i32(0, 9);
    };
    let (mut one, mut many) = (Writer::new(), Writer::in_segments(1024));
    write(&mut one);
    write(&mut many);
    assert_eq!(one.len(), many.len());
    let segments = many.into_segments();
    assert_eq!(segments.len(), 3);
    assert_eq!(segments[1].as_ptr(), payload.as_ptr());
    assert_eq!(segments.concat(), one.into_bytes());
}

#[test]
fn truncate_takes_back_what_was_kept_apart() {
    let mut w = Writer::in_segments(4);
    w.i32(1);
    let mark = w.len();
    w.bytes(&Bytes::from_static(b"12345678"), false).unwrap();
    w.i32(2);
    w.truncate(mark);
    assert_eq!(&w.into_bytes()[..], &[0, 0, 0, 1]);
}

#[test]
fn tags_are_written_in_order_around_the_known_ones() {
    let mut unknown = UnknownTags::default();
    unknown.push(0, Bytes::from_static(b"a"));
    unknown.push(5, Bytes::from_static(b"b"));
    let mut w = Writer::new();
    let mut tags = w.tags(1, &unknown);
    tags.field(3, true, |w| w.string(&"y".repeat(200), true)).unwrap();
    tags.finish().unwrap();
    let bytes = w.into_bytes();
    assert_eq!(&bytes[..8], &[3, 0, 1, b'a', 3, 0xca, 0x01, 0xc9]);
    let mut seen = Vec::new();
    let rest = Reader::new(bytes)
        .tags(|r, tag| {
            seen.push(tag);
            if tag == 3 { r.string(true).map(|_| true) } else { Ok(false) }
        })
        .unwrap();
    assert_eq!(seen, [0, 3, 5]);
    assert_eq!(rest, unknown);
}

#[test]
fn unknown_tags_out_of_order_or_range_or_of_a_known_number_are_refused() {
    let mut unknown = UnknownTags::default();
    unknown.push(5, Bytes::new());
    unknown.push(5, Bytes::new());
    assert!(Writer::new().unknown_tags(&unknown, true).is_err());
    assert!(Writer::new().unknown_tags(&unknown, false).is_err());
    assert!(Writer::new().tags(0, &unknown).field(5, false, |_| Ok(())).is_err());
    let mut unknown = UnknownTags::default();
    unknown.push(0x7fff_ffff, Bytes::new());
    assert!(Writer::new().unknown_tags(&unknown, true).is_err());
}
