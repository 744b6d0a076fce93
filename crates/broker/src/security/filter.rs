//! Filters of DescribeAcls and DeleteAcls.

use milena_messages::ByteString;

use crate::security::acl::{ANY_ONE, Acl, Operation, PatternType, Permission, ResourceType};

/// The number that clients must not send.
const UNKNOWN: i8 = 0;
/// The number that means any, in each field of a filter.
const ANY: i8 = 1;
/// The pattern type that means every pattern which covers the name.
const MATCH: i8 = 2;

/// What patterns a filter looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatternFilter {
    Any,
    Match,
    Only(PatternType),
}

/// Which entries somebody wants. `None` is any.
#[derive(Clone, Debug)]
pub(crate) struct AclFilter {
    resource_type: Option<ResourceType>,
    name: Option<ByteString>,
    pattern_type: PatternFilter,
    principal: Option<ByteString>,
    host: Option<ByteString>,
    operation: Option<Operation>,
    permission: Option<Permission>,
}

/// The numbers of a filter in a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FilterCodes {
    pub(crate) resource_type: i8,
    pub(crate) pattern_type: i8,
    pub(crate) operation: i8,
    pub(crate) permission: i8,
}

impl FilterCodes {
    /// Whether one of them is the number that clients must not send.
    pub(crate) fn has_unknown(&self) -> bool {
        [self.resource_type, self.pattern_type, self.operation, self.permission].contains(&UNKNOWN)
    }
}

impl AclFilter {
    /// `None` when a number has no meaning, so that no entry can match.
    pub(crate) fn new(
        codes: FilterCodes,
        name: Option<ByteString>,
        principal: Option<ByteString>,
        host: Option<ByteString>,
    ) -> Option<Self> {
        fn known<T>(code: i8, from: fn(i8) -> Option<T>) -> Option<Option<T>> {
            if code == ANY { Some(None) } else { from(code).map(Some) }
        }
        let pattern_type = match codes.pattern_type {
            ANY => PatternFilter::Any,
            MATCH => PatternFilter::Match,
            code => PatternFilter::Only(PatternType::from_code(code)?),
        };
        Some(Self {
            resource_type: known(codes.resource_type, ResourceType::from_code)?,
            name,
            pattern_type,
            principal,
            host,
            operation: known(codes.operation, Operation::from_code)?,
            permission: known(codes.permission, Permission::from_code)?,
        })
    }

    pub(crate) fn matches(&self, Acl { pattern, rule }: &Acl) -> bool {
        fn fits<T: PartialEq>(wanted: Option<T>, value: T) -> bool {
            wanted.is_none_or(|wanted| wanted == value)
        }
        fits(self.resource_type, pattern.resource_type)
            && self.matches_name(pattern.pattern_type, &pattern.name)
            && fits(self.principal.as_deref(), &*rule.principal)
            && fits(self.host.as_deref(), &*rule.host)
            && fits(self.operation, rule.operation)
            && fits(self.permission, rule.permission)
    }

    fn matches_name(&self, pattern_type: PatternType, name: &str) -> bool {
        if matches!(self.pattern_type, PatternFilter::Only(only) if only != pattern_type) {
            return false;
        }
        let Some(wanted) = self.name.as_deref() else { return true };
        match (self.pattern_type, pattern_type) {
            (PatternFilter::Match, PatternType::Literal) => wanted == name || name == ANY_ONE,
            (PatternFilter::Match, PatternType::Prefixed) => wanted.starts_with(name),
            _ => wanted == name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern_type: i8, name: Option<&str>) -> Vec<&'static str> {
        const ALL: [&str; 5] = [
            "allow User:a read topic:letters",
            "allow User:a read topic:let*",
            "allow User:a read topic:lex*",
            "allow User:a read topic:*",
            "allow User:a read topic:letters-2",
        ];
        let codes = FilterCodes { resource_type: ANY, pattern_type, operation: ANY, permission: ANY };
        let filter = AclFilter::new(codes, name.map(Into::into), None, None).unwrap();
        ALL.into_iter().filter(|text| filter.matches(&text.parse().unwrap())).collect()
    }

    #[test]
    fn a_name_is_compared_as_the_pattern_type_says() {
        let [exact, prefix, other, all, longer] = [
            "allow User:a read topic:letters",
            "allow User:a read topic:let*",
            "allow User:a read topic:lex*",
            "allow User:a read topic:*",
            "allow User:a read topic:letters-2",
        ];
        assert_eq!(found(MATCH, Some("letters")), [exact, prefix, all]);
        assert_eq!(found(ANY, Some("let")), [prefix]);
        assert_eq!(found(ANY, Some("letters")), [exact]);
        assert_eq!(found(3, Some("letters")), [exact]);
        assert_eq!(found(3, None), [exact, all, longer]);
        assert_eq!(found(4, Some("let")), [prefix]);
        assert_eq!(found(4, None), [prefix, other]);
        assert_eq!(found(MATCH, None).len(), 5);
    }

    #[test]
    fn numbers_without_meaning_are_refused() {
        let known = FilterCodes { resource_type: 2, pattern_type: 3, operation: 3, permission: 3 };
        let is_known = |codes| AclFilter::new(codes, None, None, None).is_some();
        assert!(is_known(known));
        assert!(!is_known(FilterCodes { resource_type: 0, ..known }));
        assert!(!is_known(FilterCodes { resource_type: 8, ..known }));
        assert!(!is_known(FilterCodes { pattern_type: 5, ..known }));
        assert!(!is_known(FilterCodes { operation: 16, ..known }));
        assert!(!is_known(FilterCodes { permission: 4, ..known }));
    }
}
