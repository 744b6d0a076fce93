//! Users and what they may do.

use std::fmt;

use serde_json::{Value, json};

use super::super::DifferentialConfig;
use super::super::random::Random;

/// The super user.
pub(super) const ADMIN: &str = "admin";

/// Resource types and operations by their numbers in the protocol.
const TOPIC: i8 = 2;
const GROUP: i8 = 3;
const CLUSTER: i8 = 4;
const TRANSACTIONAL_ID: i8 = 5;
const TOKEN: i8 = 6;
const USER: i8 = 7;

/// Each type with its operations.
const SINGLE: [(i8, &[i8]); 6] = [
    (TOPIC, &[2, 3, 4, 5, 6, 7, 8, 10, 11]),
    (GROUP, &[2, 3, 6, 8, 10, 11]),
    (CLUSTER, &[2, 5, 6, 7, 8, 9, 10, 11, 12]),
    (TRANSACTIONAL_ID, &[2, 4, 8, 15]),
    (TOKEN, &[8]),
    (USER, &[13, 14]),
];

const LITERAL: i8 = 3;
const PREFIXED: i8 = 4;
const DENY: i8 = 2;
const ALLOW: i8 = 3;

/// One entry, without the principal.
#[derive(Clone, Debug)]
pub(super) struct Acl {
    resource_type: i8,
    name: String,
    pattern: i8,
    operation: i8,
    permission: i8,
    host: String,
}

impl Acl {
    fn allow(resource_type: i8, operation: i8) -> Self {
        let (name, pattern) = match resource_type {
            CLUSTER => ("kafka-cluster", LITERAL),
            USER => ("User:a", PREFIXED),
            _ => ("a", PREFIXED),
        };
        let (name, host) = (name.to_owned(), "*".to_owned());
        Self { resource_type, name, pattern, operation, permission: ALLOW, host }
    }

    fn random(random: &mut Random) -> Self {
        let (resource_type, operations) = *random.pick(&SINGLE[..4]);
        let mut acl = Self::allow(resource_type, *random.pick(operations));
        if resource_type != CLUSTER {
            (acl.name, acl.pattern) = match random.below(5) {
                0 => ("*".to_owned(), LITERAL),
                1 => ("a1".to_owned(), LITERAL),
                2 => ("b".to_owned(), PREFIXED),
                3 => ("a1".to_owned(), PREFIXED),
                _ => ("a".to_owned(), PREFIXED),
            };
        }
        if random.chance(20) {
            acl.permission = DENY;
        }
        if random.chance(25) {
            acl.host = (*random.pick(&["127.0.0.1", "10.0.0.1", "127.0.0.0/8", "10.0.0.0/8"])).to_owned();
        }
        acl
    }

    /// As CreateAcls takes it.
    pub(super) fn creation(&self, user: &str) -> Value {
        json!({
            "resourceType": self.resource_type,
            "resourceName": self.name,
            "resourcePatternType": self.pattern,
            "principal": format!("User:{user}"),
            "host": self.host,
            "operation": self.operation,
            "permissionType": self.permission,
        })
    }
}

#[derive(Clone, Debug)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) acls: Vec<Acl>,
    pub(super) is_random: bool,
}

impl User {
    pub(super) fn password(&self) -> String {
        format!("{}-secret", self.name)
    }
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        for acl in &self.acls {
            let permission = if acl.permission == DENY { "deny" } else { "allow" };
            let star = if acl.pattern == PREFIXED { "*" } else { "" };
            let Acl { resource_type, name, operation, host, .. } = acl;
            write!(f, " [{permission} {operation} {resource_type}:{name}{star} {host}]")?;
        }
        Ok(())
    }
}

/// The super user, one without ACLs, one for each single permission, one for each pair that is needed together, and as many
/// with random ACLs as the configuration has sequences.
pub(super) fn users(config: DifferentialConfig) -> Vec<User> {
    let user = |name: String, acls| User { name, acls, is_random: false };
    let mut users = vec![user(ADMIN.to_owned(), Vec::new()), user("nobody".to_owned(), Vec::new())];
    for (resource_type, operations) in SINGLE {
        for operation in operations {
            users.push(user(format!("u{resource_type}-{operation}"), vec![Acl::allow(resource_type, *operation)]));
        }
    }
    // A request about a group names topics too, and a transactional one all three.
    for (group, topic) in [(3, 3), (3, 8), (8, 8), (6, 3), (8, 3)] {
        let acls = vec![Acl::allow(GROUP, group), Acl::allow(TOPIC, topic)];
        users.push(user(format!("g{group}-t{topic}"), acls));
    }
    let all = vec![Acl::allow(GROUP, 3), Acl::allow(TOPIC, 4), Acl::allow(TRANSACTIONAL_ID, 4)];
    users.push(user("writer".to_owned(), all));
    let seen = vec![Acl::allow(TOPIC, 8), Acl::allow(TOPIC, 5)];
    users.push(user("creator".to_owned(), seen));
    let all = vec![Acl::allow(GROUP, 3), Acl::allow(TOPIC, 3), Acl::allow(TRANSACTIONAL_ID, 4)];
    users.push(user("committer".to_owned(), all));
    let mut random = Random::new(config.seed);
    for number in 0..config.sequences {
        let acls = (0..=random.below(6)).map(|_| Acl::random(&mut random)).collect();
        users.push(User { name: format!("r{number}"), acls, is_random: true });
    }
    users
}
