//! From records to bytes.

pub(crate) mod append;
pub(crate) mod builder;
pub(crate) mod rewrite;
