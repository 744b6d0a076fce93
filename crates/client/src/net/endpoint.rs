use milena_transport::Address;

use crate::error::Origin;

/// An address, and who named it.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    pub(crate) address: Address,
    pub(crate) origin: Origin,
}
