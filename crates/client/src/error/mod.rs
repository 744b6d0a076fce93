mod cause;
mod kind;
mod text;

pub use cause::{CloseCause, ConnectCause, Misbehaviour, Origin, StallReason};
pub use kind::{Error, Result};
