use std::sync::PoisonError;

use milena_messages::api_versions::response::{ApiVersion, FinalizedFeatureKey, SupportedFeatureKey};
use milena_messages::{ApiKey, ApiVersionsRequest, ApiVersionsResponse, ByteString, ErrorCode};

use super::Context;
use crate::cluster::features::Features;
use crate::cost::Cost;
use crate::telemetry::Software;

/// From here on clients name their software (KIP-511).
const NAMES: i16 = 3;
/// Kafka lists these when it has a receiver of metrics, and serves them in any case.
const TELEMETRY: [ApiKey; 2] = [ApiKey::GET_TELEMETRY_SUBSCRIPTIONS, ApiKey::PUSH_TELEMETRY];
/// From here on clients learn of features whose least level is 0 (KIP-1022).
const LEVEL_ZERO: i16 = 4;

pub(super) fn handle(context: &Context, request: ApiVersionsRequest, _cost: &mut Cost) -> ApiVersionsResponse {
    let error_code = check(context, &request);
    if !error_code.is_none() {
        return ApiVersionsResponse { error_code, ..Default::default() };
    }
    if context.version >= NAMES {
        let copy = |text: &ByteString| ByteString::from(text.to_string());
        let software =
            Software { name: copy(&request.client_software_name), version: copy(&request.client_software_version) };
        *context.client.software.lock().unwrap_or_else(PoisonError::into_inner) = software;
    }
    let entry = |&(api_key, versions): &(_, milena_messages::VersionRange)| ApiVersion {
        api_key,
        min_version: versions.min(),
        max_version: versions.max(),
        ..Default::default()
    };
    let supported = |(name, least, greatest): (&'static str, i16, i16)| SupportedFeatureKey {
        name: name.into(),
        min_version: least,
        max_version: greatest,
        ..Default::default()
    };
    let finalized = |(name, level): (&'static str, i16)| FinalizedFeatureKey {
        name: name.into(),
        max_version_level: level,
        min_version_level: level,
        ..Default::default()
    };
    let release = &context.state.release;
    let is_listed = |(api, _): &&(ApiKey, _)| context.state.config.client_telemetry || !TELEMETRY.contains(api);
    let api_keys = release.listed().iter().filter(is_listed).map(entry).collect();
    if !release.has("4.0") {
        // Features came with 2.7, and those that matter to clients with 4.0.
        return ApiVersionsResponse { api_keys, finalized_features_epoch: 0, ..Default::default() };
    }
    let shows = |(_, least, _): &(&str, i16, i16)| *least > 0 || context.version >= LEVEL_ZERO;
    let features = context.state.features();
    ApiVersionsResponse {
        api_keys,
        supported_features: Features::supported().filter(shows).map(supported).collect(),
        finalized_features_epoch: features.epoch(),
        finalized_features: features.finalized().map(finalized).collect(),
        ..Default::default()
    }
}

fn check(context: &Context, request: &ApiVersionsRequest) -> ErrorCode {
    if !has_valid_software_name(request, context.version) {
        return ErrorCode::INVALID_REQUEST;
    }
    // A client that names the node it wants gets an error from another node.
    match (&request.cluster_id, request.node_id) {
        (None, -1) => ErrorCode::NONE,
        (Some(cluster), node) if node != -1 => {
            if *cluster == context.state.cluster_id && node == context.node.id {
                ErrorCode::NONE
            } else {
                ErrorCode::REBOOTSTRAP_REQUIRED
            }
        }
        _ => ErrorCode::INVALID_REQUEST,
    }
}

/// Whether the client says how it is called, as it has to from version 3 on.
pub(crate) fn has_valid_software_name(request: &ApiVersionsRequest, version: i16) -> bool {
    let names = [&request.client_software_name, &request.client_software_version];
    version < NAMES || names.into_iter().all(|name| is_software_name(name))
}

/// Letters, digits, dashes and dots, the last two not at the ends (KIP-511).
fn is_software_name(name: &str) -> bool {
    let inside = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.');
    let ends = [name.bytes().next(), name.bytes().next_back()];
    name.bytes().all(inside) && ends.iter().all(|end| end.is_some_and(|b| b.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handler::tests::{Fixture, state};

    fn handle(state: &Fixture, request: ApiVersionsRequest, version: i16) -> ApiVersionsResponse {
        super::handle(&state.at(version), request, &mut Cost::quick())
    }

    fn request(name: &str) -> ApiVersionsRequest {
        ApiVersionsRequest {
            client_software_name: name.into(),
            client_software_version: "1.0".into(),
            ..Default::default()
        }
    }

    #[test]
    fn software_names_follow_kip_511() {
        let code = |name: &str| handle(&state(), request(name), 3).error_code;
        assert_eq!(code("apache-kafka.java"), ErrorCode::NONE);
        for name in ["", "-a", "a.", "a b", "ä"] {
            assert_eq!(code(name), ErrorCode::INVALID_REQUEST, "{name}");
        }
        assert_eq!(handle(&state(), request(""), 2).error_code, ErrorCode::NONE);
    }

    #[test]
    fn a_client_that_means_another_node_is_sent_back_to_bootstrap() {
        let state = state();
        let code = |cluster_id: Option<&str>, node_id| {
            let cluster_id = cluster_id.map(Into::into);
            handle(&state, ApiVersionsRequest { cluster_id, node_id, ..request("a") }, 5).error_code
        };
        let cluster = state.cluster_id.to_string();
        assert_eq!(code(Some(&cluster), 1), ErrorCode::NONE);
        assert_eq!(code(Some(&cluster), 2), ErrorCode::REBOOTSTRAP_REQUIRED);
        assert_eq!(code(Some("x"), 1), ErrorCode::REBOOTSTRAP_REQUIRED);
        assert_eq!(code(None, 1), ErrorCode::INVALID_REQUEST);
    }
}
