use milena_messages::{ErrorCode, PushTelemetryRequest, PushTelemetryResponse};
use milena_records::{Codec, ErrorKind};

use super::Context;
use super::get_telemetry_subscriptions::called;
use crate::cost::Cost;
use crate::telemetry::{MAX_BYTES, Push};

/// Most bytes of metrics after they are decompressed.
const MAX_DECOMPRESSED: usize = 16 * MAX_BYTES;

/// Takes the metrics of a client. Tests find them among the requests that the broker received.
pub(super) fn handle(context: &Context, request: PushTelemetryRequest, cost: &mut Cost) -> PushTelemetryResponse {
    let instance = request.client_instance_id;
    // Ids 0 and 1 are reserved.
    if instance.as_bytes()[..15] == [0; 15] && instance.as_bytes()[15] < 2 {
        return PushTelemetryResponse { error_code: ErrorCode::INVALID_REQUEST, ..Default::default() };
    }
    let codec = u8::try_from(request.compression_type).ok().and_then(Codec::from_id);
    let readable = request.metrics.is_empty()
        || request.metrics.len() > MAX_BYTES
        || codec.is_some_and(|codec| cost.response(request.metrics.len()) && is_readable(codec, &request.metrics));
    if cost.needs_full() {
        return PushTelemetryResponse::default();
    }
    let push = Push {
        subscription: request.subscription_id,
        terminating: request.terminating,
        codec_known: codec.is_some(),
        size: request.metrics.len(),
        readable,
    };
    let now_ms = context.state.now_ms();
    let pushed = called(context, instance, |caller| context.node.telemetry.push(caller, &push, now_ms));
    PushTelemetryResponse { error_code: pushed.err().unwrap_or_default(), ..Default::default() }
}

fn is_readable(codec: Codec, metrics: &[u8]) -> bool {
    match codec.decompress(metrics, MAX_DECOMPRESSED) {
        Ok(_) => true,
        // This build cannot tell.
        Err(error) => error.kind() == ErrorKind::UnsupportedCodec,
    }
}
