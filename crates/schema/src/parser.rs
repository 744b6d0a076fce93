use std::str::FromStr;

use milena_wire::VersionRange;

use crate::check;
use crate::draft::Draft;
use crate::line::Line;
use crate::model::{Api, ErrorSpec, MessageKind, Release, Since};
use crate::spec::Spec;

/// A mistake in the spec text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}:{line}:{column}: {message}")]
pub struct SpecError {
    /// The file, as it was named to the parser.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What is there, and what was expected.
    pub message: String,
}

impl SpecError {
    pub(crate) fn new(file: &str, line: usize, column: usize, message: String) -> Self {
        Self { file: file.to_owned(), line, column, message }
    }
}

pub(crate) type Result<T> = std::result::Result<T, SpecError>;

/// Reads the spec language; `spec/README.md` is its reference.
#[derive(Debug, Default)]
pub struct Parser {
    spec: Spec,
}

impl Parser {
    /// A parser that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads one file. Its name, relative to `spec/`, shows in errors and gives the family of its messages.
    ///
    /// # Errors
    /// The first mistake in the text.
    pub fn file(&mut self, file: &str, text: &str) -> Result<()> {
        let family = family(file);
        let mut api: Option<Api> = None;
        let mut draft: Option<Draft> = None;
        let mut doc = String::new();
        for (index, text) in text.lines().enumerate() {
            let Some(mut line) = Line::cut(file, index + 1, text)? else { continue };
            if line.is_doc() {
                if !doc.is_empty() {
                    doc.push(' ');
                }
                doc.push_str(line.doc);
                continue;
            }
            if !line.doc.is_empty() {
                if !doc.is_empty() {
                    return Err(line.error("documented twice, expected the text above the line or after it"));
                }
                doc.push_str(line.doc);
            }
            let doc = std::mem::take(&mut doc);
            if line.depth > 0 {
                match &mut draft {
                    Some(draft) => draft.line(&mut line, doc)?,
                    None => return Err(line.error("a field, expected a message above it")),
                }
                continue;
            }
            let word = line.word("a keyword")?;
            match (word, &mut draft, &mut api) {
                ("api", None, None) => api = Some(self.api(&mut line, file)?),
                ("family", None, None) => {
                    let name = line.word("the family's name")?;
                    if name != family {
                        return Err(line.error(format!("`{name}`, expected the file's name, `{family}`")));
                    }
                }
                ("request" | "response", _, Some(api)) => {
                    if let Some(draft) = draft.take() {
                        self.message(draft)?;
                    }
                    let kind = if word == "request" { MessageKind::Request } else { MessageKind::Response };
                    let name = format!("{}{}", api.name, if word == "request" { "Request" } else { "Response" });
                    let mut new = Draft::new(&line, kind, name, Some(api.key), &family, doc);
                    new.message.versions = api.versions;
                    new.message.flexible = api.flexible;
                    new.message.added = api.added.clone();
                    new.message.dropped = api.dropped.clone();
                    draft = Some(new);
                }
                ("key" | "value" | "metadata" | "data" | "header", _, None) => {
                    if let Some(draft) = draft.take() {
                        self.message(draft)?;
                    }
                    let kinds = [
                        MessageKind::Key,
                        MessageKind::Value,
                        MessageKind::Metadata,
                        MessageKind::Data,
                        MessageKind::Header,
                    ];
                    let kind = kinds.into_iter().find(|kind| kind.name() == word).unwrap_or(MessageKind::Data);
                    let name = line.parse("a name that begins with a capital", type_name)?.to_owned();
                    let key = match kind {
                        MessageKind::Data | MessageKind::Header => None,
                        _ => Some(line.parse("the number of the record type", parse)?),
                    };
                    draft = Some(Draft::new(&line, kind, name, key, &family, doc));
                }
                ("release", None, None) => self.release(&mut line, doc)?,
                ("error", None, None) => self.error_code(&mut line, doc)?,
                (directive, None, Some(api)) => api_directive(api, directive, &mut line)?,
                (directive, Some(draft), None) => draft.directive(directive, &mut line)?,
                (other, _, _) => {
                    return Err(line.error(format!(
                        "`{other}`, expected api, family, request, response, key, value, metadata, data or header"
                    )));
                }
            }
            line.finish("the end of the line")?;
        }
        if let Some(draft) = draft.take() {
            self.message(draft)?;
        }
        if let Some(api) = api {
            check::api(&api, &self.spec)?;
            self.spec.apis.push(api);
        }
        Ok(())
    }

