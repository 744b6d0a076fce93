//! The data folder: what logs hold, written to files in Kafka's own formats.
//!
//! All records are in memory as well, and are read from there. A thread of its own does the writing, in the order in which
//! the logs changed, so that no thread of the runtime waits for the disk. A response goes out when all that was done before
//! it is in the files: what a client got as a response survives the end of the process, whatever ends it. As in Kafka nothing waits for
//! the disk itself, so that a power failure may cost the last records.
//!
//! When a file cannot be written, nothing more is: no response goes out, and producers get KAFKA_STORAGE_ERROR.

mod files;
mod load;
mod metadata;
mod writer;

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::JoinHandle;

use milena_messages::{ErrorCode, Uuid};
use tokio::sync::watch;

pub(crate) use self::load::{LoadedLog, Saved, load};
pub(crate) use self::metadata::{Change, SavedTopic};
use self::writer::Writer;
use crate::refusal::Refusal;
use crate::storage::segment::Segment;
use crate::storage::transactions::Aborted;

/// Something to write. `folder` is that of a partition, such as `letters-0`.
#[derive(Debug)]
pub(crate) enum Job {
    /// A new partition.
    Create { folder: Arc<str>, topic_id: Uuid },
    /// A batch at the end of a segment.
    Append { folder: Arc<str>, segment: i64, bytes: Vec<u8> },
    /// A segment is full; with the offset after it and what is known of producers there.
    Finish { folder: Arc<str>, segment: Segment, aborted: Vec<Aborted>, producers: (i64, Vec<u8>) },
    /// Some segments take the place of others.
    Replace { folder: Arc<str>, old: Vec<i64>, new: Vec<Segment>, aborted: Vec<Aborted> },
    /// Segments are gone.
    Remove { folder: Arc<str>, segments: Vec<i64> },
    /// The leader epochs, each with its first offset.
    Epochs { folder: Arc<str>, epochs: Vec<(i32, i64)> },
    /// The first offset of a partition.
    Start { folder: Arc<str>, offset: i64 },
    /// Compaction has seen all before this offset.
    Clean { folder: Arc<str>, offset: i64 },
    /// The partition is deleted.
    Delete { folder: Arc<str> },
    /// Topics and settings.
    Metadata(Vec<Change>),
    /// The end: the offset after the last record of each partition.
    Close { ends: Vec<(Arc<str>, i64)> },
}

/// The thread that writes, as others see it.
#[derive(Debug)]
pub(crate) struct Disk {
    jobs: Mutex<Option<Sender<Job>>>,
    sent: AtomicU64,
    done: watch::Receiver<u64>,
    failed: Arc<OnceLock<String>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Disk {
    /// Opens a folder, which is made when it is missing, and begins with these topics in it. Gives the thread that writes.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(crate) fn open(folder: &Path, cluster_id: &str, node_id: i32, topics: &Saved) -> io::Result<Arc<Self>> {
        let writer = Writer::open(folder, cluster_id, node_id, topics)?;
        let (jobs, received) = channel();
        let (progress, done) = watch::channel(0);
        let failed = Arc::new(OnceLock::new());
        let failure = failed.clone();
        let run = move || write_all(writer, &received, &progress, &failure);
        let thread = std::thread::Builder::new().name("milena-disk".to_owned()).spawn(run)?;
        Ok(Arc::new(Self {
            jobs: Mutex::new(Some(jobs)),
            sent: AtomicU64::new(0),
            done,
            failed,
            thread: Mutex::new(Some(thread)),
        }))
    }

    /// Sends a job. Those of one partition are done in their order.
    pub(crate) fn send(&self, job: Job) {
        let jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        self.sent.fetch_add(1, Ordering::AcqRel);
        if let Some(jobs) = &*jobs {
            // The thread ends only after a failure, which all who wait see.
            let _ = jobs.send(job);
        }
    }

    /// Waits until all jobs so far are done.
    ///
    /// # Errors
    /// What cannot be written.
    pub(crate) async fn settled(&self) -> Result<(), String> {
        let wanted = self.sent.load(Ordering::Acquire);
        let mut done = self.done.clone();
        let reached = done.wait_for(|done| *done >= wanted).await.is_ok();
        match self.failed.get() {
            Some(failure) => Err(failure.clone()),
            None if reached => Ok(()),
            None => Err("the thread that writes the data folder has ended".to_owned()),
        }
    }

    /// Checks whether the folder can be written.
    ///
    /// # Errors
    /// KAFKA_STORAGE_ERROR when it could not before.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        match self.failed.get() {
            Some(failure) => Err(Refusal::new(ErrorCode::KAFKA_STORAGE_ERROR, failure.clone())),
            None => Ok(()),
        }
    }

    /// Waits until all is written, and ends the thread.
    pub(crate) fn close(&self, ends: Vec<(Arc<str>, i64)>) {
        self.send(Job::Close { ends });
        drop(self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(Err(_)) = thread.map(JoinHandle::join) {
            tracing::error!("the thread that writes the data folder failed");
        }
    }
}

/// Does all jobs until there are no more senders, or one cannot be done.
fn write_all(mut writer: Writer, jobs: &Receiver<Job>, progress: &watch::Sender<u64>, failed: &OnceLock<String>) {
    let mut done = 0;
    while let Ok(job) = jobs.recv() {
        for job in std::iter::once(job).chain(jobs.try_iter()) {
            if let Err(error) = writer.run(job) {
                tracing::error!(%error, "the data folder cannot be written: nothing more is kept");
                // Nobody else sets it.
                let _ = failed.set(format!("the data folder cannot be written: {error}"));
                progress.send_replace(u64::MAX);
                return;
            }
            done += 1;
        }
        progress.send_replace(done);
    }
}

/// A partition in the data folder.
#[derive(Clone, Debug)]
pub(crate) struct DiskLog {
    pub(crate) disk: Arc<Disk>,
    pub(crate) folder: Arc<str>,
    /// The epochs that were written last.
    pub(crate) epochs: Vec<(i32, i64)>,
}

impl DiskLog {
    pub(crate) fn new(disk: Arc<Disk>, topic: &str, partition: usize) -> Self {
        Self { disk, folder: format!("{topic}-{partition}").into(), epochs: Vec::new() }
    }

    pub(crate) fn send(&self, job: impl FnOnce(Arc<str>) -> Job) {
        self.disk.send(job(self.folder.clone()));
    }
}
