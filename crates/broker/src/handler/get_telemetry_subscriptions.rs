use milena_messages::{GetTelemetrySubscriptionsRequest, GetTelemetrySubscriptionsResponse, Uuid};

use super::Context;
use crate::cluster::random_uuid;
use crate::cost::Cost;
use crate::telemetry::{Caller, MAX_BYTES, Properties};

/// The codecs in Kafka's order of preference: zstd, lz4, gzip, snappy.
const CODECS: [i8; 4] = [4, 3, 1, 2];

pub(super) fn handle(
    context: &Context,
    request: GetTelemetrySubscriptionsRequest,
    _cost: &mut Cost,
) -> GetTelemetrySubscriptionsResponse {
    let asked = request.client_instance_id;
    let client_instance_id = if asked.is_zero() { random_uuid() } else { asked };
    let now_ms = context.state.now_ms();
    let found = called(context, client_instance_id, |caller| context.node.telemetry.subscription(caller, now_ms));
    match found {
        Ok(subscription) => GetTelemetrySubscriptionsResponse {
            client_instance_id,
            subscription_id: subscription.id,
            accepted_compression_types: CODECS.to_vec(),
            push_interval_ms: subscription.interval_ms,
            telemetry_max_bytes: MAX_BYTES as i32,
            delta_temporality: true,
            requested_metrics: subscription.metrics.into_iter().map(Into::into).collect(),
            ..Default::default()
        },
        Err(error_code) => GetTelemetrySubscriptionsResponse { error_code, ..Default::default() },
    }
}

/// Calls with the client and the subscriptions that are stored now.
pub(super) fn called<T>(context: &Context, instance: Uuid, act: impl FnOnce(&Caller<'_>) -> T) -> T {
    let (client, software) = (&context.client, context.client.software());
    let properties = Properties::from([
        ("client_id", context.client_id.as_deref().unwrap_or_default().to_owned()),
        ("client_instance_id", instance.to_string()),
        ("client_software_name", software.name.to_string()),
        ("client_software_version", software.version.to_string()),
        ("client_source_address", client.peer.ip().to_string()),
        ("client_source_port", client.peer.port().to_string()),
    ]);
    let configs = context.state.stored_configs();
    act(&Caller {
        instance,
        connection: &client.software,
        properties,
        stored: &configs.client_metrics,
        version: configs.client_metrics_version,
    })
}
