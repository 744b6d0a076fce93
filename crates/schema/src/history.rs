//! Which release brought a version, and which took it away.

use crate::model::{Api, MessageSpec, Since};

impl Api {
    /// The first release that has a version; `None` for a version that never was.
    pub fn added_in(&self, version: i16) -> Option<&str> {
        release(&self.added, version)
    }

    /// The first release that lacks a version; `None` while the newest still has it.
    pub fn dropped_in(&self, version: i16) -> Option<&str> {
        release(&self.dropped, version)
    }

    /// The releases, one or two with a dash between, that offered a version only when unstable versions were enabled.
    pub fn unstable_in(&self, version: i16) -> Option<&str> {
        release(&self.unstable, version)
    }
}

impl MessageSpec {
    /// The first release whose definitions have a version; `None` for a version that never was.
    pub fn added_in(&self, version: i16) -> Option<&str> {
        release(&self.added, version)
    }

    /// The first release whose definitions lack a version; `None` while the newest still has it.
    pub fn dropped_in(&self, version: i16) -> Option<&str> {
        release(&self.dropped, version)
    }
}

fn release(list: &[Since], version: i16) -> Option<&str> {
    list.iter().find(|since| since.versions.contains(version)).map(|since| since.release.as_str())
}

#[cfg(test)]
mod tests {
    use crate::Spec;

    #[test]
    fn the_history_of_fetch_is_that_of_kafka() {
        let fetch = Spec::kafka().api(1).unwrap();
        // Kafka 0.11.0 brought Fetch v4 and v5 with transactions; 4.0 dropped what is older than v4 (KIP-896).
        assert_eq!(fetch.added_in(4), Some("0.11.0"));
        assert_eq!((fetch.dropped_in(3), fetch.dropped_in(4)), (Some("4.0"), None));
        assert_eq!(fetch.added_in(19), None);
    }

    #[test]
    fn every_version_has_a_release_that_brought_it() {
        let spec = Spec::kafka();
        for message in &spec.messages {
            for version in message.versions.iter() {
                assert!(message.added_in(version).is_some(), "{} {version}", message.name);
            }
        }
    }
}
