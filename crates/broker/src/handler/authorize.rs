//! What a client may do: the questions that handlers ask the authorizer.

use std::sync::Arc;

use milena_messages::ErrorCode;

use super::Context;
use crate::cluster::{Topic, TopicRef};
use crate::refusal::Refusal;
use crate::security::acl::{Address, Operation, Resource, ResourceType};

impl Context {
    /// Whether the client may do this. Without an authorizer everybody may do everything.
    pub(crate) fn may(&self, operation: Operation, resource: Resource<'_>) -> bool {
        self.permitted(1 << operation.code(), resource) != 0
    }

    /// As [`may`](Self::may), with the error of the type of the resource, such as TOPIC_AUTHORIZATION_FAILED.
    ///
    /// # Errors
    /// The client may not.
    pub(crate) fn authorize(&self, operation: Operation, resource: Resource<'_>) -> Result<(), ErrorCode> {
        if self.may(operation, resource) { Ok(()) } else { Err(resource.resource_type.refused()) }
    }

    /// A topic, when the client may do this with it. Whether there is a topic of that name stays secret from others; whether
    /// there is one with that id does not.
    ///
    /// # Errors
    /// The client may not; there is no such topic.
    pub(crate) fn topic(&self, operation: Operation, wanted: TopicRef<'_>) -> Result<Arc<Topic>, ErrorCode> {
        let found = self.state.topic(wanted);
        let name = match wanted {
            TopicRef::Name(name) => Some(name),
            TopicRef::Id(_) => found.as_ref().map(|topic| &*topic.name),
        };
        if let Some(name) = name {
            self.authorize(operation, Resource::topic(name))?;
        }
        found.ok_or_else(|| wanted.unknown())
    }

    /// Whether the client may do this with the cluster.
    ///
    /// # Errors
    /// CLUSTER_AUTHORIZATION_FAILED.
    pub(crate) fn authorize_cluster(&self, operation: Operation) -> Result<(), Refusal> {
        self.authorize(operation, Resource::CLUSTER).map_err(unauthorized)
    }

    /// The operations of this resource that the client may do, as responses have them: bit n is operation n.
    pub(crate) fn operations(&self, resource: Resource<'_>) -> i32 {
        self.permitted(resource.resource_type.operations(), resource)
    }

    /// The operations of the cluster that the client may do; none for a client that may not describe it.
    pub(crate) fn cluster_operations(&self) -> i32 {
        if self.may(Operation::Describe, Resource::CLUSTER) { self.operations(Resource::CLUSTER) } else { 0 }
    }

    /// Whether the client may do this with some resource of the type.
    pub(crate) fn may_somewhere(&self, operation: Operation, resource_type: ResourceType) -> bool {
        let Some(authorizer) = &self.state.authorizer else { return true };
        let address = Address::new(self.client.peer.ip());
        authorizer.is_allowed_somewhere(&self.client.principal, &address, operation, resource_type)
    }

    fn permitted(&self, operations: i32, resource: Resource<'_>) -> i32 {
        let Some(authorizer) = &self.state.authorizer else { return operations };
        let address = Address::new(self.client.peer.ip());
        authorizer.allowed(&self.client.principal, &address, operations, resource)
    }
}

/// An authorization error with the message of Kafka.
pub(crate) fn unauthorized(code: ErrorCode) -> Refusal {
    let message = match code {
        ErrorCode::TOPIC_AUTHORIZATION_FAILED => "Topic authorization failed.",
        ErrorCode::GROUP_AUTHORIZATION_FAILED => "Group authorization failed.",
        ErrorCode::CLUSTER_AUTHORIZATION_FAILED => "Cluster authorization failed.",
        ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED => "Transactional Id authorization failed.",
        ErrorCode::DELEGATION_TOKEN_AUTHORIZATION_FAILED => "Delegation Token authorization failed.",
        _ => "",
    };
    Refusal::new(code, message)
}

#[cfg(test)]
#[path = "authorize_tests.rs"]
mod tests;
