use std::fmt;
use std::marker::PhantomData;

use milena_wire::VersionRange;

use crate::codec::Message;
use crate::generated::field_table::PARTIAL;

/// A field that not every version of its message has.
pub(crate) struct Partial {
    pub(crate) owner: &'static str,
    pub(crate) field: &'static str,
    pub(crate) versions: VersionRange,
}

/// A message as it is at one version: see [`Message::display`].
pub struct DisplayMessage<'a, M> {
    message: &'a M,
    version: i16,
    marker: PhantomData<M>,
}

impl<'a, M: Message> DisplayMessage<'a, M> {
    pub(crate) fn new(message: &'a M, version: i16) -> Self {
        Self { message, version, marker: PhantomData }
    }
}

impl<M: Message> fmt::Display for DisplayMessage<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, M::NAME, self.version, &format!("{:?}", self.message))
    }
}

/// Not generic, so that it is compiled once.
fn write(f: &mut fmt::Formatter<'_>, name: &str, version: i16, debug: &str) -> fmt::Result {
    let partial = PARTIAL.binary_search_by_key(&name, |(message, _)| message).map_or(&[][..], |row| PARTIAL[row].1);
    let mut filter = Filter { text: debug, version, partial, out: String::with_capacity(debug.len()) };
    filter.value(true);
    let fields = filter.out.strip_prefix(name).unwrap_or(&filter.out);
    write!(f, "{name} v{version}{fields}")
}

/// Copies the text of a derived `Debug`, without the fields that a version lacks and without empty lists of unknown tags.
struct Filter<'a> {
    text: &'a str,
    version: i16,
    partial: &'static [Partial],
    out: String,
}

impl Filter<'_> {
    fn copy(&mut self, bytes: usize, keep: bool) {
        let (head, rest) = self.text.split_at(bytes);
        if keep {
            self.out.push_str(head);
        }
        self.text = rest;
    }

    /// One value, up to what ends or follows it.
    fn value(&mut self, keep: bool) {
        while let Some(next) = self.text.chars().next() {
            match next {
                '"' => {
                    let size = literal(self.text);
                    self.copy(size, keep);
                }
                '[' | '(' => {
                    self.copy(1, keep);
                    self.items(keep);
                }
                ',' | ']' | ')' | '}' => return,
                ' ' if self.text.starts_with(" }") => return,
                ' ' if self.text.starts_with(" { ") => {
                    let owner = self.text_before(keep);
                    self.text = &self.text[3..];
                    self.fields(&owner, keep);
                }
                other => self.copy(other.len_utf8(), keep),
            }
        }
    }

    /// The name of the struct whose fields begin here.
    fn text_before(&self, keep: bool) -> String {
        if !keep {
            return String::new();
        }
        let start = self.out.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        self.out[start..].to_owned()
    }

    /// What stands in a list or tuple, with its end.
    fn items(&mut self, keep: bool) {
        loop {
            self.value(keep);
            match self.text.as_bytes().first() {
                Some(b',') => self.copy(2.min(self.text.len()), keep),
                Some(_) => return self.copy(1, keep),
                None => return,
            }
        }
    }

    /// `name: value, name: value }`.
    fn fields(&mut self, owner: &str, keep: bool) {
        let mut written = 0;
        while let Some((field, rest)) = self.text.split_once(": ") {
            self.text = rest;
            let no_tags = field == "unknown_tagged_fields" && rest.starts_with("[]");
            let keep = keep && !no_tags && self.has(owner, field);
            if keep {
                self.out.push_str(if written == 0 { " { " } else { ", " });
                self.out.push_str(field);
                self.out.push_str(": ");
                written += 1;
            }
            self.value(keep);
            if self.text.starts_with(", ") {
                self.text = &self.text[2..];
            } else {
                break;
            }
        }
        if self.text.starts_with(" }") {
            self.text = &self.text[2..];
        }
        if written > 0 {
            self.out.push_str(" }");
        }
    }

    fn has(&self, owner: &str, field: &str) -> bool {
        let row = self.partial.iter().find(|row| row.owner == owner && row.field == field);
        row.is_none_or(|row| row.versions.contains(self.version))
    }
}

/// Bytes of a string literal, quotes included.
fn literal(text: &str) -> usize {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use milena_wire::UnknownTags;

    use crate::fetch::request::{FetchPartition, FetchTopic};
    use crate::metadata::request::MetadataRequestTopic;
    use crate::{FetchRequest, Message, MetadataRequest, Uuid};

    #[test]
    fn a_message_shows_the_fields_of_its_version() {
        let topic = MetadataRequestTopic { name: Some("a, {b: \"c\"}".into()), ..Default::default() };
        let request = MetadataRequest { topics: Some(vec![topic]), ..Default::default() };
        let name = r#"name: Some("a, {b: \"c\"}")"#;
        assert_eq!(
            request.display(1).to_string(),
            format!("MetadataRequest v1 {{ topics: Some([MetadataRequestTopic {{ {name} }}]) }}")
        );
        assert_eq!(
            request.display(9).to_string(),
            format!(
                "MetadataRequest v9 {{ topics: Some([MetadataRequestTopic {{ {name} }}]), allow_auto_topic_creation: true, \
                 include_cluster_authorized_operations: false, include_topic_authorized_operations: false }}"
            )
        );
    }

    #[test]
    fn unknown_tags_are_shown_when_there_are_some() {
        let mut tags = UnknownTags::default();
        tags.push(99, b"x"[..].into());
        let request = MetadataRequest { topics: None, unknown_tagged_fields: tags, ..Default::default() };
        let shown = request.display(12).to_string();
        assert!(shown.contains("unknown_tagged_fields: [UnknownTag { tag: 99, data: b\"x\" }]"), "{shown}");
        assert!(!MetadataRequest::default().display(12).to_string().contains("unknown"));
    }

    #[test]
    fn nested_structs_lose_what_the_version_lacks() {
        let partition = FetchPartition { partition: 3, fetch_offset: 7, ..Default::default() };
        let topic = FetchTopic { topic: "t".into(), partitions: vec![partition], ..Default::default() };
        let request = FetchRequest { topics: vec![topic], ..Default::default() };
        let old = request.display(0).to_string();
        let part = "FetchPartition { partition: 3, fetch_offset: 7, partition_max_bytes: 0 }";
        assert!(old.contains(&format!("FetchTopic {{ topic: \"t\", partitions: [{part}] }}")), "{old}");
        let new = request.display(13).to_string();
        assert!(new.contains(&format!("topic_id: {:?}", Uuid::default())) && !new.contains("topic: \"t\""), "{new}");
    }
}
