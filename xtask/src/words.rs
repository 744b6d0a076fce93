//! Words that the project does not use where a person reads: in documents, comments, help and errors. One vocabulary is
//! easier to learn than several, and plain modern English is easier to read than anything else.

/// A word or phrase that is not used, and what to write instead.
const WORDS: &[(&str, &str)] = &[
    ("answer", "response"),
    ("answers", "responses, responds"),
    ("answered", "responded, got a response"),
    ("anew", "again"),
    ("behind", "after"),
    ("believe", "trust, accept"),
    ("by heart", "say what is meant"),
    ("for eyes", "human-readable"),
    ("for the eye", "human-readable"),
    ("held against", "compared with"),
    ("holds against", "compares with"),
    ("in silence", "silently"),
    ("outlive", "say what lasts longer"),
    ("outlives", "say what lasts longer"),
    ("put up with", "tolerated"),
    ("told", "reported, shown, given"),
    ("vouches", "signs, trusts"),
    ("whoever", "the client that, if"),
    ("whom", "which client, who"),
];

/// Phrases in which such a word is right.
const RIGHT: &[&str] = &[
    "behind a proxy",
    "behind the proxy",
    "behind a feature",
    "behind a firewall",
    "behind one reader",
    "behind the facade",
    "lag behind",
    "lags behind",
    "is behind the group's topology epoch",
    "left behind",
    "replica behind",
];

/// Names that are part of recorded data.
const NAMES: &[(&str, &str)] = &[("fuzz/examples/seeds.rs", "answer")];

/// Files that have to have the words: this list, and texts that are not ours.
const EXEMPT: &[&str] = &["xtask/src/words.rs", "fuzz/seeds/", "conformance/vectors/", "conformance/traffic/"];

/// Which of the words a file has, with line numbers.
pub(crate) fn found(path: &str, text: &str) -> Vec<String> {
    if EXEMPT.iter().any(|exempt| path.starts_with(exempt)) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (number, line) in prose(path, text) {
        let mut line = line.to_lowercase();
        if path.ends_with(".rs") {
            line = without_captures(&line);
        }
        let names = NAMES.iter().filter(|(file, _)| *file == path).map(|(_, name)| name);
        RIGHT.iter().chain(names).for_each(|right| line = line.replace(right, ""));
        for (word, instead) in WORDS.iter().filter(|(word, _)| has(&line, word)) {
            found.push(format!("{path}:{number}: `{word}`; use: {instead}"));
        }
    }
    found
}

/// A line without the names of variables that a format captures: `{name}` and `{name:?}`.
fn without_captures(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let name = after.split_once('}').map_or("", |(name, _)| name);
        rest = if name.contains(' ') { after } else { &after[name.len()..] };
    }
    out + rest
}

/// Whether a line has a word or phrase as a whole.
fn has(line: &str, word: &str) -> bool {
    let inside = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word)
        .any(|(at, _)| !line[..at].ends_with(inside) && !line[at + word.len()..].starts_with(inside))
}

