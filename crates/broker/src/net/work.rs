//! Where requests are worked on. Most take microseconds and are handled on the thread of their connection. A request that
//! is large or turns out to be costly goes to one of tokio's threads for blocking work, so that it delays nobody else.

use std::sync::Arc;

use milena_connection::{ConnectionError, IncomingRequest};
use tokio::sync::Semaphore;
use tokio::task::JoinError;

use crate::cost::Cost;
use crate::handler::{self, Context, Frame, Outcome};

/// Larger requests are costly in any case.
const QUICK: usize = 16 * 1024;
/// Costly requests at the same time. Each may hold some hundred megabytes of decompressed records.
const AT_ONCE: usize = 2;

/// Why a request has no outcome.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failed {
    #[error(transparent)]
    Connection(#[from] ConnectionError),
    #[error("the handler failed")]
    Handler(#[from] JoinError),
}

/// Limits how many costly requests are worked on at the same time.
#[derive(Debug)]
pub(crate) struct Workers(Arc<Semaphore>);

impl Default for Workers {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl Workers {
    /// Runs a job with a quick budget, and when it needs more again with a full one, on a thread for blocking work.
    /// The job has to change nothing before it knows that its budget is enough.
    ///
    /// # Errors
    /// The job panicked, or the runtime ends.
    pub(crate) async fn budgeted<T: Send + 'static>(
        &self,
        frame_size: usize,
        job: impl Fn(&mut Cost) -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        if frame_size <= QUICK {
            let mut cost = Cost::quick();
            let outcome = job(&mut cost);
            if !cost.needs_full() {
                return Ok(outcome);
            }
        }
        self.run(move || job(&mut Cost::full(frame_size))).await
    }

    async fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> Result<T, JoinError> {
        // It is never closed. A job goes on when its connection is gone, and so does its permit.
        let permit = self.0.clone().acquire_owned().await.ok();
        tokio::task::spawn_blocking(move || {
            let _permit = permit;
            job()
        })
        .await
    }
}

/// Handles a request, and waits where it has to wait.
///
/// # Errors
/// The request cannot be read; its handler panicked, or the runtime ends.
pub(crate) async fn process(context: &Context, request: &IncomingRequest) -> Result<Outcome<Frame>, Failed> {
    match handle(context, request).await? {
        Outcome::Later(later) => Ok(later.await),
        outcome => Ok(outcome),
    }
}

async fn handle(context: &Context, request: &IncomingRequest) -> Result<Outcome<Frame>, Failed> {
    let (context, request) = (context.clone(), request.clone());
    let (workers, size) = (context.state.clone(), request.frame_size());
    Ok(workers.workers.budgeted(size, move |cost| handler::handle(&context, &request, cost)).await??)
}

#[cfg(test)]
mod tests {
    use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
    use milena_messages::{ApiKey, Message as _, MetadataRequest, ProduceRequest};
    use milena_records::{Codec, Record, encode};

    use super::*;
    use crate::handler::tests::{create, incoming_request, state};

    fn produce(size: usize, codec: Codec) -> IncomingRequest {
        let records = encode(&[Record::from_value(vec![0; size])], codec).unwrap();
        let partition = PartitionProduceData { records: Some(records), ..Default::default() };
        let topic = TopicProduceData { name: "a".into(), partition_data: vec![partition], ..Default::default() };
        let request = ProduceRequest { acks: 1, topic_data: vec![topic], ..Default::default() };
        incoming_request(ApiKey::PRODUCE, 9, &request.to_bytes(9).unwrap())
    }

    /// Handles a request while all places for costly ones are taken, and says whether it needs one.
    async fn is_costly(request: IncomingRequest) -> bool {
        let state = state();
        create(&state, "a", 1);
        let places = state.workers.0.clone().acquire_many_owned(AT_ONCE as u32).await.unwrap();
        let context = state.at(request.api_version);
        let task = tokio::spawn(async move { process(&context, &request).await });
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        let costly = !task.is_finished();
        drop(places);
        assert!(matches!(task.await.unwrap(), Ok(Outcome::Response(_))));
        costly
    }

    #[tokio::test]
    async fn large_requests_and_bombs_leave_the_threads_of_the_runtime_to_others() {
        let metadata = MetadataRequest::default().to_bytes(12).unwrap();
        assert!(!is_costly(incoming_request(ApiKey::METADATA, 12, &metadata)).await);
        assert!(!is_costly(produce(10_000, Codec::None)).await);
        assert!(!is_costly(produce(500_000, Codec::Zstd)).await);
        assert!(is_costly(produce(20_000, Codec::None)).await);
        assert!(is_costly(produce(2_000_000, Codec::Zstd)).await);
    }
}
