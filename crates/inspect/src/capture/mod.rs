//! Captures of a network: what Kafka clients and brokers sent each other, out of pcap and pcapng files, and into them.
//!
//! [`Capture`] reads a file packet by packet, puts the segments of each TCP connection in order, cuts them into frames and
//! pairs requests with their responses. No port has to be known: a side that sends what can only be a request is a client.
//!
//! ```no_run
//! use milena_inspect::capture::{Capture, CaptureOptions, CaptureEvent};
//!
//! let file = std::fs::File::open("session.pcap")?;
//! for event in Capture::new(file, CaptureOptions::default())? {
//!     if let CaptureEvent::Exchange(captured) = event? {
//!         println!("{:?} {:?}", captured.exchange.head(), captured.facts.errors);
//!     }
//! }
//! # Ok::<(), milena_inspect::capture::CaptureError>(())
//! ```
//!
//! What it understands:
//!
//! | layer | what |
//! |---|---|
//! | file | pcap in both byte orders, of micro- and nanoseconds, and as patched by Kuznetzov; pcapng with any number of sections and interfaces, each with its resolution and offset of time |
//! | link | Ethernet with VLAN tags, also doubled; Linux cooked v1 and v2; loopback of BSD (NULL, LOOP); raw IP |
//! | network | IPv4; IPv6 with extension headers. Fragments are counted and not put together: TCP avoids them |
//! | TCP | any order, repetition, overlap, loss, numbers that wrap around, packets cut by the snaplen, connections that began before the capture |
//!
//! **What is missing is named.** A hole inside of a frame leaves a frame with `missing` bytes; its size says where the next
//! one begins. After a hole that goes over the end of a frame, or at the start of a capture, bytes are skipped until a
//! frame is recognised: a request by its header, a response by the correlation id of a request that waits.
//! Bytes count as lost when the other side has acknowledged them and they did not turn up in the next 16 packets of the
//! connection, or when 4 MiB wait after them, or after 30 seconds.
//!
//! **Memory is bounded** by [`CaptureOptions::memory`] for all connections, 512 MiB unless said otherwise, and for one by
//! 4 MiB of segments out of order in each direction, a frame of 100 MiB, and 1000 requests or 100 MiB of them that wait for
//! responses. What is known of a connection at its end comes on top: at most a thousand names of each kind. The file itself is
//! never held: what is read of it comes from a window of some hundred KiB, or as large as the largest packet.
//!
//! The two file formats and the headers are read by hand. Of the crates for it, pcap-parser 0.17 knows no time resolution
//! in powers of two, reads offsets of time in big-endian files as little-endian and wants the first read of a pipe to
//! bring the whole header; the next pcap-file, 3.0, is not out yet. etherparse 0.21 has neither BSD loopback nor the second
//! form of Linux cooked. What is needed of all of them is less than what would stand around them.

mod buffer;
mod connection;
mod event;
mod file;
mod flow;
mod framer;
mod packet;
mod reader;
mod recognise;
mod section;
mod stream;
mod writer;

pub use connection::{Calls, Connection, Protocol};
pub use event::{CaptureEvent, Captured};
pub use file::{CaptureError, Packet, Packets, is_capture};
pub use packet::SkippedPackets;
pub use reader::{Capture, CaptureOptions, CaptureStatistics};
pub use writer::PcapngWriter;