/// The lines that a person reads, with their numbers: all of a document, and of sources the comments, literals and names of
/// tests.
fn prose(path: &str, text: &str) -> Vec<(usize, String)> {
    let lines = || text.lines().enumerate().map(|(index, line)| (index + 1, line));
    match path.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "md" => lines().map(|(number, line)| (number, line.to_owned())).collect(),
        "kafka" => lines()
            .filter_map(|(number, line)| {
                let comment = line.find("//").or_else(|| line.starts_with('#').then_some(0))?;
                Some((number, line[comment..].to_owned()))
            })
            .collect(),
        "rs" if path.contains("/generated/") => Vec::new(),
        "rs" => rust(text),
        _ => Vec::new(),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Inside {
    Code,
    Comment,
    Block,
    Literal,
    /// With so many `#`.
    Raw(usize),
}

/// Comments, literals and names of tests in Rust, line by line.
fn rust(text: &str) -> Vec<(usize, String)> {
    let mut inside = Inside::Code;
    let mut found = Vec::new();
    let mut test = false;
    for (index, line) in text.lines().enumerate() {
        let mut prose = String::new();
        if inside == Inside::Code {
            test |= line.trim_start().starts_with("#[") && line.contains("test");
            if let Some((_, name)) = line.split_once("fn ").filter(|_| std::mem::take(&mut test)) {
                prose = name.replace(['_', '('], " ");
            }
        }
        let mut rest = line;
        while let Some(c) = rest.chars().next() {
            let length = match inside {
                Inside::Code => {
                    let (next, length) = enter(rest, line.len() - rest.len(), line);
                    inside = next;
                    length
                }
                Inside::Block if rest.starts_with("*/") => leave(&mut inside, 2),
                Inside::Literal if rest.starts_with('\\') => rest.chars().take(2).map(char::len_utf8).sum(),
                Inside::Literal if c == '"' => leave(&mut inside, 1),
                Inside::Raw(count) if c == '"' && rest[1..].starts_with(&"#".repeat(count)) => {
                    leave(&mut inside, 1 + count)
                }
                _ => {
                    prose.push(c);
                    c.len_utf8()
                }
            };
            if inside == Inside::Code {
                prose.push(' ');
            }
            rest = &rest[length..];
        }
        if inside == Inside::Comment {
            inside = Inside::Code;
        }
        if !prose.trim().is_empty() {
            found.push((index + 1, prose));
        }
    }
    found
}

fn leave(inside: &mut Inside, length: usize) -> usize {
    *inside = Inside::Code;
    length
}

/// What begins at this place of code, and how many bytes that takes.
fn enter(rest: &str, at: usize, line: &str) -> (Inside, usize) {
    if rest.starts_with("//") {
        return (Inside::Comment, 2);
    }
    if rest.starts_with("/*") {
        return (Inside::Block, 2);
    }
    if rest.starts_with('"') {
        let hashes = line[..at].bytes().rev().take_while(|byte| *byte == b'#').count();
        let raw = line[..at - hashes].ends_with('r');
        return (if raw { Inside::Raw(hashes) } else { Inside::Literal }, 1);
    }
    // A quotation mark as a character is no literal.
    for quote in ["'\"'", "'\\\"'"] {
        if rest.starts_with(quote) {
            return (Inside::Code, quote.len());
        }
    }
    (Inside::Code, rest.chars().next().map_or(1, char::len_utf8))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(path: &str, text: &str) -> Vec<String> {
        found(path, text)
    }

    #[test]
    fn documents_comments_and_literals_are_read_and_code_is_not() {
        let source = "// an answer\nlet answer = told(whom); // fine\nlet text = \"the answer\";\nlet c = '\"'; answer();\n\
                      let raw = r#\"a \" whom\"#; told();\n/* behind\n it */ told()\nlet long = \"one\n  told\n\";\n";
        let lines: Vec<_> =
            words("a.rs", source).iter().map(|line| line[..line.find("; use").unwrap()].to_owned()).collect();
        assert_eq!(
            lines,
            ["a.rs:1: `answer`", "a.rs:3: `answer`", "a.rs:5: `whom`", "a.rs:6: `behind`", "a.rs:9: `told`"]
        );
        assert_eq!(words("a.md", "In silence.\n"), ["a.md:1: `in silence`; use: silently"]);
        assert_eq!(
            words("a.rs", "panic!(\"{answer} and {told:?} and { whom }\");\n"),
            ["a.rs:1: `whom`; use: which client, who"]
        );
        assert_eq!(words("a.kafka", "  answer int8 0+ // told\n").len(), 1);
    }

    #[test]
    fn names_of_tests_are_read_and_names_of_other_functions_are_not() {
        let source = "#[test]\nfn bytes_behind_it() {}\nfn told() {}\n#[tokio::test]\nasync fn clients_are_told() {}\n";
        let lines: Vec<_> =
            words("a.rs", source).iter().map(|line| line[..line.find("; use").unwrap()].to_owned()).collect();
        assert_eq!(lines, ["a.rs:2: `behind`", "a.rs:5: `told`"]);
    }

    #[test]
    fn only_whole_words_count_and_some_phrases_are_right() {
        assert_eq!(words("a.md", "answerable retold unanswered behindhand\n"), [""; 0]);
        assert_eq!(words("a.md", "A broker behind a proxy lags behind.\n"), [""; 0]);
        assert_eq!(words("a.md", "The byte behind it.\n").len(), 1);
    }
}
