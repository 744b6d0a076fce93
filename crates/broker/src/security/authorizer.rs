//! Decides what clients may do, as Kafka's `StandardAuthorizer`.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Bound;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use milena_messages::ErrorCode;

use crate::refusal::Refusal;
use crate::security::acl::{
    ANY_ONE, Acl, Address, Operation, Pattern, PatternType, Permission, Resource, ResourceType, Rule,
};
use crate::security::filter::AclFilter;
use crate::security::principal::Principal;

/// Most entries at the same time.
const MAX_ACLS: usize = 100_000;

/// What the authorizer of a broker starts with, in [`BrokerConfig::acls`](crate::BrokerConfig::acls).
///
/// ```
/// use milena_broker::{AclConfig, BrokerConfig, Principal};
///
/// let acls = AclConfig {
///     super_users: vec![Principal::user("admin")],
///     acls: vec!["allow User:alice read topic:letters".parse()?],
///     ..AclConfig::default()
/// };
/// let config = BrokerConfig { acls: Some(acls), ..BrokerConfig::default() };
/// # Ok::<(), milena_broker::AclError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AclConfig {
    /// They may do everything. Kafka's `super.users`. Default: nobody.
    pub super_users: Vec<Principal>,
    /// Whether everybody may use a resource that no entry is about. Kafka's `allow.everyone.if.no.acl.found`. Default:
    /// false.
    pub allow_everyone_if_no_acl_found: bool,
    /// The entries to begin with; clients add and delete more. Default: none.
    pub acls: Vec<Acl>,
}

/// The entries, and who needs none.
#[derive(Debug)]
pub(crate) struct Authorizer {
    super_users: HashSet<Principal>,
    allow_everyone_if_no_acl_found: bool,
    acls: RwLock<Acls>,
}

/// Rules by the name of their resources.
type ByName = BTreeMap<String, BTreeSet<Rule>>;

#[derive(Debug, Default)]
struct Acls {
    literal: BTreeMap<ResourceType, ByName>,
    prefixed: BTreeMap<ResourceType, ByName>,
    count: usize,
}

impl Acls {
    fn by_name(&mut self, pattern: &Pattern) -> &mut ByName {
        let by_type = match pattern.pattern_type {
            PatternType::Literal => &mut self.literal,
            PatternType::Prefixed => &mut self.prefixed,
        };
        by_type.entry(pattern.resource_type).or_default()
    }

    /// False when it was there already.
    fn add(&mut self, acl: Acl) -> bool {
        let added = self.by_name(&acl.pattern).entry(acl.pattern.name).or_default().insert(acl.rule);
        self.count += usize::from(added);
        added
    }

    /// False when it was not there.
    fn remove(&mut self, acl: &Acl) -> bool {
        let by_name = self.by_name(&acl.pattern);
        let Some(rules) = by_name.get_mut(&acl.pattern.name) else { return false };
        let removed = rules.remove(&acl.rule);
        if rules.is_empty() {
            by_name.remove(&acl.pattern.name);
        }
        self.count -= usize::from(removed);
        removed
    }

    /// The rules of all patterns that cover a resource.
    fn covering<'a>(&'a self, resource: Resource<'a>) -> impl Iterator<Item = &'a Rule> {
        let literal = self.literal.get(&resource.resource_type);
        let names = [resource.name, ANY_ONE];
        // A resource that is called `*` finds its rules once.
        let names = if resource.name == ANY_ONE { &names[..1] } else { &names[..] };
        let by_name = names.iter().filter_map(|name| literal?.get(*name)).collect::<Vec<_>>();
        let prefixed = self.prefixed.get(&resource.resource_type);
        let by_prefix = prefixed.into_iter().flat_map(move |prefixed| Prefixes { prefixed, name: Some(resource.name) });
        by_name.into_iter().chain(by_prefix).flatten()
    }

    fn all(&self) -> impl Iterator<Item = Acl> {
        let of = |by_type: &BTreeMap<ResourceType, ByName>, pattern_type| {
            let mut all = Vec::new();
            for (resource_type, by_name) in by_type {
                for (name, rules) in by_name {
                    let pattern = Pattern { resource_type: *resource_type, pattern_type, name: name.clone() };
                    all.extend(rules.iter().map(|rule| Acl { pattern: pattern.clone(), rule: rule.clone() }));
                }
            }
            all
        };
        of(&self.literal, PatternType::Literal).into_iter().chain(of(&self.prefixed, PatternType::Prefixed))
    }
}

