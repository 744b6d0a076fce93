//! `decode --as capture`: what clients and brokers said in a capture of a network.

mod summary;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, IsTerminal as _, Read as _, StdoutLock, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use milena_inspect::capture::{
    Capture, CaptureError, CaptureEvent, CaptureOptions, CaptureStatistics, Captured, SkippedPackets, is_capture,
};
use milena_inspect::conversation::{Direction, FactReader};
use serde_json::{Value, json};

use super::View;
use super::compression::{self, Compression};
use crate::exchange;
use crate::failure::{Failure, Result};
use crate::output::{self, Paint};
use summary::Summary;

/// How to read captures.
#[derive(Args, Clone, Copy, Debug, Default)]
#[command(next_help_heading = "Captures of a network")]
pub(super) struct Captures {
    /// The port of brokers: only its connections are read. Without it, Kafka is recognised by what a connection carries
    #[arg(long, value_name = "PORT", allow_negative_numbers = true)]
    port: Option<u16>,

    /// Show the clients and what they did, without a line for each exchange
    #[arg(long, conflicts_with = "annotate")]
    summary: bool,
}

impl Captures {
    /// Whether one of these was asked for.
    pub(super) fn is_wanted(self) -> bool {
        self.port.is_some() || self.summary
    }
}

/// Bytes of a compressed file that are enough to see what is in it.
const FIRST: u64 = 4096;

/// Whether a file is a capture.
pub(super) fn is_one(path: &Path) -> bool {
    let mut first = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FIRST).read_to_end(&mut first));
    read.is_ok() && is_capture(&compression::first_of(&first))
}

/// Whether a capture comes from stdin. Looks at it without taking it.
pub(super) fn is_on_stdin() -> bool {
    io::stdin().lock().fill_buf().is_ok_and(|first| is_capture(&compression::first_of(first)))
}

/// Shows captures, one after the other; that of stdin without `paths`.
pub(super) fn run(paths: &[PathBuf], view: View, captures: Captures, records: bool) -> Result {
    if view.annotate || view.tolerant || view.strict {
        return Err(Failure::usage("--annotate, --tolerant and --strict are not for captures")
            .hint("--json shows whole messages, --records what was written and read"));
    }
    let mut show = Show {
        out: output::stdout(),
        json: view.json || view.compact,
        records,
        captures,
        paint: Paint::stdout(),
        exchanges: 0,
        reader: FactReader::default(),
        // A person may be watching while the capture is made.
        live: paths.is_empty() || io::stdout().is_terminal(),
        text: Vec::new(),
    };
    let mut unread = Unread::default();
    if paths.is_empty() {
        one(io::stdin().lock(), "stdin", &mut show, &mut unread)?;
    }
    for path in paths {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| Failure::failed(format!("cannot read {name}: {error}")))?;
        one(BufReader::new(file), &name, &mut show, &mut unread)?;
    }
    unread.verdict()
}

/// What could not be read.
#[derive(Default)]
struct Unread {
    frames: u64,
    of: u64,
    missing: u64,
    passed: u64,
    /// The first frame that cannot be read, and why.
    first: Option<String>,
    /// Why a file could not be read to its end.
    failure: Option<Failure>,
}

impl Unread {
    fn verdict(self) -> Result {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let mut what = Vec::new();
        if let Some(first) = self.first {
            what.push(format!("{} of {} frames cannot be read, the first: {first}", self.frames, self.of));
        }
        if self.missing > 0 {
            what.push(format!("{} of Kafka connections are not in the capture", output::size(self.missing as usize)));
        }
        if self.passed > 0 {
            what.push(format!(
                "{} there belong to no frame that could be recognised",
                output::size(self.passed as usize)
            ));
        }
        if what.is_empty() { Ok(()) } else { Err(Failure::failed(what.join("; "))) }
    }

    fn exchange(&mut self, captured: &Captured) {
        let Captured { exchange, facts, .. } = captured;
        self.of += exchange.request.iter().chain(&exchange.response).count() as u64;
        self.frames += facts.unread.len() as u64;
        if let Some((direction, error)) = facts.unread.first() {
            let (connection, name) = (exchange.connection(), direction.name());
            self.first.get_or_insert_with(|| format!("a {name} of connection #{connection}: {error}"));
        }
    }
}

fn one(mut input: impl BufRead, name: &str, show: &mut Show, unread: &mut Unread) -> Result {
    let failed = |error: CaptureError| Failure::failed(format!("cannot read {name}: {error}"));
    let compression = Compression::of(input.fill_buf().map_err(|error| failed(error.into()))?);
    let input = compression::open(input).map_err(|error| failed(error.into()))?;
    let options = CaptureOptions { port: show.captures.port, ..CaptureOptions::default() };
    let mut capture = Capture::new(input, options).map_err(|error| match compression {
        Some(compression) => {
            let what = format!("cannot read {name}: it is compressed with {}, and no capture", compression.name);
            Failure::failed(what).hint(compression.hint())
        }
        None => failed(error),
    })?;
    let mut summary = Summary::default();
    for event in capture.by_ref() {
        match event {
            Ok(CaptureEvent::Exchange(captured)) => {
                unread.exchange(&captured);
                show.exchange(&captured)?;
            }
            Ok(CaptureEvent::Closed(connection)) => {
                if connection.frames > 0 {
                    unread.missing += connection.missing;
                    unread.passed += connection.passed;
                }
                if show.json {
                    show.line(summary::json(&connection))?;
                } else {
                    summary.add(*connection);
                }
            }
            Ok(gap) => show.gap(&gap)?,
            Err(error) => unread.failure = Some(failed(error)),
        }
        if show.live {
            show.out.flush()?;
        }
    }
    let statistics = capture.statistics();
    if !show.json {
        let text = summary.render(&statistics, show.exchanges > 0 && !show.captures.summary);
        show.out.write_all(text.as_bytes())?;
    }
    show.out.flush()?;
    note(name, &statistics);
    Ok(())
}

