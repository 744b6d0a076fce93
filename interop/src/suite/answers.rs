//! That the broker is one.

use std::net::ToSocketAddrs;
use std::time::Duration;

use super::{Outcome, Target};
use crate::probe;

/// The answer to ApiVersions names ApiVersions itself and the APIs that no client can do without.
pub(super) async fn api_versions_are_told(target: Target) -> Outcome {
    use milena_messages::ApiKey;

    let response = tokio::task::spawn_blocking(move || {
        let first = target.bootstrap.split(',').next().unwrap_or_default();
        let address = first.to_socket_addrs()?.next().ok_or("the name has no address")?;
        probe::api_versions(address, Duration::from_secs(10))
    })
    .await??;
    for key in [ApiKey::API_VERSIONS, ApiKey::METADATA, ApiKey::PRODUCE, ApiKey::FETCH, ApiKey::LIST_OFFSETS] {
        let Some(entry) = response.api_keys.iter().find(|entry| entry.api_key == key) else {
            return Err(format!("{key} is not served").into());
        };
        if entry.min_version > entry.max_version {
            return Err(format!("{key} has versions {} to {}", entry.min_version, entry.max_version).into());
        }
    }
    Ok(())
}
