//! Access control lists: one entry says who may, or must not, do what with which resource.

use std::cmp::Ordering;

use milena_messages::ErrorCode;

use crate::refusal::Refusal;
use crate::security::principal::Principal;
use crate::security::subnet::Subnet;

/// Every principal, host or resource.
pub(crate) const ANY_ONE: &str = "*";
/// The one name of a resource of type Cluster.
pub(crate) const CLUSTER_NAME: &str = "kafka-cluster";

/// Makes an enum of numbers of the protocol.
macro_rules! numbered {
    ($(#[$doc:meta])* $name:ident { $($(#[$entry_doc:meta])* $entry:ident = $number:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub(crate) enum $name {
            $($(#[$entry_doc])* $entry = $number,)*
        }

        impl $name {
            pub(crate) const ALL: &'static [Self] = &[$(Self::$entry,)*];

            /// Its number in the protocol.
            pub(crate) const fn code(self) -> i8 {
                self as i8
            }

            /// `None` for a number without meaning, or with one that only filters have.
            pub(crate) fn from_code(code: i8) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.code() == code)
            }
        }
    };
}

numbered! {
    /// What is done with a resource.
    Operation {
        All = 2,
        Read = 3,
        Write = 4,
        Create = 5,
        Delete = 6,
        Alter = 7,
        Describe = 8,
        ClusterAction = 9,
        DescribeConfigs = 10,
        AlterConfigs = 11,
        IdempotentWrite = 12,
        CreateTokens = 13,
        DescribeTokens = 14,
        TwoPhaseCommit = 15,
    }
}

numbered! {
    /// What kind of thing a resource is.
    ResourceType {
        Topic = 2,
        Group = 3,
        Cluster = 4,
        TransactionalId = 5,
        DelegationToken = 6,
        User = 7,
    }
}

numbered! {
    /// How the name in an entry is compared with that of a resource.
    PatternType {
        /// As a whole; `*` is every resource of the type.
        Literal = 3,
        /// As the beginning.
        Prefixed = 4,
    }
}

numbered! {
    /// What an entry says.
    Permission {
        Deny = 2,
        Allow = 3,
    }
}

impl Operation {
    /// Whether a permission for `self` also permits `wanted`.
    fn implies(self, wanted: Self) -> bool {
        match wanted {
            _ if self == Self::All || self == wanted => true,
            Self::Describe => matches!(self, Self::Read | Self::Write | Self::Delete | Self::Alter),
            Self::DescribeConfigs => self == Self::AlterConfigs,
            _ => false,
        }
    }
}

impl ResourceType {
    /// The operations that make sense for such a resource, as bits: operation n is bit n.
    pub(crate) const fn operations(self) -> i32 {
        use Operation::*;
        const fn bits(operations: &[Operation]) -> i32 {
            let (mut bits, mut at) = (0, 0);
            while at < operations.len() {
                bits |= 1 << operations[at].code();
                at += 1;
            }
            bits
        }
        match self {
            Self::Topic => bits(&[Read, Write, Create, Describe, Delete, Alter, DescribeConfigs, AlterConfigs]),
            Self::Group => bits(&[Read, Describe, Delete, DescribeConfigs, AlterConfigs]),
            Self::Cluster => {
                bits(&[Create, ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite, Alter, Describe])
            }
            Self::TransactionalId => bits(&[Describe, Write, TwoPhaseCommit]),
            Self::DelegationToken => bits(&[Describe]),
            Self::User => bits(&[CreateTokens, DescribeTokens]),
        }
    }

    /// The error for a client that may not do something with such a resource.
    pub(crate) const fn refused(self) -> ErrorCode {
        match self {
            Self::Topic => ErrorCode::TOPIC_AUTHORIZATION_FAILED,
            Self::Group => ErrorCode::GROUP_AUTHORIZATION_FAILED,
            Self::Cluster => ErrorCode::CLUSTER_AUTHORIZATION_FAILED,
            Self::TransactionalId => ErrorCode::TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            Self::DelegationToken | Self::User => ErrorCode::DELEGATION_TOKEN_AUTHORIZATION_FAILED,
        }
    }
}

/// A resource of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resource<'a> {
    pub(crate) resource_type: ResourceType,
    pub(crate) name: &'a str,
}

impl<'a> Resource<'a> {
    pub(crate) const CLUSTER: Resource<'static> = Resource { resource_type: ResourceType::Cluster, name: CLUSTER_NAME };

    pub(crate) fn topic(name: &'a str) -> Self {
        Self { resource_type: ResourceType::Topic, name }
    }

    pub(crate) fn group(name: &'a str) -> Self {
        Self { resource_type: ResourceType::Group, name }
    }

    pub(crate) fn transactional_id(name: &'a str) -> Self {
        Self { resource_type: ResourceType::TransactionalId, name }
    }
}

/// The resources that an entry is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Pattern {
    pub(crate) resource_type: ResourceType,
    pub(crate) pattern_type: PatternType,
    pub(crate) name: String,
}

/// The hosts that an entry is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Hosts {
    Any,
    /// An address as Java writes it, or any other text, which no client has.
    One,
    In(Subnet),
}

/// What an entry says about its resources.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    /// With the type, as it was written.
    pub(crate) principal: String,
    pub(crate) host: String,
    pub(crate) operation: Operation,
    pub(crate) permission: Permission,
    who: Principal,
    hosts: Hosts,
}

