//! What a record looks like in a line of one's own.

use std::io::{self, Write};

use milena_client::Record;

use crate::time;

/// A text with places for what a record has.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(Vec<u8>),
    Topic,
    Partition,
    Offset,
    Timestamp,
    Time,
    Key,
    Value,
    Headers,
}

const PLACES: [(&str, Part); 8] = [
    ("topic", Part::Topic),
    ("partition", Part::Partition),
    ("offset", Part::Offset),
    ("timestamp", Part::Timestamp),
    ("time", Part::Time),
    ("key", Part::Key),
    ("value", Part::Value),
    ("headers", Part::Headers),
];

impl Template {
    /// # Errors
    /// What is wrong with the text.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => plain.push(match chars.next() {
                    Some('n') => '\n',
                    Some('t') => '\t',
                    Some('r') => '\r',
                    Some('0') => '\0',
                    Some(c @ ('\\' | '{' | '}')) => c,
                    _ => return Err("after \\ comes n, t, r, 0, \\, { or }".to_owned()),
                }),
                '{' => {
                    let name: String = chars.by_ref().take_while(|c| *c != '}').collect();
                    let Some((_, part)) = PLACES.iter().find(|(known, _)| *known == name) else {
                        let known: Vec<&str> = PLACES.iter().map(|(name, _)| *name).collect();
                        return Err(format!("no place {{{name}}}, there are {}", known.join(", ")));
                    };
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain).into_bytes()));
                    }
                    parts.push(part.clone());
                }
                c => plain.push(c),
            }
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain.into_bytes()));
        }
        Ok(Self(parts))
    }

    /// Writes a record and a line feed. Keys and values are written as they are.
    pub(super) fn write(
        &self,
        out: &mut impl Write,
        topic: &str,
        partition: i32,
        record: &Record,
        null: &str,
    ) -> io::Result<()> {
        let or_null = |bytes: &Option<bytes::Bytes>| bytes.clone().unwrap_or_else(|| null.to_owned().into());
        for part in &self.0 {
            match part {
                Part::Text(text) => out.write_all(text)?,
                Part::Topic => out.write_all(topic.as_bytes())?,
                Part::Partition => write!(out, "{partition}")?,
                Part::Offset => write!(out, "{}", record.offset)?,
                Part::Timestamp => write!(out, "{}", record.timestamp)?,
                Part::Time => out.write_all(time::format(record.timestamp).as_bytes())?,
                Part::Key => out.write_all(&or_null(&record.key))?,
                Part::Value => out.write_all(&or_null(&record.value))?,
                Part::Headers => {
                    for (index, header) in record.headers.iter().enumerate() {
                        if index > 0 {
                            out.write_all(b",")?;
                        }
                        out.write_all(&header.key)?;
                        out.write_all(b"=")?;
                        out.write_all(&or_null(&header.value))?;
                    }
                }
            }
        }
        out.write_all(b"\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_puts_things_in_their_places() {
        let template = Template::parse(r"{topic}-{partition}@{offset}\t{key}={value} \{{headers}\}").unwrap();
        let record = Record::new("k", "v").with_offset(7).with_header("a", "1").with_header("b", "2");
        let mut out = Vec::new();
        template.write(&mut out, "letters", 3, &record, "").unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "letters-3@7\tk=v {a=1,b=2}\n");

        let mut out = Vec::new();
        Template::parse("{value}").unwrap().write(&mut out, "", 0, &Record::default(), "NULL").unwrap();
        assert_eq!(out, b"NULL\n");
    }

    #[test]
    fn a_wrong_template_says_what_there_is() {
        assert!(Template::parse("{valeu}").unwrap_err().contains("value"));
        assert!(Template::parse(r"\x").is_err());
    }
}
