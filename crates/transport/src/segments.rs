use std::collections::VecDeque;
use std::future::poll_fn;
use std::io::{self, IoSlice};
use std::pin::Pin;

use bytes::{Buf, Bytes};
use tokio::io::AsyncWrite;

/// Most segments in one system call.
const MAX_SLICES: usize = 64;

/// Bytes that wait to be written, as segments in their order. They are written with vectored writes, so that large payloads
/// are not copied into one buffer first.
#[derive(Debug, Default)]
pub struct Segments {
    segments: VecDeque<Bytes>,
    bytes: usize,
}

impl Segments {
    /// Appends a segment. An empty one is ignored.
    pub fn push(&mut self, segment: Bytes) {
        if !segment.is_empty() {
            self.bytes += segment.len();
            self.segments.push_back(segment);
        }
    }

    /// Whether everything is written.
    pub fn is_empty(&self) -> bool {
        self.segments.is_empty()
    }

    /// Bytes that are not yet written.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Segments that are not yet fully written.
    pub fn count(&self) -> usize {
        self.segments.len()
    }

    /// Drops what comes after the first `bytes` bytes.
    pub fn truncate(&mut self, bytes: usize) {
        let mut left = bytes;
        for segment in &mut self.segments {
            segment.truncate(left);
            left -= segment.len();
        }
        self.segments.retain(|segment| !segment.is_empty());
        self.bytes = self.bytes.min(bytes);
    }

    /// Writes once, and gives the number of bytes written. It is 0 only when nothing waits. Cancel safe: when the future is
    /// dropped before it is ready, nothing was written.
    ///
    /// # Errors
    /// Those of the stream, and [`io::ErrorKind::WriteZero`] when it takes no bytes.
    pub async fn write_some<W: AsyncWrite + Unpin>(&mut self, to: &mut W) -> io::Result<usize> {
        if self.is_empty() {
            return Ok(0);
        }
        let written = poll_fn(|context| {
            let mut slices = [IoSlice::new(&[]); MAX_SLICES];
            let count = self.segments.len().min(MAX_SLICES);
            for (slice, segment) in slices.iter_mut().zip(&self.segments) {
                *slice = IoSlice::new(segment);
            }
            Pin::new(&mut *to).poll_write_vectored(context, &slices[..count])
        });
        let written = written.await?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.advance(written);
        Ok(written)
    }

    /// Writes everything, and flushes the stream. Cancel safe: what was not written stays here.
    ///
    /// # Errors
    /// As [`Segments::write_some`].
    pub async fn write_all<W: AsyncWrite + Unpin>(&mut self, to: &mut W) -> io::Result<()> {
        while !self.is_empty() {
            self.write_some(to).await?;
        }
        poll_fn(|context| Pin::new(&mut *to).poll_flush(context)).await
    }

    fn advance(&mut self, mut written: usize) {
        self.bytes -= written.min(self.bytes);
        while let Some(segment) = self.segments.front_mut() {
            let part = written.min(segment.len());
            segment.advance(part);
            written -= part;
            if !segment.is_empty() {
                return;
            }
            self.segments.pop_front();
        }
    }
}

impl Extend<Bytes> for Segments {
    fn extend<I: IntoIterator<Item = Bytes>>(&mut self, segments: I) {
        segments.into_iter().for_each(|segment| self.push(segment));
    }
}

impl FromIterator<Bytes> for Segments {
    fn from_iter<I: IntoIterator<Item = Bytes>>(segments: I) -> Self {
        let mut all = Self::default();
        all.extend(segments);
        all
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll};

    use super::*;

    /// Takes at most so many bytes and slices at once.
    struct Narrow {
        most: usize,
        taken: Vec<u8>,
        slices: usize,
    }

    impl AsyncWrite for Narrow {
        fn poll_write(mut self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
            let count = bytes.len().min(self.most);
            self.taken.extend(&bytes[..count]);
            Poll::Ready(Ok(count))
        }

        fn poll_write_vectored(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            slices: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            self.slices = self.slices.max(slices.len());
            let all: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
            self.poll_write(context, &all)
        }

        fn is_write_vectored(&self) -> bool {
            true
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    fn narrow(most: usize) -> Narrow {
        Narrow { most, taken: Vec::new(), slices: 0 }
    }

    #[tokio::test]
    async fn all_bytes_arrive_in_order_however_few_the_stream_takes_at_once() {
        let parts = [&b"ab"[..], b"", b"cdefg", b"h"].map(Bytes::from_static);
        for most in 1..10 {
            let (mut segments, mut to) = (parts.iter().cloned().collect::<Segments>(), narrow(most));
            assert_eq!((segments.count(), segments.bytes()), (3, 8));
            segments.write_all(&mut to).await.unwrap();
            assert_eq!(to.taken, b"abcdefgh", "{most} at once");
            assert!(segments.is_empty() && segments.bytes() == 0);
        }
    }

    #[tokio::test]
    async fn one_call_gets_at_most_64_slices() {
        let (mut segments, mut to) =
            (vec![Bytes::from_static(b"x"); 200].into_iter().collect::<Segments>(), narrow(999));
        assert_eq!(segments.write_some(&mut to).await.unwrap(), 64);
        assert_eq!((segments.count(), segments.bytes(), to.slices), (136, 136, 64));
    }

    #[tokio::test]
    async fn a_stream_that_takes_nothing_is_an_error_and_not_a_loop() {
        let mut segments = Segments::from_iter([Bytes::from_static(b"x")]);
        assert_eq!(segments.write_all(&mut narrow(0)).await.unwrap_err().kind(), io::ErrorKind::WriteZero);
        assert_eq!(Segments::default().write_some(&mut narrow(0)).await.unwrap(), 0);
    }

    #[test]
    fn a_cut_keeps_the_first_bytes() {
        let mut segments: Segments = [&b"ab"[..], b"cdefg", b"h"].map(Bytes::from_static).into_iter().collect();
        segments.truncate(20);
        assert_eq!((segments.count(), segments.bytes()), (3, 8));
        segments.truncate(4);
        assert_eq!(segments.segments, ["ab", "cd"]);
        segments.truncate(0);
        assert!(segments.is_empty() && segments.bytes() == 0);
    }
}