impl Rule {
    /// # Errors
    /// INVALID_REQUEST, with the message of Kafka: the principal has no type, the host cannot be read.
    pub(crate) fn new(
        principal: &str,
        host: &str,
        operation: Operation,
        permission: Permission,
    ) -> Result<Self, Refusal> {
        let invalid = |message: String| Refusal::new(ErrorCode::INVALID_REQUEST, message);
        let who: Principal = principal.parse().map_err(|_| {
            invalid(format!(
                "Could not parse principal from `{principal}` (no colon is present separating the principal type from the \
                 principal name)"
            ))
        })?;
        let hosts = match host {
            "" => return Err(invalid("Host pattern cannot be null or empty".to_owned())),
            ANY_ONE => Hosts::Any,
            _ if host.contains('/') => Hosts::In(
                Subnet::parse(host)
                    .ok_or_else(|| invalid(format!("Invalid CIDR notation '{host}': Could not parse [{host}]")))?,
            ),
            _ => Hosts::One,
        };
        Ok(Self { principal: principal.to_owned(), host: host.to_owned(), operation, permission, who, hosts })
    }

    /// Whether it is about a client at this address.
    pub(crate) fn concerns(&self, principal: &Principal, address: &Address) -> bool {
        let is_any = self.who.principal_type() == "User" && self.who.name() == ANY_ONE;
        (is_any || self.who == *principal)
            && match &self.hosts {
                Hosts::Any => true,
                Hosts::One => self.host == address.text,
                Hosts::In(subnet) => subnet.contains(address.ip),
            }
    }

    /// Whether it is about an operation. A permission permits what it implies; a prohibition forbids nothing else.
    pub(crate) fn covers(&self, operation: Operation) -> bool {
        match self.permission {
            Permission::Allow => self.operation.implies(operation),
            Permission::Deny => self.operation == Operation::All || self.operation == operation,
        }
    }

    fn key(&self) -> (Operation, &str, &str, Permission) {
        (self.operation, &self.principal, &self.host, self.permission)
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Rule {}

impl PartialOrd for Rule {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rule {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

/// The address of a client.
#[derive(Clone, Debug)]
pub(crate) struct Address {
    ip: std::net::IpAddr,
    text: String,
}

impl Address {
    pub(crate) fn new(ip: std::net::IpAddr) -> Self {
        // Java writes an IPv6 address with all its zeros.
        let text = match ip.to_canonical() {
            std::net::IpAddr::V4(ip) => ip.to_string(),
            std::net::IpAddr::V6(ip) => ip.segments().map(|part| format!("{part:x}")).join(":"),
        };
        Self { ip: ip.to_canonical(), text }
    }
}

/// One entry of an access control list: who may, or must not, do what with which resources, from where.
///
/// Written `allow User:alice read topic:letters`. First comes `allow` or `deny`; a principal, where `User:*` is everyone; an
/// operation of Kafka, such as `read`, `write`, `describe-configs` or `all`; and a resource: `topic:NAME`, `group:NAME`,
/// `transactional-id:NAME`, `delegation-token:ID`, `user:PRINCIPAL` or `cluster`. The name `*` is every resource of its type, and a
/// name with `*` at its end is every name that begins so. `from HOST` limits it to an address or, as in `10.0.0.0/8`, to
/// a range of addresses.
///
/// As in Kafka, an entry that denies wins over those that allow; `read`, `write`, `delete` and `alter` imply `describe`;
/// and `alter-configs` implies `describe-configs`.
///
/// ```
/// use milena_broker::Acl;
///
/// let acl: Acl = "allow User:alice read topic:letters-* from 127.0.0.1".parse()?;
/// assert_eq!(acl.to_string(), "allow User:alice read topic:letters-* from 127.0.0.1");
/// assert!("allow alice read topic:letters".parse::<Acl>().is_err());
/// # Ok::<(), milena_broker::AclError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acl {
    pub(crate) pattern: Pattern,
    pub(crate) rule: Rule,
}

impl Acl {
    /// # Errors
    /// INVALID_REQUEST, with the message of Kafka: an entry of this kind cannot be.
    pub(crate) fn new(pattern: Pattern, rule: Rule) -> Result<Self, Refusal> {
        let invalid = |message: &'static str| Err(Refusal::new(ErrorCode::INVALID_REQUEST, message));
        if pattern.resource_type == ResourceType::Cluster && pattern.name != CLUSTER_NAME {
            return invalid("The only valid name for the CLUSTER resource is kafka-cluster");
        }
        if pattern.name.is_empty() {
            return invalid("Invalid empty resource name");
        }
        Ok(Self { pattern, rule })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `AclEntry.supportedOperations` of Kafka 4.4, as responses have it.
    #[test]
    fn operations_of_a_type_are_those_of_kafka() {
        let bits = [ResourceType::Topic, ResourceType::Group, ResourceType::Cluster].map(ResourceType::operations);
        assert_eq!(bits, [3576, 3400, 8096]);
    }

    #[test]
    fn a_permission_implies_less_powerful_operations() {
        let implied = |operation: Operation| {
            let all = Operation::ALL.iter().filter(|wanted| operation.implies(**wanted));
            all.copied().collect::<Vec<_>>()
        };
        use Operation::*;
        assert_eq!(implied(Read), [Read, Describe]);
        assert_eq!(implied(Write), [Write, Describe]);
        assert_eq!(implied(Delete), [Delete, Describe]);
        assert_eq!(implied(Alter), [Alter, Describe]);
        assert_eq!(implied(AlterConfigs), [DescribeConfigs, AlterConfigs]);
        assert_eq!(implied(Create), [Create]);
        assert_eq!(implied(All).len(), Operation::ALL.len());
    }

    #[test]
    fn an_address_is_written_as_by_java() {
        let text = |ip: &str| Address::new(ip.parse().unwrap()).text;
        assert_eq!(text("127.0.0.1"), "127.0.0.1");
        assert_eq!(text("::1"), "0:0:0:0:0:0:0:1");
        assert_eq!(text("::ffff:10.0.0.1"), "10.0.0.1");
    }
}