    /// Checks what spans files and gives the protocol.
    ///
    /// # Errors
    /// A key used twice, a release that is not listed, and the like.
    pub fn finish(mut self) -> Result<Spec> {
        self.spec.apis.sort_by_key(|api| api.key);
        self.spec.errors.sort_by_key(|error| error.code);
        check::spec(&self.spec)?;
        Ok(self.spec)
    }

    fn api(&mut self, line: &mut Line<'_>, file: &str) -> Result<Api> {
        Ok(Api {
            name: line.parse("the API's name, beginning with a capital", type_name)?.to_owned(),
            key: line.parse("the API's key", parse)?,
            listeners: Vec::new(),
            versions: VersionRange::NONE,
            flexible: VersionRange::NONE,
            deprecated: VersionRange::NONE,
            unstable: Vec::new(),
            added: Vec::new(),
            dropped: Vec::new(),
            request_header: Vec::new(),
            response_header: Vec::new(),
            unanswered: None,
            file: file.to_owned(),
        })
    }

    fn message(&mut self, draft: Draft) -> Result<()> {
        let message = draft.finish()?;
        if self.spec.by_name.insert(message.name.clone(), self.spec.messages.len()).is_some() {
            let text = format!("message {} is defined twice", message.name);
            return Err(SpecError::new(&message.file, message.line, 1, text));
        }
        self.spec.messages.push(message);
        Ok(())
    }

    fn release(&mut self, line: &mut Line<'_>, doc: String) -> Result<()> {
        let name = line.word("a release")?.to_owned();
        let date = line.peek().map(str::to_owned);
        if date.is_some() {
            line.word("year and month")?;
        }
        self.spec.releases.push(Release { name, date, doc });
        Ok(())
    }

    fn error_code(&mut self, line: &mut Line<'_>, doc: String) -> Result<()> {
        let code = line.parse("the code, an int16", parse)?;
        let name = line.word("the name of the error")?.to_owned();
        let mut error =
            ErrorSpec { code, name, retriable: false, refresh: false, added: String::new(), was: None, doc };
        while let Some(word) = line.peek() {
            line.word("")?;
            match word {
                "retriable" => error.retriable = true,
                "refresh" => error.refresh = true,
                "added" => error.added = line.word("a release")?.to_owned(),
                "was" => error.was = Some(line.word("the former name")?.to_owned()),
                other => return Err(line.error(format!("`{other}`, expected retriable, refresh, added or was"))),
            }
        }
        self.spec.errors.push(error);
        Ok(())
    }
}

fn api_directive(api: &mut Api, directive: &str, line: &mut Line<'_>) -> Result<()> {
    match directive {
        "listeners" => {
            while line.peek().is_some() {
                let name = line.word("a listener")?;
                api.listeners.push(name.trim_end_matches(',').to_owned());
            }
        }
        "versions" => api.versions = range(line)?,
        "flexible" => api.flexible = range(line)?,
        "deprecated" => api.deprecated = range(line)?,
        "unstable" => api.unstable = since(line)?,
        "added" => api.added = since(line)?,
        "dropped" => api.dropped = since(line)?,
        "request-header" => api.request_header = headers(line)?,
        "response-header" => api.response_header = headers(line)?,
        "unanswered" => {
            let field = line.word("the JSON name of a field of the request")?.to_owned();
            api.unanswered = Some((field, line.parse("the value at which no response is sent", parse)?));
        }
        other => {
            return Err(line.error(format!(
                "`{other}`, expected listeners, versions, flexible, deprecated, unstable, added, dropped, \
                 request-header, response-header, unanswered, request or response"
            )));
        }
    }
    Ok(())
}

/// `messages/01_fetch.kafka` is of the family `fetch`.
fn family(file: &str) -> String {
    let name = file.rsplit('/').next().unwrap_or(file);
    let name = name.strip_suffix(".kafka").unwrap_or(name);
    match name.split_once('_') {
        Some((number, rest)) if number.bytes().all(|b| b.is_ascii_digit()) => rest.to_owned(),
        _ => name.to_owned(),
    }
}

pub(crate) fn parse<T: FromStr>(word: &str) -> Option<T> {
    word.parse().ok()
}

