//! How fast a capture is read: `cargo xtask bench capture FILE`.
//!
//! Without a file it makes one of so many MiB: `cargo xtask bench capture --size 1024`. What is measured is the time that
//! one core takes for what `milena decode` does: a line for each exchange, or JSON lines with all messages.

mod clock;

use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use milena_inspect::capture::{Capture, CaptureEvent, CaptureOptions};
use milena_inspect::conversation::Line;

use clock::Clock;

const MIB: u64 = 1 << 20;

/// Bytes of records in a Produce, as a producer under load fills it.
const RECORDS: usize = 64 << 10;

/// Payload of a segment, as Ethernet carries it.
const SEGMENT: usize = 1448;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (path, made) = match args.as_slice() {
        [] => (make(256)?, true),
        ["--size", mib] => (make(mib.parse()?)?, true),
        [path] if !path.starts_with('-') => (PathBuf::from(path), false),
        _ => return Err("expected a file, or --size and a number of MiB, or nothing".into()),
    };
    let result = measure(&path);
    if made {
        std::fs::remove_file(&path)?;
    }
    result
}

fn measure(path: &Path) -> Result<(), Box<dyn Error>> {
    let size = std::fs::metadata(path)?.len();
    println!("{} MiB, best of 3 runs {}:", size / MIB, Clock::start().name());
    for (what, json) in [("a line each", false), ("JSON lines", true)] {
        let mut best = f64::INFINITY;
        let mut exchanges = 0_u64;
        for _ in 0..3 {
            let mut out = BufWriter::with_capacity(64 << 10, io::sink());
            let mut line = Vec::new();
            let clock = Clock::start();
            exchanges = 0;
            for event in Capture::new(File::open(path)?, CaptureOptions::default())? {
                let CaptureEvent::Exchange(captured) = event? else { continue };
                exchanges += 1;
                match json {
                    true => {
                        line.clear();
                        captured.exchange.write_json(&captured.facts, &mut line);
                        line.push(b'\n');
                        out.write_all(&line)?;
                    }
                    false => {
                        writeln!(out, "{}", Line::new(&captured.exchange, &captured.facts))?;
                    }
                }
            }
            out.flush()?;
            best = best.min(clock.seconds());
        }
        println!("{what:<14}{:>8.0} MB/s, {:>8.0} exchanges/s", size as f64 / 1e6 / best, exchanges as f64 / best);
    }
    Ok(())
}

/// A capture of a producer, of so many MiB.
fn make(mib: u64) -> Result<PathBuf, Box<dyn Error>> {
    let path = std::env::temp_dir().join(format!("milena-capture-{}.pcap", std::process::id()));
    let mut out = BufWriter::new(File::create(&path)?);
    // Little-endian, microseconds, raw IP.
    for number in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, 101_u32] {
        out.write_all(&number.to_le_bytes())?;
    }
    let (mut sent, mut received, mut millis) = (1_u32, 1_u32, 0_u32);
    let mut written = 0;
    let mut id = 0_u32;
    while written < mib * MIB {
        id += 1;
        for part in produce(id).chunks(SEGMENT) {
            written += packet(&mut out, millis, true, sent, received, part)?;
            sent = sent.wrapping_add(part.len() as u32);
        }
        // Produce version 2: a topic, a partition, no error, offset and time, no throttling.
        let mut answer = vec![0; 4];
        answer.extend(id.to_be_bytes());
        answer.extend(b"\0\0\0\x01\0\x07letters\0\0\0\x01\0\0\0\0\0\0");
        answer.extend([0; 20]);
        let size = answer.len() as u32 - 4;
        answer[..4].copy_from_slice(&size.to_be_bytes());
        written += packet(&mut out, millis, false, received, sent, &answer)?;
        received = received.wrapping_add(answer.len() as u32);
        millis += 1;
    }
    out.flush()?;
    Ok(path)
}

/// Produce version 2 of `writer` with its size in front. What its records are makes no difference here.
fn produce(id: u32) -> Vec<u8> {
    let mut bytes = b"\0\0\0\0\0\0\0\x02".to_vec();
    bytes.extend(id.to_be_bytes());
    bytes.extend(b"\0\x06writer\xff\xff\0\0\x75\x30\0\0\0\x01\0\x07letters\0\0\0\x01\0\0\0\0");
    bytes.extend((RECORDS as u32).to_be_bytes());
    bytes.extend((0..RECORDS).map(|at| (at * 31 + id as usize) as u8));
    let size = bytes.len() as u32 - 4;
    bytes[..4].copy_from_slice(&size.to_be_bytes());
    bytes
}

fn packet(out: &mut impl Write, millis: u32, client: bool, seq: u32, ack: u32, payload: &[u8]) -> io::Result<u64> {
    let length = 40 + payload.len() as u32;
    for number in [millis / 1000, millis % 1000 * 1000, length, length] {
        out.write_all(&number.to_le_bytes())?;
    }
    let mut head = vec![0x45, 0];
    head.extend((length as u16).to_be_bytes());
    head.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    let (from, to) = if client { ([10, 0, 0, 1], [10, 0, 0, 2]) } else { ([10, 0, 0, 2], [10, 0, 0, 1]) };
    head.extend(from);
    head.extend(to);
    let (from, to) = if client { (40_000_u16, 9092_u16) } else { (9092, 40_000) };
    head.extend(from.to_be_bytes());
    head.extend(to.to_be_bytes());
    head.extend(seq.to_be_bytes());
    head.extend(ack.to_be_bytes());
    head.extend([0x50, 0x10, 1, 0, 0, 0, 0, 0]);
    out.write_all(&head)?;
    out.write_all(payload)?;
    Ok(16 + u64::from(length))
}
