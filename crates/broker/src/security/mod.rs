//! Who may connect, who clients are, and what they may do.

pub(crate) mod acl;
pub(crate) mod authorizer;
#[cfg(feature = "tls")]
pub(crate) mod certificates;
pub(crate) mod config;
pub(crate) mod credentials;
pub(crate) mod delegation;
#[cfg(feature = "tls")]
pub(crate) mod der;
#[cfg(feature = "tls")]
pub(crate) mod dn;
pub(crate) mod filter;
pub(crate) mod login;
pub(crate) mod principal;
pub(crate) mod protocol;
pub(crate) mod random;
pub(crate) mod sasl;
mod subnet;
pub(crate) mod text;
