use std::future::poll_fn;
use std::io::{BufWriter, IsTerminal as _, StdoutLock, Write as _};
use std::pin::pin;
use std::task::Poll;

use milena_client::Record;

use super::Consume;
use crate::failure::Result;
use crate::output::{self, Progress};
use crate::record;

/// Prints records on stdout.
pub(super) struct Printer<'a> {
    consume: &'a Consume,
    out: BufWriter<StdoutLock<'static>>,
    /// A line of JSON that is made.
    line: Vec<u8>,
    left: u64,
    printed: u64,
    progress: Progress,
}

impl<'a> Printer<'a> {
    pub(super) fn new(consume: &'a Consume) -> Self {
        Self {
            consume,
            out: output::stdout(),
            line: Vec::new(),
            left: consume.count.unwrap_or(u64::MAX),
            printed: 0,
            progress: Progress::new(!std::io::stdout().is_terminal()),
        }
    }

    /// Whether as many records are printed as are wanted.
    pub(super) fn is_full(&self) -> bool {
        self.left == 0
    }

    /// Waits for something. What was printed reaches the reader of stdout before that.
    pub(super) async fn wait<T>(&mut self, work: impl Future<Output = T>) -> Result<T> {
        let mut work = pin!(work);
        match poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await {
            Poll::Ready(done) => Ok(done),
            Poll::Pending => {
                self.flush()?;
                Ok(work.await)
            }
        }
    }

    /// Prints a record.
    pub(super) fn print(&mut self, partition: i32, record: &Record) -> Result {
        let consume = self.consume;
        let topic = consume.topic.as_str();
        match consume.json {
            true => {
                self.line.clear();
                record::push_json(&mut self.line, topic, partition, record);
                self.out.write_all(&self.line)?;
            }
            false => consume.format.write(&mut self.out, topic, partition, record, &consume.null)?,
        }
        self.left -= 1;
        self.printed += 1;
        self.progress.show(self.printed, "records");
        Ok(())
    }

    pub(super) fn flush(&mut self) -> Result {
        Ok(self.out.flush()?)
    }
}
