//! The frames of one connection, each request with its response.
//!
//! [`Conversation`] is fed frames as they pass, without their sizes, and gives an [`Exchange`] when one is whole. It looks
//! at headers alone; what is in a frame is read on request. A [`FactReader`] finds what an exchange is about:
//! topics, errors, throttling. How a stream of bytes becomes frames is the business of
//! [`FrameBuffer`](milena_connection::FrameBuffer).

mod exchange;
mod fact;
mod frame;
mod json;
mod line;
mod pairing;
mod request;
mod secret;

pub use exchange::{Endpoints, Exchange, Remark};
pub use fact::{FactReader, Facts, RecordSet};
pub use frame::{Direction, Frame, Head};
pub use line::{Line, LinePart};
pub use pairing::{Bounds, Conversation};
pub use request::RequestReader;