/// The rules whose prefixes a name begins with, the longest first.
struct Prefixes<'a> {
    prefixed: &'a ByName,
    /// Prefixes up to this one are left.
    name: Option<&'a str>,
}

impl<'a> Iterator for Prefixes<'a> {
    type Item = &'a BTreeSet<Rule>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let name = self.name?;
            let (found, rules) =
                self.prefixed.range::<str, _>((Bound::Unbounded, Bound::Included(name))).next_back()?;
            let common = common_prefix(name, found);
            if common == found.len() {
                // Shorter ones are left; no prefix is empty.
                let end = found.char_indices().next_back().map(|(at, _)| at);
                self.name = end.map(|end| &name[..end]).filter(|name| !name.is_empty());
                return Some(rules);
            }
            // No longer prefix than what both have in common can be there: it would come after the one that was found.
            self.name = Some(&name[..common]).filter(|name| !name.is_empty());
        }
    }
}

/// How many bytes of whole characters both begin with.
fn common_prefix(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum()
}

impl Authorizer {
    pub(crate) fn new(config: &AclConfig) -> Self {
        let mut acls = Acls::default();
        for acl in &config.acls {
            acls.add(acl.clone());
        }
        Self {
            super_users: config.super_users.iter().cloned().collect(),
            allow_everyone_if_no_acl_found: config.allow_everyone_if_no_acl_found,
            acls: RwLock::new(acls),
        }
    }

