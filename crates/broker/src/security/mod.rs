//! Who may connect, and who clients are.

pub(crate) mod config;
pub(crate) mod principal;
pub(crate) mod protocol;
