//! That the broker is one.

use std::net::ToSocketAddrs;
use std::time::Duration;

use milena_messages::{ApiKey, ApiVersionsRequest, MetadataRequest};

use super::common::same;
use super::{Outcome, Target};
use crate::probe;

/// The ApiVersions response names ApiVersions itself and the APIs that no client can do without.
pub(super) async fn api_versions_are_listed(target: Target) -> Outcome {
    let response = tokio::task::spawn_blocking(move || {
        let first = target.bootstrap.split(',').next().unwrap_or_default();
        let address = first.to_socket_addrs()?.next().ok_or("the name has no address")?;
        probe::api_versions(address, 3, Duration::from_secs(10))
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

/// Asks at every version that both sides have, for APIs whose response does not depend on what was done before; Metadata 0
/// apart, which cannot ask for no topic.
pub(super) async fn every_version_that_is_listed_is_served(target: Target) -> Outcome {
    let client = target.client().await?;
    let served = &client.versions(milena_client::Target::Any).await?;
    let common = |key: ApiKey| key.versions().iter().filter(move |version| served.of(key).contains(*version));
    for version in common(ApiKey::API_VERSIONS) {
        let request = ApiVersionsRequest {
            client_software_name: "milena-interop".into(),
            client_software_version: "1".into(),
            ..Default::default()
        };
        let response = client.send_at(milena_client::Target::Any, &request, version).await;
        let response = response.map_err(|error| format!("ApiVersions {version}: {error}"))?;
        response.error_code.ok().map_err(|code| format!("ApiVersions {version}: {code}"))?;
    }
    for version in common(ApiKey::METADATA).filter(|version| *version > 0) {
        let request = MetadataRequest { topics: Some(Vec::new()), ..Default::default() };
        let response = client.send_at(milena_client::Target::Any, &request, version).await;
        let response = response.map_err(|error| format!("Metadata {version}: {error}"))?;
        same(&format!("brokers at Metadata {version}"), response.brokers.len(), 1)?;
    }
    Ok(())
}
