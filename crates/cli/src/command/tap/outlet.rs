//! Output on a thread of its own: when nobody reads it, or it cannot be written, nothing else stops.

use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Bytes that may wait to be written.
const MOST_WAITING: usize = 16 << 20;

/// How long to wait at the end for a reader that takes nothing.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where text goes, such as stdout.
pub(super) struct Outlet {
    sender: Sender<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
    error: Arc<Mutex<Option<io::Error>>>,
    ended: mpsc::Receiver<()>,
}

/// How output ended.
#[derive(Debug)]
pub(super) enum Ended {
    Written,
    /// Nobody took the last bytes, this many.
    Blocked(usize),
    Failed(io::Error),
}

impl Outlet {
    pub(super) fn new(mut to: impl Write + Send + 'static) -> Self {
        let (sender, texts) = mpsc::channel::<Vec<u8>>();
        let (end, ended) = mpsc::channel();
        let (waiting, error) = (Arc::new(AtomicUsize::new(0)), Arc::new(Mutex::new(None)));
        let outlet = Self { sender, waiting: Arc::clone(&waiting), error: Arc::clone(&error), ended };
        thread::spawn(move || {
            let mut failed = false;
            for text in texts {
                if !failed {
                    if let Err(problem) = to.write_all(&text).and_then(|()| to.flush()) {
                        failed = true;
                        *error.lock().unwrap_or_else(PoisonError::into_inner) = Some(problem);
                    }
                }
                waiting.fetch_sub(text.len(), Ordering::Relaxed);
            }
            let _ = end.send(());
        });
        outlet
    }

    /// Whether the text will be written, unless the output fails. `false` when too much waits already.
    pub(super) fn send(&self, text: Vec<u8>) -> bool {
        let waits = self.waiting.load(Ordering::Relaxed);
        if waits > 0 && waits + text.len() > MOST_WAITING {
            return false;
        }
        self.waiting.fetch_add(text.len(), Ordering::Relaxed);
        self.sender.send(text).is_ok()
    }

    /// What went wrong, once.
    pub(super) fn error(&self) -> Option<io::Error> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Waits until all is written, as long as somebody reads.
    pub(super) fn finish(self) -> Ended {
        let Self { sender, waiting, error, ended } = self;
        drop(sender);
        let mut before = waiting.load(Ordering::Relaxed);
        while let Err(RecvTimeoutError::Timeout) = ended.recv_timeout(PATIENCE) {
            let now = waiting.load(Ordering::Relaxed);
            if now == before {
                return Ended::Blocked(now);
            }
            before = now;
        }
        match error.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Ended::Failed(error),
            None => Ended::Written,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes nothing until it may, and then everything.
    struct Gate {
        open: mpsc::Receiver<()>,
        taken: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Gate {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.open.recv();
            self.taken.lock().unwrap().extend(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_nobody_reads_is_bounded_and_what_fits_is_written_in_order() {
        let (open, gate) = mpsc::channel();
        let taken = Arc::new(Mutex::new(Vec::new()));
        let outlet = Outlet::new(Gate { open: gate, taken: Arc::clone(&taken) });
        let text = |c: u8| vec![c; MOST_WAITING / 2];
        assert!(outlet.send(text(b'a')) && outlet.send(text(b'b')));
        assert!(!outlet.send(text(b'c')), "more than may wait");
        drop(open);
        assert!(matches!(outlet.finish(), Ended::Written));
        assert_eq!(*taken.lock().unwrap(), [text(b'a'), text(b'b')].concat());
    }

    #[test]
    fn an_error_is_given_once_and_what_comes_after_it_is_dropped() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let outlet = Outlet::new(Full);
        assert!(outlet.send(b"a".to_vec()) && outlet.send(b"b".to_vec()));
        let Ended::Failed(error) = outlet.finish() else { panic!("it has failed") };
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn a_reader_that_takes_nothing_is_given_up_at_the_end() {
        let (_open, gate) = mpsc::channel();
        let outlet = Outlet::new(Gate { open: gate, taken: Arc::default() });
        assert!(outlet.send(b"text".to_vec()));
        assert!(matches!(outlet.finish(), Ended::Blocked(4)));
    }
}
