//! The output line of a record, as `--format` describes it.

use std::io::{self, Write};

use milena_client::Record;

use crate::escape::escape;
use crate::{record, time};

/// Text with placeholders for the parts of a record.
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

const PLACEHOLDERS: [(&str, Part); 8] = [
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
    /// Reads a template.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut plain = Vec::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => plain.push(escape(&mut chars)?),
                '{' => {
                    let Some((name, rest)) = chars.as_str().split_once('}') else {
                        return Err("a { without a }; \\{ is a plain one".to_owned());
                    };
                    chars = rest.chars();
                    let Some((_, part)) = PLACEHOLDERS.iter().find(|(known, _)| *known == name) else {
                        let known: Vec<&str> = PLACEHOLDERS.iter().map(|(name, _)| *name).collect();
                        return Err(format!("there is no placeholder {{{name}}}, only {}", known.join(", ")));
                    };
                    if !plain.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut plain)));
                    }
                    parts.push(part.clone());
                }
                c => plain.extend(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        if !plain.is_empty() {
            parts.push(Part::Text(plain));
        }
        Ok(Self(parts))
    }

    /// Writes a record and a line feed. Keys and values are written as they are; `null` stands for what is missing.
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
                Part::Timestamp => match record::timestamp(record) {
                    Some(timestamp) => write!(out, "{timestamp}")?,
                    None => out.write_all(null.as_bytes())?,
                },
                Part::Time => match record::timestamp(record) {
                    Some(timestamp) => out.write_all(time::format(timestamp).as_bytes())?,
                    None => out.write_all(null.as_bytes())?,
                },
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

    fn written(template: &str, record: &Record, null: &str) -> String {
        let mut out = Vec::new();
        Template::parse(template).unwrap().write(&mut out, "letters", 3, record, null).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn placeholders_are_replaced() {
        let record = Record::new("k", "v").with_offset(7).with_header("a", "1").with_header("b", "2");
        let template = r"{topic}-{partition}@{offset}\t{key}={value} \{{headers}\}\x21";
        assert_eq!(written(template, &record, ""), "letters-3@7\tk=v {a=1,b=2}!\n");
        assert_eq!(written("{value}", &Record::default(), "NULL"), "NULL\n");
    }

    #[test]
    fn no_timestamp_is_not_a_time() {
        let template = "{timestamp} {time}";
        assert_eq!(written(template, &Record::default(), ""), " \n");
        assert_eq!(written(template, &Record::default(), "none"), "none none\n");
        assert_eq!(written(template, &Record::default().with_timestamp(0), ""), "0 1970-01-01T00:00:00.000Z\n");
    }

    #[test]
    fn a_wrong_template_says_what_there_is() {
        assert!(Template::parse("{valeu}").unwrap_err().contains("value"));
        assert!(Template::parse(r"\q").is_err());
        assert!(Template::parse("{value").is_err());
    }
}
