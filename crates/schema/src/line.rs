use crate::parser::SpecError;

/// One line of a spec file, cut into words.
#[derive(Debug)]
pub(crate) struct Line<'a> {
    pub(crate) file: &'a str,
    pub(crate) number: usize,
    /// Depth of indentation: two spaces are one step.
    pub(crate) depth: usize,
    /// Each word with its column, from 1.
    words: Vec<(usize, &'a str)>,
    next: usize,
    end: usize,
    pub(crate) doc: &'a str,
}

impl<'a> Line<'a> {
    /// Cuts a line; `None` when it is empty or a remark. A line of documentation alone has no words.
    pub(crate) fn cut(file: &'a str, number: usize, text: &'a str) -> Result<Option<Self>, SpecError> {
        let fail = |column, message: &str| Err(SpecError::new(file, number, column, message.to_owned()));
        if let Some(tab) = text.find('\t') {
            return fail(tab + 1, "a tab, expected spaces");
        }
        let trimmed = text.trim_start_matches(' ');
        if trimmed.is_empty() || trimmed.starts_with('#') {
            return Ok(None);
        }
        let indent = text.len() - trimmed.len();
        if indent % 2 != 0 {
            return fail(indent + 1, "indented by an odd number of spaces, expected two for each level");
        }
        let (code, doc) = match text.find("//") {
            Some(at) => (&text[..at], text[at + 2..].trim()),
            None => (text, ""),
        };
        let mut words = Vec::new();
        let mut start = None;
        for (at, c) in code.char_indices().chain([(code.len(), ' ')]) {
            match (c, start) {
                (' ', Some(from)) => {
                    words.push((from + 1, &code[from..at]));
                    start = None;
                }
                (' ', None) | (_, Some(_)) => {}
                (_, None) => start = Some(at),
            }
        }
        let end = code.trim_end().len() + 1;
        Ok(Some(Self { file, number, depth: indent / 2, words, next: 0, end, doc }))
    }

    /// Whether the line is documentation of the item below.
    pub(crate) fn is_doc(&self) -> bool {
        self.words.is_empty()
    }

    /// The next word without taking it.
    pub(crate) fn peek(&self) -> Option<&'a str> {
        self.words.get(self.next).map(|(_, word)| *word)
    }

    /// Takes the next word, which the line must have.
    pub(crate) fn word(&mut self, expected: &str) -> Result<&'a str, SpecError> {
        match self.peek() {
            Some(word) => {
                self.next += 1;
                Ok(word)
            }
            None => Err(SpecError::new(
                self.file,
                self.number,
                self.end,
                format!("the line ends here, expected {expected}"),
            )),
        }
    }

    /// Takes the next word and makes something of it.
    pub(crate) fn parse<T>(
        &mut self,
        expected: &str,
        parse: impl FnOnce(&'a str) -> Option<T>,
    ) -> Result<T, SpecError> {
        let word = self.word(expected)?;
        parse(word).ok_or_else(|| self.error(format!("`{word}`, expected {expected}")))
    }

    /// Everything up to the end must be taken.
    pub(crate) fn finish(&mut self, expected: &str) -> Result<(), SpecError> {
        match self.peek() {
            None => Ok(()),
            Some(word) => {
                self.next += 1;
                Err(self.error(format!("`{word}`, expected {expected}")))
            }
        }
    }

    /// An error at the word taken last.
    pub(crate) fn error(&self, message: impl Into<String>) -> SpecError {
        let column = match self.next.checked_sub(1).and_then(|i| self.words.get(i)) {
            Some((column, _)) => *column,
            None => 2 * self.depth + 1,
        };
        SpecError::new(self.file, self.number, column, message.into())
    }
}
