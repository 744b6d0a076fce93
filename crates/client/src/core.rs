use std::sync::Arc;

use milena_transport::Address;

use crate::config::ClientConfig;
use crate::metadata::Metadata;
use crate::net::Pool;

/// What all clones of a client share.
#[derive(Debug)]
pub(crate) struct Core {
    pub(crate) config: Arc<ClientConfig>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) metadata: Metadata,
}

impl Core {
    pub(crate) fn new(config: ClientConfig, bootstrap: Vec<Address>) -> Self {
        let config = Arc::new(config);
        Self { pool: Arc::new(Pool::new(Arc::clone(&config))), config, metadata: Metadata::new(bootstrap) }
    }
}
