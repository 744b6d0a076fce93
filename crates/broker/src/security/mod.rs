//! Who may connect, who clients are, and what they may do.

pub(crate) mod acl;
pub(crate) mod authorizer;
pub(crate) mod config;
pub(crate) mod filter;
pub(crate) mod principal;
pub(crate) mod protocol;
mod subnet;
pub(crate) mod text;
