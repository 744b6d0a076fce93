//! Regular expressions of topics in the syntax of RE2, which is Kafka's: what `com.google.re2j` accepts, and its words for
//! what it does not. They are rewritten for the `regex` crate, whose own syntax differs in corners. Both match in a time
//! that grows only with the length of the name.

use std::collections::HashSet;
use std::fmt::Write;
use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

/// Most bytes of a compiled expression.
const MAX_COMPILED_BYTES: usize = 1 << 20;
/// The greatest count of a repetition.
const MAX_REPEAT: u32 = 1000;

const BAD_CLASS: &str = "invalid character class range";
const BAD_ESCAPE: &str = "invalid escape sequence";
const BAD_NAME: &str = "invalid named capture";
const BAD_REPEAT_COUNT: &str = "invalid repeat count";
const NESTED_REPEAT: &str = "invalid nested repetition operator";
const NOTHING_TO_REPEAT: &str = "missing argument to repetition operator";
const NO_BRACKET: &str = "missing closing ]";
const NO_PARENTHESIS: &str = "missing closing )";
const TRAILING_BACKSLASH: &str = "trailing backslash at end of expression";
const UNEXPECTED_PARENTHESIS: &str = "regexp/syntax: internal error";
const UNKNOWN_GROUP: &str = "invalid or unsupported Perl syntax";

/// An expression that names of topics match as a whole.
#[derive(Clone, Debug)]
pub(crate) struct TopicPattern(Regex);

impl TopicPattern {
    /// Compiles an expression.
    ///
    /// # Errors
    /// What is wrong with it, in the words of RE2.
    pub(crate) fn compile(pattern: &str) -> Result<Self, &'static str> {
        let translated = Translator::new(pattern).translate()?;
        let whole = format!(r"\A(?:{translated})\z");
        // What is left are expressions that repeat too much.
        let compiled = RegexBuilder::new(&whole).size_limit(MAX_COMPILED_BYTES).build();
        compiled.map(Self).map_err(|_| BAD_REPEAT_COUNT)
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        self.0.is_match(name)
    }
}

/// What comes before a repetition operator.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing that could be repeated.
    Nothing,
    Atom,
    Repeated,
}

struct Translator<'a> {
    rest: Peekable<Chars<'a>>,
    output: String,
    before: Before,
    depth: usize,
    names: HashSet<String>,
}

impl<'a> Translator<'a> {
    fn new(pattern: &'a str) -> Self {
        let rest = pattern.chars().peekable();
        Self { rest, output: String::new(), before: Before::Nothing, depth: 0, names: HashSet::new() }
    }

