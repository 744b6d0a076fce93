//! The typed structs and the codec that works by the spec's text are two implementations of one protocol: for every
//! version of every message they give the same bytes.

use milena_messages::{ApiKey, ErrorCode, MESSAGE_VERSIONS, MESSAGES, Message as Typed, MessageVisitor, visit_message};
use milena_schema::{JSON_LIMITS, MessageSpec, Spec};
use milena_wire::{Bytes, Reader};

/// Values that are not the default, in every field.
const SEEDS: [u64; 3] = [1, 2, 1920];

/// What the typed struct makes of bytes: the bytes that it writes, how many it left, and whether all was default.
struct Again(Bytes, i16);

impl MessageVisitor for Again {
    type Output = (Bytes, usize, bool);

    fn visit<M: Typed>(self) -> Self::Output {
        let Self(bytes, version) = self;
        let mut reader = Reader::new(bytes);
        let message = M::decode(&mut reader, version).unwrap_or_else(|error| panic!("version {version}: {error}"));
        let again = message.to_bytes(version).unwrap_or_else(|error| panic!("version {version}: {error}"));
        (again, reader.remaining(), message == M::default())
    }
}

/// The bytes of a struct that nobody filled in, and whether they are read as one.
struct Default(i16);

impl MessageVisitor for Default {
    type Output = (Bytes, bool);

    fn visit<M: Typed>(self) -> Self::Output {
        let bytes = M::default().to_bytes(self.0).unwrap_or_else(|error| panic!("version {}: {error}", self.0));
        let back = M::from_bytes(bytes.clone(), self.0).is_ok_and(|message| message == M::default());
        (bytes, back)
    }
}

/// Every (message, version) of the spec.
fn pairs() -> impl Iterator<Item = (&'static MessageSpec, i16)> {
    Spec::kafka().messages.iter().flat_map(|message| message.versions.iter().map(move |version| (message, version)))
}

fn visit<V: MessageVisitor>(message: &MessageSpec, visitor: V) -> V::Output {
    visit_message(&message.name, visitor).unwrap_or_else(|| panic!("no struct for {}", message.name))
}

#[test]
fn there_is_as_much_as_in_kafka() {
    let spec = Spec::kafka();
    let versions = |key: ApiKey| key.versions().iter().count();
    assert_eq!((spec.apis.len(), ApiKey::all().len()), (95, 95));
    assert_eq!(spec.apis.iter().map(|api| api.versions.iter().count()).sum::<usize>(), 368);
    assert_eq!(ApiKey::all().map(versions).sum::<usize>(), 368);
    assert_eq!((spec.messages.len(), MESSAGES.len()), (292, 292));
    assert_eq!((pairs().count(), MESSAGE_VERSIONS), (879, 879));
    assert_eq!((spec.errors.len(), ErrorCode::all().len()), (138, 138));
}

#[test]
fn both_give_the_same_bytes_with_a_value_in_every_field() {
    for (message, version) in pairs() {
        for seed in SEEDS {
            let name = format!("{} version {version}, seed {seed}", message.name);
            let json = message.sample_json(version, seed).unwrap();
            let bytes = message.encode(&json, version).unwrap();

            let (again, leftover, is_default) = visit(message, Again(bytes.clone(), version));
            assert_eq!(again, bytes, "{name}");
            assert_eq!(leftover, 0, "{name}");
            // What has no fields, and no tags either, has no values.
            assert_eq!(is_default, bytes.is_empty(), "{name}");

            let decoded = message.decode(again, version).unwrap();
            assert_eq!((decoded.json, decoded.leftover), (json, 0), "{name}");
        }
    }
}

#[test]
fn both_give_the_same_bytes_for_defaults() {
    for (message, version) in pairs() {
        let name = format!("{} version {version}", message.name);
        let json = message.default_json(version).unwrap();
        let bytes = message.encode(&json, version).unwrap();
        let (typed, back) = visit(message, Default(version));
        assert_eq!(typed, bytes, "{name}");
        assert!(back, "{name}");
        let (again, leftover, is_default) = visit(message, Again(bytes.clone(), version));
        assert_eq!((again, leftover, is_default), (bytes, 0, true), "{name}");
    }
}

#[test]
fn both_refuse_the_same_cut_off_bytes() {
    for (message, version) in pairs() {
        let json = message.sample_json(version, SEEDS[0]).unwrap();
        let bytes = message.encode(&json, version).unwrap();
        for end in 0..bytes.len().min(200) {
            let mut reader = Reader::with_limits(bytes.slice(..end), JSON_LIMITS);
            let dynamic = message.decode_from(&mut reader, version).unwrap_err();
            let typed = visit(message, Refused(bytes.slice(..end), version));
            let typed = typed.unwrap_or_else(|| panic!("{} version {version} read {end} bytes", message.name));
            assert_eq!(typed, dynamic, "{} version {version}, {end} bytes", message.name);
        }
    }
}

struct Refused(Bytes, i16);

impl MessageVisitor for Refused {
    type Output = Option<milena_wire::Error>;

    fn visit<M: Typed>(self) -> Self::Output {
        M::decode(&mut Reader::with_limits(self.0, JSON_LIMITS), self.1).err()
    }
}
