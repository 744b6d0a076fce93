use std::io::{self, ErrorKind, Read};

use bytes::{Bytes, BytesMut};

/// Bytes that are read at once.
const CHUNK: usize = 256 << 10;

/// A part of a file, held in memory.
#[derive(Debug)]
pub(crate) struct Window<R> {
    read: R,
    held: BytesMut,
    /// Where in the file the held bytes begin.
    position: u64,
    ended: bool,
}

impl<R: Read> Window<R> {
    pub(crate) fn new(read: R) -> Self {
        Self { read, held: BytesMut::new(), position: 0, ended: false }
    }

    /// Where in the file the next byte is from.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// All that is held.
    pub(crate) fn held(&self) -> &[u8] {
        &self.held
    }

    /// Reads until so many bytes are held, or all there are. Gives how many are.
    pub(crate) fn fill(&mut self, wanted: usize) -> io::Result<usize> {
        while self.held.len() < wanted && !self.ended {
            // Memory follows what is there and not what somebody claims.
            let before = self.held.len();
            let room = (wanted - before).min(before).max(CHUNK);
            self.held.resize(before + room, 0);
            let read = loop {
                match self.read.read(&mut self.held[before..]) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    other => break other,
                }
            };
            self.held.truncate(before + *read.as_ref().unwrap_or(&0));
            self.ended = read? == 0;
        }
        Ok(self.held.len())
    }

    /// The next bytes as a value; so many have to be held.
    pub(crate) fn take(&mut self, size: usize) -> Bytes {
        self.position += size as u64;
        self.held.split_to(size).freeze()
    }

    /// Puts back what was taken last.
    pub(crate) fn put_back(&mut self, bytes: &[u8]) {
        let mut held = BytesMut::with_capacity(bytes.len() + self.held.len());
        held.extend_from_slice(bytes);
        held.extend_from_slice(&self.held);
        self.held = held;
        self.position -= bytes.len() as u64;
    }

    /// Passes over bytes; so many have to be held.
    pub(crate) fn skip(&mut self, size: usize) {
        drop(self.take(size));
    }
}