pub(crate) fn type_name(word: &str) -> Option<&str> {
    let good = word.starts_with(|c: char| c.is_ascii_uppercase()) && word.bytes().all(|b| b.is_ascii_alphanumeric());
    good.then_some(word)
}

pub(crate) fn range(line: &mut Line<'_>) -> Result<VersionRange> {
    line.parse("versions as N, N-M, N+ or none", parse)
}

/// `0-1: 0.9.0, 2: 0.10.0`.
pub(crate) fn since(line: &mut Line<'_>) -> Result<Vec<Since>> {
    let mut list = Vec::new();
    while list.is_empty() || line.peek().is_some() {
        let versions = line.parse("versions and a colon", |word| parse(word.strip_suffix(':')?))?;
        let release = line.word("a release")?.trim_end_matches(',').to_owned();
        list.push(Since { versions, release });
    }
    Ok(list)
}

/// `0+: 0`.
fn headers(line: &mut Line<'_>) -> Result<Vec<(VersionRange, i16)>> {
    let mut list = Vec::new();
    while list.is_empty() || line.peek().is_some() {
        let versions = line.parse("versions and a colon", |word| parse(word.strip_suffix(':')?))?;
        let header = line.parse("the version of the header", |word| parse(word.trim_end_matches(',')))?;
        list.push((versions, header));
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "api First 0\nversions 0-2\nflexible 2+\n";

    fn message_of(text: &str) -> String {
        match Parser::new().file("messages/00_first.kafka", text) {
            Ok(()) => "fine".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let cases = [
            ("api first 0", "1:5: `first`, expected the API's name, beginning with a capital"),
            ("api First", "1:10: the line ends here, expected the API's key"),
            ("api First x", "1:11: `x`, expected the API's key"),
            ("api First 0\nversion 0", "2:1: `version`, expected listeners, versions,"),
            ("api First 0\nversions 3-1", "2:10: `3-1`, expected versions as N, N-M, N+ or none"),
            ("  A int8 0+", "1:3: a field, expected a message above it"),
            (&format!("{FIRST}request\n   A int8 0+"), "5:4: indented by an odd number of spaces"),
            (&format!("{FIRST}request\n  A int8"), "5:9: the line ends here, expected versions"),
            (&format!("{FIRST}request\n  A int7 0+"), "5:5: `int7`, expected a type"),
            (&format!("{FIRST}request\n  A int8 0+ tag"), "5:16: the line ends here, expected the tag"),
            (&format!("{FIRST}request\n  A int8 0+ optional"), "5:13: `optional`, expected tag, default, ignorable"),
            (&format!("{FIRST}request\n  A int8 0+\n    B int8 0+"), "6:5: indented too far"),
            (&format!("{FIRST}request\n  A int8 0+\n  A int8 1+"), "6:3: field A stands here twice"),
            (&format!("{FIRST}request\n  A Thing 0+"), "5:5: no struct Thing in this message"),
            (&format!("{FIRST}request\n  A int8 0+ tag 0"), "5:3: field A is tagged in versions 0+"),
            (&format!("{FIRST}request\n  A string 0+ default null"), "5:3: field A has the default null"),
            (&format!("{FIRST}request\n  A int8 0+ default 200"), "5:3: default 200 does not fit"),
            (&format!("{FIRST}request\n  A int8 0+ entity groupId"), "5:3: entity groupId stands on string"),
            (&format!("{FIRST}request\n  A []B 0+\n    C int8 1+"), "5:1: an element of A takes no bytes in version 0"),
            (&format!("{FIRST}request\n\tA int8 0+"), "5:1: a tab, expected spaces"),
        ];
        for (text, expected) in cases {
            let expected = format!("messages/00_first.kafka:{expected}");
            let found = message_of(text);
            assert!(found.starts_with(&expected), "{text:?}\n found {found}\n wanted {expected}");
        }
    }

    #[test]
    fn documentation_is_above_a_line_or_at_its_end() {
        let text = format!("{FIRST}// What it\n// is for.\nrequest\n  A int8 0+ // Small.\nresponse\n");
        let mut parser = Parser::new();
        parser.file("messages/00_first.kafka", &text).unwrap();
        let spec = parser.finish().unwrap();
        let request = spec.message("FirstRequest").unwrap();
        assert_eq!(request.doc, "What it is for.");
        assert_eq!(request.root().fields[0].doc, "Small.");
    }
}
