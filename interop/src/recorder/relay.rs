use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::frame::Frames;
use crate::time::now;

/// The file of frames.
pub(crate) struct Log {
    out: File,
    frames: u64,
}

/// Who speaks, to whom, and on which connection.
#[derive(Clone, Copy)]
struct Line {
    connection: u64,
    client: SocketAddr,
    broker: SocketAddr,
    direction: &'static str,
}

impl Log {
    pub(crate) fn new(out: File) -> Self {
        Self { out, frames: 0 }
    }

    pub(crate) fn frames(&self) -> u64 {
        self.frames
    }

    fn write(&mut self, line: Line, frame: &[u8]) -> io::Result<()> {
        let json = json!({
            "time": now(),
            "connection": line.connection,
            "client": line.client.to_string(),
            "broker": line.broker.to_string(),
            "direction": line.direction,
            "frame": STANDARD.encode(frame),
        });
        self.frames += 1;
        // In one piece, so that a kill leaves whole lines.
        self.out.write_all(format!("{json}\n").as_bytes())
    }
}

/// Takes connections for as long as the process lives.
pub(crate) fn serve(listener: &TcpListener, to: SocketAddr, log: &Arc<Mutex<Log>>) {
    for (connection, client) in (1..).zip(listener.incoming()) {
        let outcome = client.and_then(|client| relay(client, to, connection, log));
        if let Err(error) = outcome {
            eprintln!("connection {connection}: {error}");
        }
    }
}

fn relay(client: TcpStream, to: SocketAddr, connection: u64, log: &Arc<Mutex<Log>>) -> io::Result<()> {
    let broker = TcpStream::connect(to)?;
    client.set_nodelay(true)?;
    broker.set_nodelay(true)?;
    let request = Line { connection, client: client.peer_addr()?, broker: to, direction: "request" };
    let response = Line { direction: "response", ..request };
    let (requests, responses) = ((client.try_clone()?, broker.try_clone()?), (broker, client));
    for ((from, into), line) in [(requests, request), (responses, response)] {
        let log = Arc::clone(log);
        thread::spawn(move || {
            if let Err(error) = pass(&from, &into, line, &log) {
                // Clients that go without a word are everyday life.
                if error.kind() != io::ErrorKind::ConnectionReset && error.kind() != io::ErrorKind::BrokenPipe {
                    eprintln!("connection {connection}, {}: {error}", line.direction);
                }
            }
            // The other side learns that no more comes; a socket that is closed already needs no telling.
            let _ = into.shutdown(Shutdown::Write);
            let _ = from.shutdown(Shutdown::Read);
        });
    }
    Ok(())
}

fn pass(mut from: &TcpStream, mut into: &TcpStream, line: Line, log: &Mutex<Log>) -> io::Result<()> {
    let mut frames = Frames::default();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        // Before it is passed on: an answer must not be written down before its request.
        for frame in frames.push(&buffer[..count]) {
            log.lock().unwrap_or_else(PoisonError::into_inner).write(line, &frame)?;
        }
        if frames.is_foreign() {
            eprintln!("connection {}, {}: no frames", line.connection, line.direction);
        }
        into.write_all(&buffer[..count])?;
    }
}
