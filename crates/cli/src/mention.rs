//! What the comments of the spec name: proposals, error codes, other fields.

use std::borrow::Cow;

use milena_schema::{MessageSpec, Spec, StructId};

/// A piece of a comment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Piece<'a> {
    Text(&'a str),
    /// `KIP-74`, a Kafka Improvement Proposal.
    Kip(&'a str, u32),
    /// The number after the word `error`.
    Error(&'a str, i16),
}

/// Cuts a comment at what it names; the pieces together are the comment.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    // Only a number after the word, or after such a number and "or" or "and", is a code.
    let mut after_error = false;
    while !rest.is_empty() {
        let (before, found) = next(rest, after_error);
        if !before.is_empty() {
            pieces.push(Piece::Text(before));
        }
        rest = &rest[before.len()..];
        let Some(piece) = found else { break };
        let length = match piece {
            Piece::Text(text) | Piece::Kip(text, _) | Piece::Error(text, _) => text.len(),
        };
        after_error = matches!(piece, Piece::Error(..));
        pieces.push(piece);
        rest = &rest[length..];
    }
    pieces
}

/// The text up to the next mention, and the mention.
fn next(text: &str, after_error: bool) -> (&str, Option<Piece<'_>>) {
    if after_error {
        for glue in [" or ", " and "] {
            let number = text.strip_prefix(glue).map_or("", number);
            if let Ok(code) = number.parse() {
                return (&text[..glue.len()], Some(Piece::Error(number, code)));
            }
        }
    }
    let mut found: Option<(usize, Piece<'_>)> = None;
    for (at, word) in text.match_indices("KIP-") {
        let digits = number(&text[at + word.len()..]);
        if let Ok(kip) = digits.parse() {
            found = Some((at, Piece::Kip(&text[at..at + word.len() + digits.len()], kip)));
            break;
        }
    }
    for (at, word) in text.match_indices("error ") {
        let digits = number(&text[at + word.len()..]);
        let begins = !text[..at].ends_with(|c: char| c.is_alphanumeric());
        if let (true, Ok(code)) = (begins, digits.parse()) {
            let at = at + word.len();
            if found.is_none_or(|(other, _)| at < other) {
                found = Some((at, Piece::Error(digits, code)));
            }
            break;
        }
    }
    match found {
        Some((at, piece)) => (&text[..at], Some(piece)),
        None => (text, None),
    }
}

/// The number that a text begins with, with its sign; empty if there is none.
fn number(text: &str) -> &str {
    let sign = usize::from(text.starts_with('-'));
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 { "" } else { &text[..sign + digits] }
}

/// The proposals that a message names, with all its fields; sorted.
pub(crate) fn kips_of(message: &MessageSpec) -> Vec<u32> {
    let mut kips: Vec<u32> = comments(message)
        .iter()
        .flat_map(|(_, doc)| pieces(doc))
        .filter_map(|piece| match piece {
            Piece::Kip(_, kip) => Some(kip),
            _ => None,
        })
        .collect();
    kips.sort_unstable();
    kips.dedup();
    kips
}

/// The places whose comments name an error code: message, and field or nothing.
pub(crate) fn places_of_error(spec: &Spec, code: i16) -> Vec<(&MessageSpec, String)> {
    let mut places = Vec::new();
    for message in &spec.messages {
        for (path, doc) in comments(message) {
            if pieces(doc).iter().any(|piece| matches!(piece, Piece::Error(_, other) if *other == code)) {
                places.push((message, path));
            }
        }
    }
    places
}

/// Each comment of a message with the path of its field in JSON names; the path of the message itself is empty.
pub(crate) fn comments(message: &MessageSpec) -> Vec<(String, &str)> {
    fn walk<'a>(message: &'a MessageSpec, id: StructId, path: &str, all: &mut Vec<(String, &'a str)>) {
        for field in &message.structure(id).fields {
            if field.versions.intersect(message.versions).is_empty() {
                continue;
            }
            let path = match path.is_empty() {
                true => field.json_name.clone(),
                false => format!("{path}.{}", field.json_name),
            };
            all.push((path.clone(), &field.doc));
            if let Some(id) = field.ty.struct_id() {
                walk(message, id, &path, all);
            }
        }
    }
    let mut all = vec![(String::new(), message.doc.as_str())];
    walk(message, StructId::ROOT, "", &mut all);
    all
}

/// A comment of a message with the names of fields as JSON and the tables have them: `maxBytes` for `MaxBytes`. The fields
/// are those of the message and of others in its file of the spec; names of one word are left, as they may be just words.
pub(crate) fn in_json_case<'a>(spec: &Spec, message: &MessageSpec, text: &'a str) -> Cow<'a, str> {
    let json_name = |word: &str| {
        let mut family = spec.messages.iter().filter(|other| other.family == message.family);
        family.find_map(|other| field_named(other, StructId::ROOT, word))
    };
    let mut out = String::new();
    let mut copied = 0;
    for (at, word) in words(text) {
        // Two capitals at least, the first one at the front.
        let humps =
            word.bytes().filter(u8::is_ascii_uppercase).count() > 1 && word.starts_with(|c: char| c.is_uppercase());
        if let Some(name) = humps.then(|| json_name(word)).flatten() {
            out.push_str(&text[copied..at]);
            out.push_str(name);
            copied = at + word.len();
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// The words of a text with their places.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    parts.map(|word| (word.as_ptr() as usize - text.as_ptr() as usize, word))
}

/// The JSON name of the field with this name in the spec.
fn field_named<'a>(message: &'a MessageSpec, id: StructId, name: &str) -> Option<&'a str> {
    message.structure(id).fields.iter().find_map(|field| {
        if field.name == name {
            return Some(field.json_name.as_str());
        }
        field_named(message, field.ty.struct_id()?, name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_named_as_in_json_and_apis_are_left_alone() {
        let spec = Spec::kafka();
        let of = |message: &str, text| in_json_case(spec, spec.message(message).unwrap(), text).into_owned();
        assert_eq!(
            of("FetchRequest", "held while fewer than MinBytes are there."),
            "held while fewer than minBytes are there."
        );
        assert_eq!(
            of("FetchResponse", "May start before FetchOffset; Records"),
            "May start before fetchOffset; Records"
        );
        assert_eq!(of("FetchRequest", "ask FindCoordinator, MinBytesX"), "ask FindCoordinator, MinBytesX");
    }

    #[test]
    fn proposals_and_codes_are_cut_out_and_nothing_is_lost() {
        let text = "Soft (KIP-74); error 3 or 5, terror 9, error -1, KIP-x, 6 errors 7.";
        let pieces = pieces(text);
        let mentions: Vec<_> = pieces.iter().filter(|piece| !matches!(piece, Piece::Text(_))).copied().collect();
        let error = |text: &'static str| Piece::Error(text, text.parse().unwrap());
        assert_eq!(mentions, [Piece::Kip("KIP-74", 74), error("3"), error("5"), error("-1")]);
        let whole: String = pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) | Piece::Kip(text, _) | Piece::Error(text, _) => *text,
            })
            .collect();
        assert_eq!(whole, text);
    }

    #[test]
    fn the_spec_says_where_the_version_is_too_new() {
        let places = places_of_error(Spec::kafka(), 35);
        assert!(places.iter().any(|(message, path)| message.name == "ApiVersionsRequest" && path.is_empty()));
    }
}
