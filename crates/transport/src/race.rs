use std::future::Future;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

/// How long an attempt runs before the next one is started in parallel.
const STAGGER: Duration = Duration::from_millis(250);

/// Runs attempts until one succeeds, and drops the others. The next one starts when the one before fails, or takes longer
/// than 250 ms.
///
/// # Errors
/// All of them failed. The errors are in the order of the attempts.
pub async fn first_of<T, E, F>(attempts: impl IntoIterator<Item = F>) -> Result<T, Vec<E>>
where
    T: Send + 'static,
    E: Send + 'static,
    F: Future<Output = Result<T, E>> + Send + 'static,
{
    let mut attempts = attempts.into_iter().enumerate().peekable();
    let mut running = JoinSet::new();
    let mut errors = Vec::new();
    let mut start = true;
    let mut next_at = Instant::now();
    loop {
        if start {
            if let Some((index, attempt)) = attempts.next() {
                running.spawn(async move { (index, attempt.await) });
            }
            next_at = Instant::now() + STAGGER;
        }
        start = tokio::select! {
            done = running.join_next() => match done {
                None => {
                    errors.sort_by_key(|(index, _)| *index);
                    return Err(errors.into_iter().map(|(_, error)| error).collect());
                }
                Some(Ok((_, Ok(value)))) => return Ok(value),
                Some(Ok((index, Err(error)))) => {
                    errors.push((index, error));
                    true
                }
                // Only a panic or the end of the runtime comes here.
                Some(Err(_)) => true,
            },
            () = sleep_until(next_at), if attempts.peek().is_some() => true,
        };
    }
}
