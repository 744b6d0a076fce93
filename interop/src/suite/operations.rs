//! What operators and monitoring ask for: features, nodes, markers of transactions, metrics of clients.

use milena_client::{NewTopic, Target as To};
use milena_messages::incremental_alter_configs::request::{AlterConfigsResource, AlterableConfig};
use milena_messages::update_features::request::FeatureUpdateKey;
use milena_messages::write_txn_markers::request::{WritableTxnMarker, WritableTxnMarkerTopic};
use milena_messages::{
    AddRaftVoterRequest, ErrorCode, GetTelemetrySubscriptionsRequest, IncrementalAlterConfigsRequest,
    PushTelemetryRequest, UnregisterBrokerRequest, UnregisterControllerRequest, UpdateFeaturesRequest, Uuid,
    WriteTxnMarkersRequest,
};

use super::common::same;
use super::{Outcome, Target};

pub(super) async fn features_change_all_or_none(target: Target) -> Outcome {
    let client = target.client().await?;
    let key = |(feature, max_version_level, upgrade_type): &(&str, i16, i8)| FeatureUpdateKey {
        feature: (*feature).into(),
        max_version_level: *max_version_level,
        upgrade_type: *upgrade_type,
        ..Default::default()
    };
    for (updates, expected) in [
        (&[][..], None),
        (&[("group.version", 0, 2), ("transaction.version", 1, 3)][..], None),
        (&[("group.version", 0, 1)], Some("setting the upgrade type to either safe or unsafe downgrade.")),
        (&[("group.version", 0, 4)], Some("The controller does not support the given upgrade type.")),
        (&[("group.version", 2, 1)], Some("Local controller 1 only supports versions 0-1")),
        (&[("group.version", -1, 1)], Some("A feature version cannot be less than 0.")),
        (&[("kraft.version", 1, 2)], Some("Can't downgrade to a newer version.")),
        (&[("transaction.version", 1, 2), ("nope", 1, 1)], Some("Local controller 1 does not support this feature.")),
        (&[("nope", 0, 2)], Some("Feature nope not found.")),
        (&[("metadata.version", 30, 2)], Some("because it might delete metadata information.")),
        (&[("metadata.version", 30, 3)], Some("Unsafe metadata downgrade is not supported in this version.")),
    ] {
        let feature_updates: Vec<_> = updates.iter().map(key).collect();
        let request = UpdateFeaturesRequest { validate_only: true, feature_updates, ..Default::default() };
        for version in [1, 2] {
            let response = client.send_at(To::Any, &request, version).await?;
            let code = if expected.is_some() { ErrorCode::INVALID_UPDATE_VERSION } else { ErrorCode::NONE };
            same(&format!("{updates:?}"), response.error_code, code)?;
            let message = response.error_message.as_deref().unwrap_or_default();
            same(&format!("{message:?} about {updates:?}"), message.ends_with(expected.unwrap_or_default()), true)?;
            let results = if version == 1 && expected.is_none() { updates.len() } else { 0 };
            same("results", response.results.len(), results)?;
        }
    }
    Ok(())
}

pub(super) async fn nodes_that_are_not_there_cannot_be_unregistered(target: Target) -> Outcome {
    let client = target.client().await?;
    let broker = UnregisterBrokerRequest { broker_id: 99, ..Default::default() };
    let response = client.send_at(To::Any, &broker, 0).await?;
    same("broker", response.error_code, ErrorCode::BROKER_ID_NOT_REGISTERED)?;
    same("why", response.error_message.as_deref(), Some("Broker ID 99 is not currently registered"))?;
    let controller = UnregisterControllerRequest { controller_id: 99, ..Default::default() };
    let response = client.send_at(To::Any, &controller, 0).await?;
    same("controller", response.error_code, ErrorCode::CONTROLLER_ID_NOT_REGISTERED)?;
    let voter = AddRaftVoterRequest { cluster_id: Some("nope".into()), voter_id: 5, ..Default::default() };
    same("voter", client.send_at(To::Any, &voter, 1).await?.error_code, ErrorCode::INCONSISTENT_CLUSTER_ID)
}

