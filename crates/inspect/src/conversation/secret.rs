use super::exchange::Exchange;
use super::frame::Frame;
use crate::secret::{hide_frame, stars};

impl Exchange {
    /// The same without secrets: raw SASL tokens, keys of SCRAM, delegation tokens and the values of settings such as
    /// passwords have asterisks in their place. All sizes stay.
    ///
    /// What cannot be read of a message that may hold secrets is hidden as a whole. [`secret`](crate::secret) has the list.
    #[must_use]
    pub fn without_secrets(mut self) -> Self {
        self.request = self.request.map(hide);
        self.response = self.response.map(hide);
        self
    }
}

fn hide(frame: Frame) -> Frame {
    let bytes = match &frame.head {
        _ if frame.token => stars(&frame.bytes, 0),
        None => return frame,
        Some(head) => hide_frame(head.api_key, head.api_version, frame.direction, &frame.bytes, Some(frame.body)),
    };
    Frame { bytes, ..frame }
}
