//! Damaged bytes of every version of every message: nothing panics, the typed structs and the codec that works by the
//! spec's text are of one mind, and memory stays within what [`Limits`] promises.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its bytes has failed")]

mod mutate;

use allocation_counter::measure;
use milena_messages::{Message as Typed, MessageVisitor, visit_message};
use milena_schema::{JSON_LIMITS, MessageSpec, Spec};
use milena_wire::{Bytes, Error, ErrorKind, Limits, Reader, Result};

use mutate::{Random, mutate};

/// Damaged copies of the bytes of each pair.
const ROUNDS: usize = 12;
/// So many places at most are damaged in one of them.
const DEPTH: usize = 3;

/// What the typed struct makes of bytes: the bytes that it leaves, and those that it writes.
type Read = Result<(usize, Result<Bytes>)>;

struct Probe {
    bytes: Bytes,
    version: i16,
    limits: Limits,
}

// One visitor for all, so that each message is compiled for it once.
impl MessageVisitor for Probe {
    type Output = (Read, u64);

    fn visit<M: Typed>(self) -> Self::Output {
        let mut reader = Reader::with_limits(self.bytes, self.limits);
        let mut message = None;
        let peak = measure(|| message = Some(M::decode(&mut reader, self.version))).bytes_max;
        let read = message.expect("it was measured").map(|message| {
            let written = message.to_bytes(self.version);
            if let Ok(bytes) = &written {
                let mut again = Reader::with_limits(bytes.clone(), JSON_LIMITS);
                let same = M::decode(&mut again, self.version).and_then(|message| message.to_bytes(self.version));
                assert_eq!((same.as_ref(), again.remaining()), (Ok(bytes), 0));
            }
            (reader.remaining(), written)
        });
        (read, peak)
    }
}

fn typed(message: &MessageSpec, bytes: Bytes, version: i16, limits: Limits) -> (Read, u64) {
    let probe = Probe { bytes, version, limits };
    visit_message(&message.name, probe).unwrap_or_else(|| panic!("no struct for {}", message.name))
}

/// Every (message, version) of the spec, with the bytes of a sample.
fn samples() -> impl Iterator<Item = (&'static MessageSpec, i16, Bytes)> {
    let pairs = Spec::kafka().messages.iter().flat_map(|message| message.versions.iter().map(move |v| (message, v)));
    pairs.map(|(message, version)| {
        let sample = message.sample_json(version, 1920).unwrap();
        (message, version, message.encode(&sample, version).unwrap())
    })
}

#[test]
fn both_codecs_make_the_same_of_damaged_bytes() {
    let (mut read, mut refused) = (0, 0);
    for (index, (message, version, bytes)) in samples().enumerate() {
        let mut random = Random::new(index as u64);
        for round in 0..ROUNDS {
            let mut damaged = bytes.to_vec();
            for _ in 0..=random.below(DEPTH) {
                mutate(&mut damaged, &mut random);
            }
            let name = format!("{} version {version}, round {round}: {damaged:02x?}", message.name);
            let damaged = Bytes::from(damaged);

            let mut reader = Reader::with_limits(damaged.clone(), JSON_LIMITS);
            let dynamic = message.decode_from(&mut reader, version);
            match (typed(message, damaged.clone(), version, JSON_LIMITS).0, dynamic) {
                // One measures structs, the other JSON.
                (Err(error), _) | (_, Err(error)) if error.kind() == ErrorKind::LimitExceeded => {}
                (Err(typed), Err(dynamic)) => {
                    assert_eq!(typed, dynamic, "{name}");
                    assert_placed(&typed, message, &damaged);
                    refused += 1;
                }
                (Ok((leftover, typed)), Ok(json)) => {
                    assert_eq!(leftover, reader.remaining(), "{name}");
                    match (typed, message.encode(&json, version)) {
                        (Ok(typed), Ok(dynamic)) => assert!(typed == dynamic || is_nan(&typed, &dynamic), "{name}"),
                        (Err(typed), Err(dynamic)) => {
                            assert_eq!(typed.kind(), ErrorKind::InvalidValue, "{name}");
                            assert_eq!(dynamic.kind(), ErrorKind::InvalidValue, "{name}");
                        }
                        (typed, dynamic) => panic!("{name}: typed {typed:?}, schema {dynamic:?}"),
                    }
                    read += 1;
                }
                (typed, dynamic) => panic!("{name}: typed {typed:?}, schema {dynamic:?}"),
            }
        }
    }
    // As damage goes some bytes are as good as before, and some are not.
    assert!(read > 879 && refused > 879, "{read} read, {refused} refused");
}

/// JSON has one NaN: the sizes are the same, and one of the two has what JSON makes of it.
fn is_nan(typed: &[u8], dynamic: &[u8]) -> bool {
    typed.len() == dynamic.len() && dynamic.windows(8).any(|bytes| bytes == f64::NAN.to_be_bytes())
}

fn assert_placed(error: &Error, message: &MessageSpec, bytes: &[u8]) {
    assert!(error.offset().is_some_and(|offset| offset <= bytes.len()), "{error}");
    assert!(error.path().starts_with(&*message.name), "{error}");
}

#[test]
fn cut_off_bytes_are_refused_at_a_byte_and_in_a_field() {
    for (message, version, bytes) in samples() {
        // What ends in no tags may be short of nothing but them: every cut loses something all the same.
        let step = bytes.len() / 16 + 1;
        for end in (0..bytes.len()).step_by(step) {
            let cut = bytes.slice(..end);
            let Err(error) = typed(message, cut.clone(), version, Limits::default()).0 else {
                panic!("{} version {version} is read from {end} of {} bytes", message.name, bytes.len());
            };
            assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
            assert_placed(&error, message, &cut);
        }
    }
}

#[test]
fn damaged_bytes_cost_no_more_memory_than_the_limits_say() {
    let limits = Limits::default();
    for (index, (message, version, bytes)) in samples().enumerate() {
        let mut random = Random::new(!(index as u64));
        for _ in 0..ROUNDS {
            let mut damaged = bytes.to_vec();
            mutate(&mut damaged, &mut random);
            let most = damaged.len() * limits.memory_per_byte + limits.memory_floor;
            let (_, peak) = typed(message, damaged.into(), version, limits);
            assert!(peak <= most as u64, "{} version {version}: {peak} of {most} bytes", message.name);
        }
    }
}