pub(super) async fn markers_of_older_producers_and_coordinators_are_refused(target: Target) -> Outcome {
    let client = target.client().await?;
    let name = client.create_topic(NewTopic::new(target.prefix.clone(), 1, 1)).await?.name;
    // Until the node leads.
    client.offset(&name, 0, milena_client::OffsetSpec::Latest).await?;
    // No producer of this cluster has this id.
    let id = 1 << 40;
    for (producer_id, producer_epoch, coordinator_epoch, expected) in [
        (id, 0, 0, ErrorCode::NONE),
        (id, 0, -1, ErrorCode::TRANSACTION_COORDINATOR_FENCED),
        (id, -1, 0, ErrorCode::UNKNOWN_SERVER_ERROR),
        (id, 5, 9, ErrorCode::NONE),
        (id, 4, 9, ErrorCode::INVALID_PRODUCER_EPOCH),
        (id, 5, 2, ErrorCode::TRANSACTION_COORDINATOR_FENCED),
        (-1, 5, 20, ErrorCode::UNKNOWN_SERVER_ERROR),
    ] {
        let partition_indexes = [0].into_iter().collect();
        let topic = WritableTxnMarkerTopic { name: name.clone().into(), partition_indexes, ..Default::default() };
        let topics = vec![topic];
        let marker = WritableTxnMarker { producer_id, producer_epoch, coordinator_epoch, topics, ..Default::default() };
        let request = WriteTxnMarkersRequest { markers: vec![marker], ..Default::default() };
        let response = client.send_at(To::Any, &request, 1).await?;
        let what = format!("epoch {producer_epoch}, coordinator {coordinator_epoch}");
        same(&what, response.markers[0].topics[0].partitions[0].error_code, expected)?;
    }
    Ok(())
}

pub(super) async fn metrics_of_clients_follow_their_subscription(target: Target) -> Outcome {
    let client = target.client().await?;
    let ask = |client_instance_id| GetTelemetrySubscriptionsRequest { client_instance_id, ..Default::default() };
    let first = client.send_at(To::Any, &ask(Uuid::ZERO), 0).await?;
    same("code", first.error_code, ErrorCode::NONE)?;
    let id = first.client_instance_id;
    same("a new id", id.is_zero(), false)?;
    same("codecs", first.accepted_compression_types, vec![4, 3, 1, 2])?;
    same("size", first.telemetry_max_bytes, 1 << 20)?;
    let too_soon = client.send_at(To::Any, &ask(id), 0).await?;
    same("at once", too_soon.error_code, ErrorCode::THROTTLING_QUOTA_EXCEEDED)?;
    let push = |client_instance_id, subscription_id| PushTelemetryRequest {
        client_instance_id,
        subscription_id,
        ..Default::default()
    };
    let code = async |id, subscription| -> Result<ErrorCode, super::Failure> {
        Ok(client.send_at(To::Any, &push(id, subscription), 0).await?.error_code)
    };
    same("push", code(id, first.subscription_id).await?, ErrorCode::NONE)?;
    same("again", code(id, first.subscription_id).await?, ErrorCode::THROTTLING_QUOTA_EXCEEDED)?;
    same("reserved", code(Uuid::ZERO, 1).await?, ErrorCode::INVALID_REQUEST)?;
    same("unknown", code(Uuid::from_bytes([9; 16]), 1).await?, ErrorCode::UNKNOWN_SUBSCRIPTION_ID)?;

    let subscribe = async |value: Option<&str>| -> Outcome {
        let configs =
            [("metrics", "org.apache.kafka.producer."), ("interval.ms", "3000"), ("match", "client_id=milena-.*")];
        let config = |(name, set): &(&str, &str)| AlterableConfig {
            name: (*name).into(),
            config_operation: i8::from(value.is_none()),
            value: value.map(|_| (*set).into()),
            ..Default::default()
        };
        let resource = AlterConfigsResource {
            resource_type: 16,
            resource_name: target.prefix.clone().into(),
            configs: configs.iter().map(config).collect(),
            ..Default::default()
        };
        let request = IncrementalAlterConfigsRequest { resources: vec![resource], ..Default::default() };
        let response = client.send_at(To::Any, &request, 1).await?;
        same("settings", response.responses[0].error_code, ErrorCode::NONE)?;
        // The node learns of it a little later.
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        Ok(())
    };
    subscribe(Some("set")).await?;
    let second = client.send_at(To::Any, &ask(id), 0).await?;
    same("a changed subscription comes at once", second.error_code, ErrorCode::NONE)?;
    same("interval", second.push_interval_ms, 3000)?;
    same("metrics", second.requested_metrics, vec!["org.apache.kafka.producer.".into()])?;
    same("the old one", code(id, first.subscription_id).await?, ErrorCode::UNKNOWN_SUBSCRIPTION_ID)?;
    subscribe(None).await
}
