use milena_messages::update_features::request::FeatureUpdateKey;
use milena_messages::update_features::response::UpdatableFeatureResult;
use milena_messages::{ErrorCode, UpdateFeaturesRequest, UpdateFeaturesResponse};

use super::Context;
use crate::cluster::features::FeatureUpdate;
use crate::cost::Cost;
use crate::security::acl::Operation;

const SAFE_DOWNGRADE: i8 = 2;

pub(super) fn handle(context: &Context, request: UpdateFeaturesRequest, _cost: &mut Cost) -> UpdateFeaturesResponse {
    if let Err(refusal) = context.authorize_cluster(Operation::Alter) {
        let (error_code, error_message) = (refusal.code, refusal.text());
        return UpdateFeaturesResponse { error_code, error_message, ..Default::default() };
    }
    let update = |one: &FeatureUpdateKey| (one.max_version_level, upgrade_type(context.version, one));
    let updates = request.feature_updates.iter().map(|one| {
        let (level, upgrade_type) = update(one);
        FeatureUpdate { feature: &one.feature, level, upgrade_type }
    });
    let updates: Vec<_> = updates.collect();
    let updated = context.state.features().update(context.state.controller(), &updates, request.validate_only);
    if let Err(why) = updated {
        let message = format!("The update failed for all features since the following feature had an error: {why}");
        return UpdateFeaturesResponse {
            error_code: ErrorCode::INVALID_UPDATE_VERSION,
            error_message: Some(message.into()),
            ..Default::default()
        };
    }
    // As Kafka says it when all is well.
    let result = |one: &FeatureUpdateKey| UpdatableFeatureResult {
        feature: one.feature.clone(),
        error_message: Some("NONE".into()),
        ..Default::default()
    };
    UpdateFeaturesResponse {
        error_message: None,
        results: request.feature_updates.iter().map(result).collect(),
        ..Default::default()
    }
}

/// Version 0 only says whether the level may be lowered.
fn upgrade_type(version: i16, update: &FeatureUpdateKey) -> i8 {
    if version == 0 && update.allow_downgrade { SAFE_DOWNGRADE } else { update.upgrade_type }
}
