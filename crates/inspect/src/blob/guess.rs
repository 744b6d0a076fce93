use bytes::Bytes;
use serde_json::Value;

use super::kind::{Kind, Prefix};
use super::read::{Blob, read};

/// Everything that the bytes can be, the best first. What speaks for and against each is in its notes. Empty when they
/// are none of the blobs that are known.
///
/// ```
/// use milena_inspect::blob::{Kind, guess};
///
/// // Topic "t", partition 0, without user data. Read as a subscription it would leave bytes over.
/// let bytes = b"\0\0\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\0\xff\xff\xff\xff";
/// let guesses = guess(bytes[..].into());
/// assert_eq!((guesses[0].kind, guesses[1].kind), (Kind::Assignment, Kind::Subscription));
/// ```
pub fn guess(bytes: Bytes) -> Vec<Blob> {
    let mut guesses: Vec<(i32, Blob)> = Kind::ALL
        .into_iter()
        .filter_map(|kind| read(kind, bytes.clone()).ok())
        // With no version to say so, a beginning that fits means nothing.
        .filter(|blob| blob.leftover == 0 || blob.kind.prefix() == Prefix::Int16)
        .map(|mut blob| (weigh(&mut blob), blob))
        .collect();
    // Stable: of equals the one that is met more often comes first.
    guesses.sort_by_key(|(weight, _)| -weight);
    guesses.into_iter().map(|(_, blob)| blob).collect()
}

/// What stands in the user data of a consumer's subscription; that of assignors of others is not known.
pub(super) fn guess_user_data(bytes: Bytes) -> Option<Blob> {
    [Kind::StreamsSubscription, Kind::StickyUserData, Kind::CooperativeStickyUserData]
        .into_iter()
        .filter_map(|kind| read(kind, bytes.clone()).ok())
        .find(|blob| blob.leftover == 0 && texts(&blob.json).all(is_readable))
}

/// How much speaks for a reading, and why.
fn weigh(blob: &mut Blob) -> i32 {
    let mut weight = 0;
    if blob.leftover == 0 {
        weight += 100;
        blob.notes.push("no bytes are left over".to_owned());
    }
    if blob.version > blob.part.message.versions.max() {
        weight -= 30;
    }
    let (all, readable) =
        texts(&blob.json).fold((0, 0), |(all, readable), text| (all + 1, readable + usize::from(is_readable(text))));
    if readable < all {
        weight -= 50;
        blob.notes.push("some of its text is not readable".to_owned());
    } else if all > 0 {
        weight += 20;
        blob.notes.push("its text is readable".to_owned());
    }
    if matches!(blob.kind, Kind::ConnectSubscription | Kind::ConnectAssignment) {
        let url = blob.json.get("url").or(blob.json.get("leaderUrl")).and_then(Value::as_str);
        if url.is_some_and(|url| url.starts_with("http")) {
            weight += 30;
            blob.notes.push("it has the address of a worker".to_owned());
        }
    }
    // Four bytes fit too much to mean anything alone.
    if matches!(blob.kind, Kind::CooperativeStickyUserData) {
        weight -= 40;
    }
    weight
}

/// Every text of a message that is no base64: names and addresses.
fn texts(json: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    const BYTES: [&str; 6] = ["userData", "allocation", "userEndPoint", "processId", "key", "value"];
    match json {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(array) => Box::new(array.iter().flat_map(texts)),
        Value::Object(map) => {
            Box::new(map.iter().filter(|(name, _)| !BYTES.contains(&name.as_str())).flat_map(|(_, json)| texts(json)))
        }
        _ => Box::new(std::iter::empty()),
    }
}

/// Without control characters and without what stands for bytes that are not UTF-8.
fn is_readable(text: &str) -> bool {
    !text.is_empty() && !text.chars().any(|c| c.is_control() || c == '\u{fffd}')
}
