use std::sync::OnceLock;

use milena_schema::{MessageSpec, Parser, Spec, UnknownName};
use milena_wire::Error;

/// What a blob can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// What a consumer sends in JoinGroup: `ConsumerProtocolSubscription`.
    Subscription,
    /// What a consumer receives in SyncGroup: `ConsumerProtocolAssignment`.
    Assignment,
    /// What a worker of Connect sends in JoinGroup.
    ConnectSubscription,
    /// What a worker of Connect receives in SyncGroup.
    ConnectAssignment,
    /// What Kafka Streams puts into the user data of a subscription: `SubscriptionInfoData`.
    StreamsSubscription,
    /// What the assignor `sticky` puts into the user data of a subscription.
    StickyUserData,
    /// What the assignor `cooperative-sticky` puts into the user data of a subscription.
    CooperativeStickyUserData,
}

/// What stands in front of a message and says its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prefix {
    /// An int16 of its own.
    Int16,
    /// The first field of the message, an int32.
    Inside,
    /// Nothing: the versions have to be tried.
    None,
}

/// Layouts that Kafka's code has and its message definitions have not.
const FILES: [(&str, &str); 2] = [
    ("connect_protocol.kafka", include_str!("connect_protocol.kafka")),
    ("sticky.kafka", include_str!("sticky.kafka")),
];

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Subscription,
        Self::Assignment,
        Self::ConnectSubscription,
        Self::ConnectAssignment,
        Self::StreamsSubscription,
        Self::StickyUserData,
        Self::CooperativeStickyUserData,
    ];

    /// A word for it, such as `subscription` or `connect-assignment`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Subscription => "subscription",
            Self::Assignment => "assignment",
            Self::ConnectSubscription => "connect-subscription",
            Self::ConnectAssignment => "connect-assignment",
            Self::StreamsSubscription => "streams-subscription",
            Self::StickyUserData => "sticky",
            Self::CooperativeStickyUserData => "cooperative-sticky",
        }
    }

    /// The kind of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    pub(super) fn prefix(self) -> Prefix {
        match self {
            Self::Subscription | Self::Assignment | Self::ConnectSubscription | Self::ConnectAssignment => {
                Prefix::Int16
            }
            Self::StreamsSubscription => Prefix::Inside,
            Self::StickyUserData | Self::CooperativeStickyUserData => Prefix::None,
        }
    }

    /// The layout.
    ///
    /// # Errors
    /// Never in a released crate: the tests ask for all of them.
    pub(super) fn message(self) -> Result<&'static MessageSpec, Error> {
        let (spec, name) = match self {
            Self::Subscription => (Spec::kafka(), "ConsumerProtocolSubscription"),
            Self::Assignment => (Spec::kafka(), "ConsumerProtocolAssignment"),
            Self::StreamsSubscription => (Spec::kafka(), "SubscriptionInfoData"),
            Self::ConnectSubscription => (blobs()?, "ConnectProtocolSubscription"),
            Self::ConnectAssignment => (blobs()?, "ConnectProtocolAssignment"),
            Self::StickyUserData => (blobs()?, "StickyAssignorUserData"),
            Self::CooperativeStickyUserData => (blobs()?, "CooperativeStickyAssignorUserData"),
        };
        spec.message(name).map_err(|error: UnknownName| Error::invalid(error.to_string()))
    }
}

fn blobs() -> Result<&'static Spec, Error> {
    static SPEC: OnceLock<Result<Spec, String>> = OnceLock::new();
    let spec = SPEC.get_or_init(|| {
        let mut parser = Parser::new();
        for (file, text) in FILES {
            parser.file(&format!("records/{file}"), text).map_err(|error| error.to_string())?;
        }
        parser.finish().map_err(|error| error.to_string())
    });
    spec.as_ref().map_err(|error| Error::invalid(error.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_layout_and_a_name() {
        for kind in Kind::ALL {
            kind.message().unwrap();
            assert_eq!(Kind::named(kind.name()), Some(kind));
        }
    }
}
