//! The frames of one connection, each request with its answer.
//!
//! [`Conversation`] is fed frames as they pass, without their sizes, and gives an [`Exchange`] when one is whole. It looks
//! at headers alone; what is in a frame is read when somebody asks for it. How a stream of bytes becomes frames is the
//! business of [`FrameBuffer`](milena_connection::FrameBuffer).

mod exchange;
mod frame;
mod json;
mod line;
mod pairing;

pub use exchange::{Exchange, Remark};
pub use frame::{Direction, Frame, Head};
pub(crate) use json::put;
pub use line::Line;
pub use pairing::{Bounds, Conversation};
