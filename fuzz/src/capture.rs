use std::io::{self, Read};

use milena_inspect::capture::{Capture, CaptureEvent, CaptureOptions};

/// A capture, read at once and byte by byte, with room for little: what comes out is the same, adds up, and every exchange
/// can be shown.
pub fn capture(data: &[u8]) {
    let options = CaptureOptions { port: None, connections: 4, memory: 2048 };
    let whole = events(data, options);
    assert_eq!(whole, events(Slowly(data), options));
    let forced = CaptureOptions { port: Some(9092), ..options };
    events(data, forced);
}

/// One byte a read, as a slow pipe has it.
struct Slowly<'a>(&'a [u8]);

impl Read for Slowly<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(1);
        self.0.read(&mut buffer[..length])
    }
}

fn events(input: impl Read, options: CaptureOptions) -> Vec<String> {
    let mut capture = match Capture::new(input, options) {
        Ok(capture) => capture,
        Err(error) => return vec![error.to_string()],
    };
    let (mut frames, mut told) = (0, 0);
    let mut seen = Vec::new();
    for event in capture.by_ref() {
        match &event {
            Ok(CaptureEvent::Exchange(captured)) => {
                let exchange = &captured.exchange;
                for frame in exchange.request.iter().chain(&exchange.response) {
                    frames += 1;
                    // What a scan takes, the decoder does, and the other way round.
                    let scanned = frame.scan(|_, _| {});
                    assert_eq!(scanned.is_ok(), frame.json().is_ok(), "{scanned:?}");
                }
                let mut json = Vec::new();
                exchange.write_json(&captured.facts, &mut json);
                serde_json::from_slice::<serde_json::Value>(&json).expect("JSON of an exchange is JSON");
                seen.push(String::from_utf8(json).expect("JSON is text"));
            }
            Ok(CaptureEvent::Closed(connection)) => told += connection.frames,
            _ => {}
        }
        seen.push(format!("{event:?}"));
    }
    assert_eq!(frames, told);
    assert!(capture.next().is_none());
    seen
}
