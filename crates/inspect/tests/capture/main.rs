//! Captures: of real sessions, compared with what another program saw in them, and packets laid out by hand.

mod broken;
mod formats;
mod kafka;
mod packets;
mod session;

use milena_inspect::capture::{Capture, CaptureEvent, CaptureOptions, Captured, Connection};

/// What a capture gave.
#[derive(Default)]
struct Read {
    exchanges: Vec<Captured>,
    /// Missing and passed over.
    gaps: Vec<(u64, u64)>,
    connections: Vec<Connection>,
    error: Option<String>,
}

fn read(bytes: &[u8]) -> Read {
    read_with(bytes, CaptureOptions::default())
}

fn read_with(bytes: &[u8], options: CaptureOptions) -> Read {
    let mut read = Read::default();
    let capture = match Capture::new(bytes, options) {
        Ok(capture) => capture,
        Err(error) => return Read { error: Some(error.to_string()), ..read },
    };
    for event in capture {
        match event {
            Ok(CaptureEvent::Exchange(captured)) => read.exchanges.push(*captured),
            Ok(CaptureEvent::Gap { missing, passed, .. }) => read.gaps.push((missing, passed)),
            Ok(CaptureEvent::Closed(connection)) => read.connections.push(*connection),
            Ok(_) => {}
            Err(error) => read.error = Some(error.to_string()),
        }
    }
    read
}

impl Read {
    /// Correlation ids of the requests, in order, with `!` where there is no response and `?` where there is no request.
    fn ids(&self) -> String {
        let ids = self.exchanges.iter().map(|captured| match (captured.exchange.head(), &captured.exchange.response) {
            (Some(head), Some(_)) => head.correlation_id.to_string(),
            (Some(head), None) => format!("{}!", head.correlation_id),
            (None, _) => "?".to_owned(),
        });
        ids.collect::<Vec<_>>().join(" ")
    }
}
