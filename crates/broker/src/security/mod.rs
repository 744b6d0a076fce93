//! Who clients are.

pub(crate) mod principal;
