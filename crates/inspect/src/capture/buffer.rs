use std::io::{self, Read};

/// How much is asked for at once.
const STEP: usize = 256 * 1024;

/// Input of which a stretch of any length can be looked at before it is taken.
#[derive(Debug)]
pub(super) struct Buffer<R> {
    input: R,
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Where `start` is in the input.
    position: u64,
    done: bool,
}

impl<R: Read> Buffer<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, bytes: Vec::new(), start: 0, end: 0, position: 0, done: false }
    }

    /// The next bytes; `None` when there are not as many. Who asks has made sure that it is not too much.
    pub(super) fn peek(&mut self, length: usize) -> io::Result<Option<&[u8]>> {
        while self.rest() < length && !self.done {
            self.fill(length)?;
        }
        Ok(self.bytes[self.start..self.end].get(..length))
    }

    /// Takes bytes that were looked at.
    pub(super) fn take(&mut self, length: usize) -> &[u8] {
        let start = self.start;
        self.consume(length);
        &self.bytes[start..self.start]
    }

    pub(super) fn consume(&mut self, length: usize) {
        let length = length.min(self.rest());
        self.start += length;
        self.position += length as u64;
    }

    /// Passes over bytes; `false` when there are not as many.
    pub(super) fn skip(&mut self, mut length: u64) -> io::Result<bool> {
        while length > 0 {
            if self.rest() == 0 {
                self.fill(1)?;
            }
            let step = usize::try_from(length).unwrap_or(usize::MAX).min(self.rest());
            if step == 0 {
                return Ok(false);
            }
            self.consume(step);
            length -= step as u64;
        }
        Ok(true)
    }

    /// Bytes that are there and not taken.
    pub(super) fn rest(&self) -> usize {
        self.end - self.start
    }

    /// Nothing of what is left will be taken.
    pub(super) fn drain(&mut self) {
        self.consume(self.rest());
    }

    pub(super) fn position(&self) -> u64 {
        self.position
    }

    fn fill(&mut self, length: usize) -> io::Result<()> {
        if self.start > 0 && self.bytes.len() - self.start < length.max(STEP / 4) {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        // Twice at most what came, so that a claim alone takes no memory.
        let room = length.max(STEP).min(2 * self.end + STEP);
        if self.bytes.len() < self.start + room {
            self.bytes.resize(self.start + room, 0);
        }
        loop {
            match self.input.read(&mut self.bytes[self.end..]) {
                Ok(0) => self.done = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            }
            return Ok(());
        }
    }
}
