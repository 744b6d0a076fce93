use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The type of all principals that logins give; ACLs can name others.
const USER: &str = "User";
/// The name of a client that did not log in.
const ANONYMOUS: &str = "ANONYMOUS";

/// Who a client is, as Kafka's `KafkaPrincipal`: a type, which is `User` for everybody who logs in, and a name. Written
/// `User:alice`. Cheap to clone.
///
/// ```
/// use milena_broker::Principal;
///
/// let alice = Principal::user("alice");
/// assert_eq!(alice.to_string(), "User:alice");
/// assert_eq!("User:CN=a:b,O=c".parse::<Principal>()?.name(), "CN=a:b,O=c");
/// assert_eq!(Principal::anonymous().to_string(), "User:ANONYMOUS");
/// # Ok::<(), milena_broker::PrincipalError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Principal {
    principal_type: Arc<str>,
    name: Arc<str>,
}

/// Text that is not a [`Principal`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a string in format principalType:principalName but got {0}")]
pub struct PrincipalError(String);

impl Principal {
    /// A principal of any type.
    pub fn new(principal_type: &str, name: &str) -> Self {
        Self { principal_type: principal_type.into(), name: name.into() }
    }

    /// A user.
    pub fn user(name: &str) -> Self {
        Self::new(USER, name)
    }

    /// `User:ANONYMOUS`: a client of a listener without login.
    pub fn anonymous() -> Self {
        Self::user(ANONYMOUS)
    }

    pub(crate) fn is_user(&self) -> bool {
        &*self.principal_type == USER
    }

    /// The type, such as `User`.
    pub fn principal_type(&self) -> &str {
        &self.principal_type
    }

    /// The name, such as `alice`.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.principal_type, self.name)
    }
}

impl FromStr for Principal {
    type Err = PrincipalError;

    /// Reads `type:name`. The name may have colons of its own.
    fn from_str(text: &str) -> Result<Self, PrincipalError> {
        let (principal_type, name) = text.split_once(':').ok_or_else(|| PrincipalError(text.to_owned()))?;
        Ok(Self::new(principal_type, name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_without_a_type_is_refused() {
        let error = "alice".parse::<Principal>().unwrap_err().to_string();
        assert_eq!(error, "expected a string in format principalType:principalName but got alice");
    }
}