/// Says what was skipped.
fn note(name: &str, statistics: &CaptureStatistics) {
    if statistics.cut_off {
        eprintln!("note: {name} ends inside of a packet");
    }
    if statistics.other_ports > 0 {
        let CaptureStatistics { other_ports, packets, .. } = statistics;
        eprintln!("note: {other_ports} of {packets} packets belong to other ports than --port");
    }
    for (why, count) in &statistics.skipped {
        let why = match why {
            SkippedPackets::Link(number) => format!("of link type {number}, which is not known here"),
            SkippedPackets::Fragment => "fragments of IP packets, which are not put together".to_owned(),
            SkippedPackets::Headers => "without whole headers of IP and TCP".to_owned(),
            // Every network has some of these beside TCP.
            _ if statistics.connections > 0 => continue,
            SkippedPackets::NotIp(kind) => format!("neither IPv4 nor IPv6, but {}", ether_type(*kind)),
            SkippedPackets::NotTcp(protocol) => format!("without TCP: {}", ip_protocol(*protocol)),
            _ => continue,
        };
        eprintln!("note: {count} of {} packets are {why}", statistics.packets);
    }
}

fn ether_type(kind: u16) -> String {
    match kind {
        0x0806 => "ARP".to_owned(),
        0x88cc => "LLDP".to_owned(),
        0x88e5 => "encrypted (MACsec)".to_owned(),
        0..=1500 => "frames of another kind, such as spanning tree".to_owned(),
        kind => format!("EtherType 0x{kind:04x}"),
    }
}

fn ip_protocol(protocol: u8) -> String {
    match protocol {
        1 | 58 => "ICMP".to_owned(),
        17 => "UDP, which is no tunnel that is known here".to_owned(),
        50 => "encrypted (IPsec ESP)".to_owned(),
        132 => "SCTP".to_owned(),
        number => format!("IP protocol {number}"),
    }
}

struct Show {
    out: BufWriter<StdoutLock<'static>>,
    json: bool,
    records: bool,
    captures: Captures,
    paint: Paint,
    exchanges: u64,
    /// For the records.
    reader: FactReader,
    /// Nothing waits in the buffer.
    live: bool,
    /// Memory for a line of JSON.
    text: Vec<u8>,
}

impl Show {
    fn exchange(&mut self, captured: &Captured) -> Result {
        self.exchanges += 1;
        if self.captures.summary {
            return Ok(());
        }
        let Captured { exchange, facts, .. } = captured;
        let sets = self.records.then(|| {
            // Names of topics, which later exchanges have only the ids of.
            self.reader.read(exchange);
            self.reader.records(exchange)
        });
        if self.json {
            self.text.clear();
            exchange::write_json(exchange, facts, sets.as_deref(), &mut self.text);
            self.text.push(b'\n');
            return Ok(self.out.write_all(&self.text)?);
        }
        if self.exchanges == 1 {
            writeln!(self.out, "{}", exchange::title(self.paint))?;
        }
        let lines = exchange::lines(exchange, facts, sets.as_deref().unwrap_or_default(), self.paint);
        Ok(self.out.write_all(lines.as_bytes())?)
    }

    fn gap(&mut self, event: &CaptureEvent) -> Result {
        let CaptureEvent::Gap { connection, direction, time, missing, passed, unknown, .. } = event else {
            return Ok(());
        };
        let time = milena_inspect::time::format(*time);
        if self.captures.summary {
            return Ok(());
        }
        if self.json {
            return self.line(json!({
                "type": "gap",
                "connection": connection,
                "direction": direction.name(),
                "time": time,
                "missing": missing,
                "passed": passed,
                "unknown": unknown,
            }));
        }
        let who = if *direction == Direction::Request { "client" } else { "broker" };
        let mut what = Vec::new();
        if *missing > 0 {
            what.push(format!("{} not captured", output::size(*missing as usize)));
        }
        if *unknown {
            what.push("an unknown number of bytes not captured".to_owned());
        }
        if *passed > 0 {
            what.push(format!("{} skipped up to the next frame", output::size(*passed as usize)));
        }
        let time = time.get(11..23).unwrap_or_default();
        writeln!(self.out, "{time:<12} {:>4} … from the {who}: {}", format!("#{connection}"), what.join(", "))?;
        Ok(())
    }

    fn line(&mut self, json: Value) -> Result {
        serde_json::to_writer(&mut self.out, &json)?;
        self.out.write_all(b"\n")?;
        Ok(())
    }
}
