use bytes::Bytes;
use milena_schema::NoteContent;
use serde_json::Value;

use super::kind::{Kind, Prefix};
use super::plausible::{is_plausible, is_readable, texts};
use super::read::{Blob, Located, locate, read};
use crate::part::Part;

/// Everything that the bytes can be, the best first. What speaks for and against each is in its notes. Empty when they
/// are none of the blobs that are known: a reading with text that is not readable, or with numbers that cannot be, is none.
/// The user data of `cooperative-sticky`, which is a number and nothing else, is not guessed.
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
        // Any four bytes would be a generation.
        .filter(|kind| *kind != Kind::CooperativeStickyUserData)
        .filter_map(|kind| read(kind, bytes.clone()).ok())
        .filter(|blob| is_plausible(&blob.json))
        // With no version to say so, a beginning that fits means nothing.
        .filter(|blob| blob.leftover == 0 || blob.kind.prefix() == Prefix::Int16)
        .map(|mut blob| (weigh(&mut blob), blob))
        .collect();
    // Stable: of equals the one that is met more often comes first.
    guesses.sort_by_key(|(weight, _)| -weight);
    guesses.into_iter().map(|(_, blob)| blob).collect()
}

/// A blob that ends too early.
#[derive(Clone, Debug)]
pub struct CutOff {
    /// What it is the start of.
    pub kind: Kind,
    /// The version that it states.
    pub version: i16,
    /// The message, which ends before its last field.
    pub part: Part,
}

/// What the bytes are the start of, when they end where a field of it is missing and names before that can be read. Only
/// kinds with a version in front are tried: of the others too little is known.
///
/// ```
/// use milena_inspect::blob::{Kind, guess, guess_cut_off};
///
/// // A subscription of version 1 to "orders" without user data. The partitions that the member owns are missing.
/// let bytes = b"\0\x01\0\0\0\x01\0\x06orders\0\0\0\0";
/// assert!(guess(bytes[..].into()).is_empty());
/// let cut_off = guess_cut_off(bytes[..].into()).unwrap();
/// assert_eq!((cut_off.kind, cut_off.version), (Kind::Subscription, 1));
/// let error = cut_off.part.decode().unwrap_err();
/// assert_eq!(error.path(), "ConsumerProtocolSubscription.ownedPartitions");
/// ```
pub fn guess_cut_off(bytes: Bytes) -> Option<CutOff> {
    let kinds = Kind::ALL.into_iter().filter(|kind| kind.prefix() == Prefix::Int16);
    let starts = kinds.filter_map(|kind| {
        let Located { version, part, .. } = locate(kind, &bytes).ok()?;
        let annotated = part.annotate();
        let ends_early = annotated.outcome.as_ref().err()?.offset() == Some(bytes.len());
        let texts = annotated.notes.iter().filter_map(|note| match &note.content {
            NoteContent::Value(Value::String(text)) if note.ty.starts_with("string") => Some(text),
            _ => None,
        });
        let (mut read, mut is_text) = (0, true);
        texts.for_each(|text| (read, is_text) = (read + text.len(), is_text && is_readable(text)));
        let is_known = part.message.versions.contains(version);
        (ends_early && read > 0 && is_text && is_known).then_some((read, CutOff { kind, version, part }))
    });
    // Of equals the first, which is met more often.
    let best = starts.reduce(|best, other| if other.0 > best.0 { other } else { best });
    best.map(|(_, cut_off)| cut_off)
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
    if texts(&blob.json).next().is_some() {
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
    weight
}
