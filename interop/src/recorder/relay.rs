use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milena_inspect::time;
use serde_json::json;

use crate::filter::Filter;
use crate::frame::Frames;

/// The file of frames, and what goes into it.
pub(crate) struct Log {
    out: Mutex<File>,
    keep: Option<usize>,
    connections: AtomicU64,
    frames: AtomicU64,
}

/// The sender, the receiver, and the connection.
#[derive(Clone, Copy)]
struct Line {
    connection: u64,
    client: SocketAddr,
    broker: SocketAddr,
    is_request: bool,
}

impl Log {
    /// With `keep`, only so many requests of each API and version are written for a connection, with their responses.
    pub(crate) fn new(out: File, keep: Option<usize>) -> Self {
        Self { out: Mutex::new(out), keep, connections: AtomicU64::new(0), frames: AtomicU64::new(0) }
    }

    pub(crate) fn frames(&self) -> u64 {
        self.frames.load(Ordering::Relaxed)
    }

    fn write(&self, line: Line, filter: &Mutex<Filter>, frame: &[u8]) -> io::Result<()> {
        let mut filter = filter.lock().unwrap_or_else(PoisonError::into_inner);
        if !(if line.is_request { filter.takes_request(frame) } else { filter.takes_response(frame) }) {
            return Ok(());
        }
        let json = json!({
            "time": time::format(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()),
            "connection": line.connection,
            "client": line.client.to_string(),
            "broker": line.broker.to_string(),
            "direction": if line.is_request { "request" } else { "response" },
            "frame": STANDARD.encode(frame),
        });
        self.frames.fetch_add(1, Ordering::Relaxed);
        // In one piece, so that a kill leaves whole lines.
        self.out.lock().unwrap_or_else(PoisonError::into_inner).write_all(format!("{json}\n").as_bytes())
    }
}

/// Takes connections for as long as the process lives.
pub(crate) fn serve(listener: &TcpListener, to: SocketAddr, log: &Arc<Log>) {
    for client in listener.incoming() {
        if let Err(error) = client.and_then(|client| relay(client, to, log)) {
            eprintln!("to {to}: {error}");
        }
    }
}

fn relay(client: TcpStream, to: SocketAddr, log: &Arc<Log>) -> io::Result<()> {
    let broker = TcpStream::connect(to)?;
    client.set_nodelay(true)?;
    broker.set_nodelay(true)?;
    let connection = log.connections.fetch_add(1, Ordering::Relaxed) + 1;
    let request = Line { connection, client: client.peer_addr()?, broker: to, is_request: true };
    let response = Line { is_request: false, ..request };
    let filter = Arc::new(Mutex::new(Filter::new(log.keep)));
    let (requests, responses) = ((client.try_clone()?, broker.try_clone()?), (broker, client));
    for ((from, into), line) in [(requests, request), (responses, response)] {
        let (log, filter) = (Arc::clone(log), Arc::clone(&filter));
        thread::spawn(move || {
            if let Err(error) = pass(&from, &into, line, &filter, &log) {
                // Clients that go without a word are everyday life.
                if error.kind() != io::ErrorKind::ConnectionReset && error.kind() != io::ErrorKind::BrokenPipe {
                    eprintln!("connection {connection}: {error}");
                }
            }
            // The other side learns that no more comes; a socket that is closed already needs no telling.
            let _ = into.shutdown(Shutdown::Write);
            let _ = from.shutdown(Shutdown::Read);
        });
    }
    Ok(())
}

fn pass(mut from: &TcpStream, mut into: &TcpStream, line: Line, filter: &Mutex<Filter>, log: &Log) -> io::Result<()> {
    let mut frames = Frames::default();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        let was_foreign = frames.is_foreign();
        // Before it is passed on: a response must not be recorded before its request.
        for frame in frames.push(&buffer[..count]) {
            log.write(line, filter, &frame)?;
        }
        if frames.is_foreign() && !was_foreign {
            eprintln!("connection {}: no frames, but passed on", line.connection);
        }
        into.write_all(&buffer[..count])?;
    }
}
