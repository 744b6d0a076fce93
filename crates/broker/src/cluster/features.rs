//! Features of the cluster with their levels (KIP-584, KIP-1022).

use std::collections::BTreeMap;

/// The feature of the metadata of the cluster. Its level can only rise, as there is nothing to convert.
const METADATA: &str = "metadata.version";
/// Kafka 4.4's features, each with its least and greatest level, and the level of a new cluster.
const SUPPORTED: &[(&str, i16, i16, i16)] = &[
    ("eligible.leader.replicas.version", 0, 1, 1),
    ("group.version", 0, 1, 1),
    ("kraft.version", 0, 1, 0),
    (METADATA, 7, 33, 33),
    ("share.version", 0, 2, 2),
    ("streams.version", 0, 1, 1),
    ("transaction.version", 0, 2, 2),
];

const UPGRADE: i8 = 1;
const SAFE_DOWNGRADE: i8 = 2;
const UNSAFE_DOWNGRADE: i8 = 3;

/// What a client wants of a feature.
#[derive(Debug)]
pub(crate) struct FeatureUpdate<'a> {
    pub(crate) feature: &'a str,
    pub(crate) level: i16,
    /// 1 to raise the level, 2 to lower it when nothing is lost, 3 to lower it.
    pub(crate) upgrade_type: i8,
}

/// The levels in force.
#[derive(Debug)]
pub(crate) struct Features {
    levels: BTreeMap<&'static str, i16>,
    /// Grows with each change.
    epoch: i64,
}

impl Default for Features {
    fn default() -> Self {
        Self { levels: SUPPORTED.iter().map(|(name, _, _, level)| (*name, *level)).collect(), epoch: 1 }
    }
}

impl Features {
    /// Each feature with its least and greatest level.
    pub(crate) fn supported() -> impl Iterator<Item = (&'static str, i16, i16)> {
        SUPPORTED.iter().map(|(name, least, greatest, _)| (*name, *least, *greatest))
    }

    /// Each feature that is in force, with its level.
    pub(crate) fn finalized(&self) -> impl Iterator<Item = (&'static str, i16)> {
        self.levels.iter().filter(|(_, level)| **level > 0).map(|(name, level)| (*name, *level))
    }

    pub(crate) fn epoch(&self) -> i64 {
        self.epoch
    }

    /// Changes all of these, or none.
    ///
    /// # Errors
    /// What Kafka says of the first that cannot be changed.
    pub(crate) fn update(
        &mut self,
        controller: i32,
        updates: &[FeatureUpdate<'_>],
        validate_only: bool,
    ) -> Result<(), String> {
        let mut levels = self.levels.clone();
        for update in updates {
            let (name, level) = check(controller, &self.levels, update)?;
            levels.insert(name, level);
        }
        if !validate_only && levels != self.levels {
            self.levels = levels;
            self.epoch += 1;
        }
        Ok(())
    }
}

/// The feature and its new level.
fn check(
    controller: i32,
    levels: &BTreeMap<&'static str, i16>,
    update: &FeatureUpdate<'_>,
) -> Result<(&'static str, i16), String> {
    let &FeatureUpdate { feature, level, upgrade_type } = update;
    let invalid = |reason: &str| Err(format!("Invalid update version {level} for feature {feature}. {reason}"));
    if !matches!(upgrade_type, UPGRADE | SAFE_DOWNGRADE | UNSAFE_DOWNGRADE) {
        return invalid("The controller does not support the given upgrade type.");
    }
    if level < 0 {
        return invalid("A feature version cannot be less than 0.");
    }
    let Some(&(name, least, greatest, _)) = SUPPORTED.iter().find(|(name, ..)| *name == feature) else {
        return if level == 0 {
            invalid(&format!("Feature {feature} not found."))
        } else {
            invalid(&format!("Local controller {controller} does not support this feature."))
        };
    };
    if !(least..=greatest).contains(&level) {
        return invalid(&format!("Local controller {controller} only supports versions {least}-{greatest}"));
    }
    let current = levels.get(name).copied().unwrap_or_default();
    if level < current && upgrade_type == UPGRADE {
        return invalid(
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe \
             downgrade.",
        );
    }
    if level > current && upgrade_type != UPGRADE {
        return invalid("Can't downgrade to a newer version.");
    }
    if name == METADATA && level < current {
        let why = if upgrade_type == SAFE_DOWNGRADE {
            "Refusing to perform the requested downgrade because it might delete metadata information."
        } else {
            "Unsafe metadata downgrade is not supported in this version."
        };
        return Err(format!("Unsupported metadata.version downgrade from {current} to {level}. {why}"));
    }
    Ok((name, level))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(features: &mut Features, updates: &[(&str, i16, i8)]) -> Result<(), String> {
        let update = |&(feature, level, upgrade_type)| FeatureUpdate { feature, level, upgrade_type };
        features.update(1, &updates.iter().map(update).collect::<Vec<_>>(), false)
    }

    /// The messages are those of Kafka 4.4.
    #[test]
    fn what_cannot_be_changed_says_why() {
        let mut features = Features::default();
        for (name, level, upgrade_type, why) in [
            (
                "nope",
                1,
                1,
                "Invalid update version 1 for feature nope. Local controller 1 does not support this feature.",
            ),
            (
                "nope",
                -1,
                0,
                "Invalid update version -1 for feature nope. The controller does not support the given upgrade type.",
            ),
            ("nope", -1, 1, "Invalid update version -1 for feature nope. A feature version cannot be less than 0."),
            ("nope", 0, 2, "Invalid update version 0 for feature nope. Feature nope not found."),
            (
                "group.version",
                2,
                1,
                "Invalid update version 2 for feature group.version. Local controller 1 only supports versions 0-1",
            ),
            (
                "group.version",
                0,
                1,
                "Invalid update version 0 for feature group.version. Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.",
            ),
            (
                "group.version",
                0,
                4,
                "Invalid update version 0 for feature group.version. The controller does not support the given upgrade type.",
            ),
            (
                "kraft.version",
                1,
                2,
                "Invalid update version 1 for feature kraft.version. Can't downgrade to a newer version.",
            ),
            (
                "metadata.version",
                6,
                3,
                "Invalid update version 6 for feature metadata.version. Local controller 1 only supports versions 7-33",
            ),
            (
                "metadata.version",
                30,
                2,
                "Unsupported metadata.version downgrade from 33 to 30. Refusing to perform the requested downgrade because it might delete metadata information.",
            ),
            (
                "metadata.version",
                30,
                3,
                "Unsupported metadata.version downgrade from 33 to 30. Unsafe metadata downgrade is not supported in this version.",
            ),
        ] {
            assert_eq!(
                update(&mut features, &[("transaction.version", 1, 2), (name, level, upgrade_type)]),
                Err(why.to_owned())
            );
        }
        assert_eq!(features.epoch(), 1);
        assert!(features.finalized().any(|one| one == ("transaction.version", 2)), "all or none");
    }

    #[test]
    fn a_feature_at_level_0_is_not_in_force() {
        let mut features = Features::default();
        let names = |features: &Features| features.finalized().map(|(name, _)| name).collect::<Vec<_>>();
        assert!(!names(&features).contains(&"kraft.version"));
        update(&mut features, &[("group.version", 0, 2), ("transaction.version", 1, 3), ("kraft.version", 1, 1)])
            .unwrap();
        assert!(names(&features).contains(&"kraft.version") && !names(&features).contains(&"group.version"));
        assert_eq!(features.epoch(), 2);
        update(&mut features, &[("group.version", 0, 1)]).unwrap();
        assert_eq!(features.epoch(), 2, "nothing changed");
    }
}
