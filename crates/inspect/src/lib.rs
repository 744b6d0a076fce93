//! Any Kafka bytes made readable, offline.
//!
//! What a frame, a record, a log segment or a capture of a network holds, with the range of bytes each thing came from,
//! for the command line, the tap, and tools of others. Nothing here opens a socket; what is read comes as bytes or as
//! [`std::io::Read`].
