//! From records to bytes.

pub(crate) mod append;
pub(crate) mod builder;
pub(crate) mod convert;
pub(crate) mod message;
pub(crate) mod message_set;
pub(crate) mod rewrite;
mod room;
