use milena_connection::read_request_header;
use milena_inspect::conversation::Direction;
use milena_inspect::secret::{hide_frame, stars};

use crate::event::Exchange;
use crate::header::response_body;

impl Exchange {
    /// The same without secrets: tokens of SASL, keys of SCRAM, delegation tokens and the values of settings such as
    /// passwords have asterisks in their place. All sizes stay.
    ///
    /// What cannot be read of a message that may hold secrets is taken for one. [`milena_inspect::secret`] has the list.
    #[must_use]
    pub fn without_secrets(mut self) -> Self {
        let Some(api) = self.api else {
            self.request = stars(&self.request, 0);
            self.response = self.response.map(|response| stars(&response, 0));
            return self;
        };
        if let Ok((_, body)) = read_request_header(self.request.clone()) {
            let at = self.request.len() - body.len();
            self.request = hide_frame(api, self.version, Direction::Request, &self.request, Some(at));
        }
        self.response = self.response.map(|response| {
            let at = response_body(api, self.version, &response);
            hide_frame(api, self.version, Direction::Response, &response, at)
        });
        self
    }
}