    fn read(&self) -> RwLockReadGuard<'_, Acls> {
        self.acls.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Acls> {
        self.acls.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The operations of these (bit n is operation n) that a client may do. A rule that denies wins.
    pub(crate) fn allowed(
        &self,
        principal: &Principal,
        address: &Address,
        operations: i32,
        resource: Resource<'_>,
    ) -> i32 {
        if self.super_users.contains(principal) {
            return operations;
        }
        let acls = self.read();
        let (mut allowed, mut denied, mut has_rules) = (0, 0, false);
        for rule in acls.covering(resource) {
            has_rules = true;
            if !rule.concerns(principal, address) {
                continue;
            }
            let covered = Operation::ALL.iter().filter(|operation| rule.covers(**operation));
            let bits = covered.fold(0, |bits, operation| bits | 1 << operation.code());
            match rule.permission {
                Permission::Allow => allowed |= bits,
                Permission::Deny => denied |= bits,
            }
        }
        if !has_rules && self.allow_everyone_if_no_acl_found {
            return operations;
        }
        operations & allowed & !denied
    }

    /// Whether a client may do this with any resource of the type, even one that is not there.
    pub(crate) fn is_allowed_somewhere(
        &self,
        principal: &Principal,
        address: &Address,
        operation: Operation,
        resource_type: ResourceType,
    ) -> bool {
        // As Kafka, which looks first at a resource of this name; so super users need no rules, and nobody needs rules
        // where none are needed.
        let some = Resource { resource_type, name: "hardcode" };
        if self.allowed(principal, address, 1 << operation.code(), some) != 0 {
            return true;
        }
        let acls = self.read();
        let concerned = |rules: &BTreeSet<Rule>, permission| {
            // Here nothing is implied.
            let is_for = |rule: &&Rule| rule.operation == Operation::All || rule.operation == operation;
            rules.iter().filter(is_for).any(|rule| rule.permission == permission && rule.concerns(principal, address))
        };
        let none = ByName::new();
        let literal = acls.literal.get(&resource_type).unwrap_or(&none);
        let prefixed = acls.prefixed.get(&resource_type).unwrap_or(&none);
        if literal.get(ANY_ONE).is_some_and(|rules| concerned(rules, Permission::Deny)) {
            return false;
        }
        if literal.get(ANY_ONE).is_some_and(|rules| concerned(rules, Permission::Allow)) {
            return true;
        }
        let dominated =
            |name: &str| Prefixes { prefixed, name: Some(name) }.any(|rules| concerned(rules, Permission::Deny));
        let by_name = literal.iter().any(|(name, rules)| {
            concerned(rules, Permission::Allow) && !concerned(rules, Permission::Deny) && !dominated(name)
        });
        by_name || prefixed.iter().any(|(name, rules)| concerned(rules, Permission::Allow) && !dominated(name))
    }

    /// Adds entries; those that are there already stay once.
    ///
    /// # Errors
    /// POLICY_VIOLATION: there would be too many; then none is added.
    pub(crate) fn add(&self, new: Vec<Acl>) -> Result<(), Refusal> {
        let mut acls = self.write();
        if acls.count.saturating_add(new.len()) > MAX_ACLS {
            let message = format!("At most {MAX_ACLS} ACLs can be stored.");
            return Err(Refusal::new(ErrorCode::POLICY_VIOLATION, message));
        }
        new.into_iter().for_each(|acl| _ = acls.add(acl));
        Ok(())
    }

    /// Deletes the entries that each filter matches, and gives them. One that several filters match is in the list of each,
    /// as in Kafka. `None`, and nothing is deleted, when that would be more than `most`.
    pub(crate) fn delete(&self, filters: &[Option<AclFilter>], most: usize) -> Option<Vec<Option<Vec<Acl>>>> {
        let mut acls = self.write();
        let all: Vec<Acl> = acls.all().collect();
        let mut left = most;
        let mut found = Vec::with_capacity(filters.len());
        for filter in filters {
            let matching =
                |filter: &AclFilter| -> Vec<Acl> { all.iter().filter(|acl| filter.matches(acl)).cloned().collect() };
            let matching = filter.as_ref().map(matching);
            left = left.checked_sub(matching.as_ref().map_or(0, Vec::len))?;
            found.push(matching);
        }
        found.iter().flatten().flatten().for_each(|acl| _ = acls.remove(acl));
        Some(found)
    }

    /// Deletes one entry; false when it was not there.
    pub(crate) fn remove(&self, acl: &Acl) -> bool {
        self.write().remove(acl)
    }

    /// All entries, sorted.
    pub(crate) fn all(&self) -> Vec<Acl> {
        self.read().all().collect()
    }

    /// The entries that a filter matches.
    pub(crate) fn matching(&self, filter: &AclFilter) -> Vec<Acl> {
        self.read().all().filter(|acl| filter.matches(acl)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn authorizer(acls: &[&str]) -> Authorizer {
        let acls = acls.iter().map(|acl| acl.parse().unwrap()).collect();
        let config = AclConfig { super_users: vec![Principal::user("root")], acls, ..AclConfig::default() };
        Authorizer::new(&config)
    }

    fn may(authorizer: &Authorizer, user: &str, operation: Operation, resource: Resource<'_>) -> bool {
        let address = Address::new("127.0.0.1".parse().unwrap());
        authorizer.allowed(&Principal::user(user), &address, 1 << operation.code(), resource) != 0
    }

    #[test]
    fn without_rules_only_super_users_may_do_anything() {
        let authorizer = authorizer(&[]);
        assert!(may(&authorizer, "root", Operation::Alter, Resource::CLUSTER));
        assert!(!may(&authorizer, "alice", Operation::Describe, Resource::topic("t")));
    }

    #[test]
    fn literal_prefixed_and_wildcard_rules_apply_and_a_denial_wins() {
        let authorizer = authorizer(&[
            "allow User:alice read topic:letters",
            "allow User:alice write topic:let*",
            "allow User:* describe-configs topic:*",
            "deny User:alice write topic:letters-secret*",
            "deny User:bob all topic:*",
            "allow User:bob read topic:letters",
        ]);
        let may = |user, operation, name| may(&authorizer, user, operation, Resource::topic(name));
        assert!(may("alice", Operation::Read, "letters"));
        assert!(!may("alice", Operation::Read, "letters-2"));
        assert!(may("alice", Operation::Write, "letters-2"));
        assert!(may("alice", Operation::Describe, "let"));
        assert!(!may("alice", Operation::Write, "le"));
        assert!(!may("alice", Operation::Write, "letters-secret-1"));
        // A denial forbids only what it names.
        assert!(may("alice", Operation::Describe, "letters-secret-1"));
        assert!(may("carol", Operation::DescribeConfigs, "other"));
        assert!(!may("bob", Operation::Read, "letters"));
        assert!(!may("bob", Operation::DescribeConfigs, "other"));
    }

    #[test]
    fn rules_for_a_host_or_another_type_apply_to_nobody_else() {
        let authorizer = authorizer(&[
            "allow User:alice read topic:t from 10.0.0.1",
            "allow User:alice write topic:t from 127.0.0.0/8",
            "allow User:alice read group:t",
        ]);
        assert!(!may(&authorizer, "alice", Operation::Read, Resource::topic("t")));
        assert!(may(&authorizer, "alice", Operation::Write, Resource::topic("t")));
        assert!(may(&authorizer, "alice", Operation::Read, Resource::group("t")));
    }

    #[test]
    fn a_resource_without_rules_is_open_when_the_configuration_says_so() {
        let acls = vec!["allow User:bob read topic:t*".parse().unwrap()];
        let config = AclConfig { allow_everyone_if_no_acl_found: true, acls, ..AclConfig::default() };
        let authorizer = Authorizer::new(&config);
        assert!(may(&authorizer, "alice", Operation::Read, Resource::topic("s")));
        assert!(!may(&authorizer, "alice", Operation::Read, Resource::topic("tt")));
        assert!(may(&authorizer, "alice", Operation::Alter, Resource::CLUSTER));
    }

    #[test]
    fn prefixes_of_a_name_are_all_found() {
        let rules = |user: &str| format!("allow User:{user} read topic:");
        let texts: Vec<String> =
            ["a", "ab", "abc", "abd", "abé", "b"].map(|name| format!("{}{name}*", rules(name))).into();
        let authorizer = authorizer(&texts.iter().map(String::as_str).collect::<Vec<_>>());
        let found = |name: &str| {
            let acls = authorizer.read();
            acls.covering(Resource::topic(name)).map(|rule| rule.principal[5..].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found("abcd"), ["abc", "ab", "a"]);
        assert_eq!(found("abz"), ["ab", "a"]);
        assert_eq!(found("abéé"), ["abé", "ab", "a"]);
        assert_eq!(found("a"), ["a"]);
        assert_eq!(found("c"), [""; 0]);
        assert_eq!(found(""), [""; 0]);
    }

    /// The cases of `Authorizer.authorizeByResourceType`.
    #[test]
    fn a_permission_somewhere_counts_unless_something_wider_denies_it() {
        let somewhere = |acls: &[&str]| {
            let address = Address::new("127.0.0.1".parse().unwrap());
            let alice = Principal::user("alice");
            authorizer(acls).is_allowed_somewhere(&alice, &address, Operation::Write, ResourceType::Topic)
        };
        assert!(!somewhere(&[]));
        assert!(somewhere(&["allow User:alice write topic:t"]));
        assert!(somewhere(&["allow User:* all topic:t*"]));
        assert!(!somewhere(&["allow User:alice read topic:t"]));
        assert!(!somewhere(&["allow User:bob write topic:t"]));
        assert!(!somewhere(&["allow User:alice write topic:t", "deny User:alice write topic:t"]));
        assert!(!somewhere(&["allow User:alice write topic:tt*", "deny User:alice all topic:t*"]));
        assert!(!somewhere(&["allow User:alice write topic:t", "deny User:alice write topic:*"]));
        assert!(somewhere(&["allow User:alice write topic:*", "deny User:alice write topic:t"]));
        assert!(somewhere(&["allow User:alice write topic:t", "deny User:alice write topic:tt*"]));
    }

    #[test]
    fn an_entry_is_stored_once_and_deleted_by_each_filter_that_matches_it() {
        use crate::security::filter::FilterCodes;
        let authorizer = authorizer(&["allow User:a read topic:t", "allow User:a write topic:t"]);
        authorizer.add(vec!["allow User:a read topic:t".parse().unwrap()]).unwrap();
        assert_eq!(authorizer.all().len(), 2);
        let codes = FilterCodes { resource_type: 2, pattern_type: 1, operation: 3, permission: 1 };
        let filter = || AclFilter::new(codes, None, None, None);
        assert_eq!(authorizer.delete(&[filter(), filter()], 1), None);
        assert_eq!(authorizer.all().len(), 2);
        let deleted = authorizer.delete(&[filter(), None, filter()], 2).unwrap();
        let counts: Vec<_> = deleted.iter().map(|found| found.as_ref().map(Vec::len)).collect();
        assert_eq!(counts, [Some(1), None, Some(1)]);
        assert_eq!(authorizer.all().len(), 1);
        assert!(authorizer.remove(&"allow User:a write topic:t".parse().unwrap()));
        assert!(authorizer.all().is_empty() && authorizer.read().literal.values().all(BTreeMap::is_empty));
    }
}