    fn translate(mut self) -> Result<String, &'static str> {
        while let Some(next) = self.rest.next() {
            match next {
                '\\' => self.escape()?,
                '[' => {
                    self.class()?;
                    self.before = Before::Atom;
                }
                '(' => self.group()?,
                ')' if self.depth == 0 => return Err(UNEXPECTED_PARENTHESIS),
                ')' => {
                    self.depth -= 1;
                    self.output.push(')');
                    self.before = Before::Atom;
                }
                '|' => {
                    self.output.push('|');
                    self.before = Before::Nothing;
                }
                '*' | '+' | '?' => self.repeat(&next.to_string())?,
                '{' => match self.counts() {
                    Some((text, counts)) => {
                        let (least, most) = counts.ok_or(BAD_REPEAT_COUNT)?;
                        if least > MAX_REPEAT || most.is_some_and(|most| most > MAX_REPEAT || most < least) {
                            return Err(BAD_REPEAT_COUNT);
                        }
                        self.rest.by_ref().nth(text.chars().count() - 1);
                        let most = most.map(|most| most.to_string()).unwrap_or_default();
                        let range =
                            if text.contains(',') { format!("{{{least},{most}}}") } else { format!("{{{least}}}") };
                        self.repeat(&range)?;
                    }
                    None => self.literal('{'),
                },
                '.' | '^' | '$' => {
                    self.output.push(next);
                    self.before = Before::Atom;
                }
                other => self.literal(other),
            }
        }
        if self.depth > 0 { Err(NO_PARENTHESIS) } else { Ok(self.output) }
    }

    fn literal(&mut self, character: char) {
        push(&mut self.output, character);
        self.before = Before::Atom;
    }

    fn repeat(&mut self, operator: &str) -> Result<(), &'static str> {
        match self.before {
            Before::Nothing => return Err(NOTHING_TO_REPEAT),
            Before::Repeated => return Err(NESTED_REPEAT),
            Before::Atom => {}
        }
        self.output.push_str(operator);
        if self.rest.next_if_eq(&'?').is_some() {
            self.output.push('?');
        }
        self.before = Before::Repeated;
        Ok(())
    }

    /// The text of `{n,m}` after its first brace and what it says, if it is one; without numbers when they are too large.
    #[allow(clippy::type_complexity)]
    fn counts(&self) -> Option<(String, Option<(u32, Option<u32>)>)> {
        let text: String = self.rest.clone().take_while(|character| *character != '}').collect();
        let is_closed = self.rest.clone().nth(text.chars().count()) == Some('}');
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let (least, most) = text.split_once(',').map_or((&*text, None), |(least, most)| (least, Some(most)));
        if !is_closed || !is_number(least) || !most.is_none_or(|most| most.is_empty() || is_number(most)) {
            return None;
        }
        let counts = || {
            let least_count = least.parse().ok()?;
            let most_count = match most {
                None => Some(least_count),
                Some("") => None,
                Some(most) => Some(most.parse().ok()?),
            };
            Some((least_count, most_count))
        };
        let counts = counts();
        Some((format!("{text}}}"), counts))
    }

    fn group(&mut self) -> Result<(), &'static str> {
        if self.rest.next_if_eq(&'?').is_none() {
            return self.open("(?:");
        }
        let mut ahead = self.rest.clone();
        match (ahead.next(), ahead.next()) {
            (Some('P'), Some('<')) => self.named(2),
            (Some('P'), _) => Err(UNKNOWN_GROUP),
            (Some('<'), _) => self.named(1),
            _ => self.flags(),
        }
    }

    fn open(&mut self, group: &str) -> Result<(), &'static str> {
        self.output.push_str(group);
        self.depth += 1;
        self.before = Before::Nothing;
        Ok(())
    }

    fn named(&mut self, skip: usize) -> Result<(), &'static str> {
        self.rest.by_ref().nth(skip - 1);
        let mut name = String::new();
        loop {
            match self.rest.next() {
                Some('>') if !name.is_empty() => break,
                Some(character) if character == '_' || character.is_ascii_alphanumeric() => name.push(character),
                _ => return Err(BAD_NAME),
            }
        }
        if !self.names.insert(name) {
            return Err("duplicate capture group name");
        }
        // Nothing asks what a group matched.
        self.open("(?:")
    }

    fn flags(&mut self) -> Result<(), &'static str> {
        let mut flags = String::new();
        let mut since_minus = None;
        loop {
            match self.rest.next() {
                Some(flag @ ('i' | 'm' | 's' | 'U')) => {
                    since_minus = since_minus.map(|count: usize| count + 1);
                    // A flag may be given twice in RE2.
                    let own = flags.rsplit('-').next().unwrap_or_default();
                    if !own.contains(flag) {
                        flags.push(flag);
                    }
                }
                Some('-') if since_minus.is_none() => {
                    since_minus = Some(0);
                    flags.push('-');
                }
                Some(end @ (':' | ')')) if since_minus != Some(0) => {
                    // Set and unset: the last word counts.
                    let (set, unset) = flags.split_once('-').unwrap_or((&flags, ""));
                    let set: String = set.chars().filter(|flag| !unset.contains(*flag)).collect();
                    let minus = if unset.is_empty() { "" } else { "-" };
                    let flags = format!("{set}{minus}{unset}");
                    return match end {
                        ':' => self.open(&format!("(?{flags}:")),
                        _ => {
                            if !flags.is_empty() {
                                write!(self.output, "(?{flags})").map_err(|_| UNKNOWN_GROUP)?;
                            }
                            self.before = Before::Nothing;
                            Ok(())
                        }
                    };
                }
                _ => return Err(UNKNOWN_GROUP),
            }
        }
    }

    fn escape(&mut self) -> Result<(), &'static str> {
        let next = *self.rest.peek().ok_or(TRAILING_BACKSLASH)?;
        let text = match next {
            'Q' => {
                self.rest.next();
                return self.quoted();
            }
            'A' | 'z' | 'b' | 'B' => {
                self.rest.next();
                if next.is_ascii_lowercase() && next == 'z' || next == 'A' {
                    format!("\\{next}")
                } else {
                    format!("(?-u:\\{next})")
                }
            }
            _ => match self.escaped_set()? {
                Some(set) => format!("[{set}]"),
                None => {
                    let character = self.escaped_character()?;
                    self.literal(character);
                    return Ok(());
                }
            },
        };
        self.output.push_str(&text);
        self.before = Before::Atom;
        Ok(())
    }

    /// Literal text up to `\E`.
    fn quoted(&mut self) -> Result<(), &'static str> {
        while let Some(next) = self.rest.next() {
            if next == '\\' && self.rest.next_if_eq(&'E').is_some() {
                break;
            }
            self.literal(next);
        }
        Ok(())
    }

    /// What follows a backslash, when it names many characters: an item of a class.
    fn escaped_set(&mut self) -> Result<Option<String>, &'static str> {
        let Some(&next) = self.rest.peek() else { return Err(TRAILING_BACKSLASH) };
        let set = match next {
            'd' => "0-9",
            'D' => "[^0-9]",
            's' => r"\t\n\f\r ",
            'S' => r"[^\t\n\f\r ]",
            'w' => "0-9A-Za-z_",
            'W' => "[^0-9A-Za-z_]",
            'p' | 'P' => {
                self.rest.next();
                return self.property(next == 'P').map(Some);
            }
            _ => return Ok(None),
        };
        self.rest.next();
        Ok(Some(set.to_owned()))
    }

    /// A class of Unicode, after `\p` or `\P`.
    fn property(&mut self, negated: bool) -> Result<String, &'static str> {
        let mut name = match self.rest.next().ok_or(BAD_CLASS)? {
            '{' => {
                let name: String = self.rest.by_ref().take_while(|character| *character != '}').collect();
                name
            }
            one => one.to_string(),
        };
        let mut negated = negated;
        if let Some(other) = name.strip_prefix('^') {
            negated = !negated;
            name = other.to_owned();
        }
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(BAD_CLASS);
        }
        let class = if name == "Any" { r"\x{0}-\x{10ffff}".to_owned() } else { format!("\\p{{{name}}}") };
        let class = if negated { format!("[^{class}]") } else { class };
        Regex::new(&format!("[{class}]")).map(|_| class).map_err(|_| BAD_CLASS)
    }

    /// What follows a backslash, when it is one character.
    fn escaped_character(&mut self) -> Result<char, &'static str> {
        let next = self.rest.next().ok_or(TRAILING_BACKSLASH)?;
        match next {
            '1'..='7' if !self.rest.peek().is_some_and(|digit| ('0'..='7').contains(digit)) => Err(BAD_ESCAPE),
            '0'..='7' => {
                let mut value = next.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = self.rest.peek().and_then(|digit| digit.to_digit(8)) else { break };
                    value = value * 8 + digit;
                    self.rest.next();
                }
                char::from_u32(value).ok_or(BAD_ESCAPE)
            }
            'x' => {
                let digits: String = if self.rest.next_if_eq(&'{').is_some() {
                    let digits: String = self.rest.clone().take_while(char::is_ascii_hexdigit).collect();
                    self.rest.by_ref().nth(digits.len().saturating_sub(1));
                    if digits.is_empty() || self.rest.next() != Some('}') {
                        return Err(BAD_ESCAPE);
                    }
                    digits
                } else {
                    let digits: String = self.rest.by_ref().take(2).collect();
                    if digits.len() != 2 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                        return Err(BAD_ESCAPE);
                    }
                    digits
                };
                u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32).ok_or(BAD_ESCAPE)
            }
            'a' => Ok('\x07'),
            'f' => Ok('\x0c'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'v' => Ok('\x0b'),
            other if !other.is_alphanumeric() => Ok(other),
            _ => Err(BAD_ESCAPE),
        }
    }

    /// A class in brackets. It is written in another form, as the `regex` crate gives `&&`, `--`, `~~` and inner brackets a meaning.
    fn class(&mut self) -> Result<(), &'static str> {
        let mut class = String::from("[");
        if self.rest.next_if_eq(&'^').is_some() {
            class.push('^');
        }
        let mut is_first = true;
        loop {
            let next = *self.rest.peek().ok_or(NO_BRACKET)?;
            if next == ']' && !is_first {
                self.rest.next();
                break;
            }
            // A dash that is no range stands at an end, or before the last character.
            if next == '-' && !is_first {
                let mut ahead = self.rest.clone();
                ahead.next();
                match ahead.next() {
                    Some(']') | None => {}
                    Some(_) => {
                        // RE2 takes a dash after a range or a set only at the end.
                        self.range(&mut class)?;
                        continue;
                    }
                }
            }
            is_first = false;
            if next == '[' {
                if let Some(set) = self.named_class()? {
                    class.push_str(&set);
                    continue;
                }
            }
            if next == '\\' {
                let mut ahead = self.rest.clone();
                ahead.next();
                std::mem::swap(&mut self.rest, &mut ahead);
                if let Some(set) = self.escaped_set()? {
                    class.push_str(&set);
                    continue;
                }
                self.rest = ahead;
            }
            self.range(&mut class)?;
        }
        self.output.push_str(&class);
        self.output.push(']');
        Ok(())
    }

    /// One character of a class, or a range.
    fn range(&mut self, class: &mut String) -> Result<(), &'static str> {
        let low = self.class_character()?;
        let mut ahead = self.rest.clone();
        let high = match (ahead.next(), ahead.next()) {
            (Some('-'), Some(']')) => low,
            (Some('-'), Some(_)) => {
                self.rest.next();
                self.class_character()?
            }
            (Some('-'), None) => return Err(NO_BRACKET),
            _ => low,
        };
        if high < low {
            return Err(BAD_CLASS);
        }
        write!(class, "\\x{{{:x}}}-\\x{{{:x}}}", u32::from(low), u32::from(high)).map_err(|_| BAD_CLASS)
    }

    fn class_character(&mut self) -> Result<char, &'static str> {
        match self.rest.next().ok_or(NO_BRACKET)? {
            '\\' => self.escaped_character(),
            other => Ok(other),
        }
    }

    /// A class such as `[:alpha:]` within brackets.
    fn named_class(&mut self) -> Result<Option<String>, &'static str> {
        let text: String = self.rest.clone().collect();
        let Some(end) = text.strip_prefix("[:").and_then(|rest| rest.find(":]")) else { return Ok(None) };
        let name = &text[..end + 4];
        let inner = name[2..name.len() - 2].trim_start_matches('^');
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
            "word", "xdigit",
        ];
        if !NAMES.contains(&inner) {
            return Err(BAD_CLASS);
        }
        self.rest.by_ref().nth(name.chars().count() - 1);
        Ok(Some(name.to_owned()))
    }
}

fn push(output: &mut String, character: char) {
    output.push_str(&regex::escape(character.encode_utf8(&mut [0; 4])));
}

#[cfg(test)]
#[path = "re2_tests.rs"]
mod tests;
