//! Writes down what passes between clients and a broker: a plain relay that looks for frames in the bytes it passes on.
//!
//! ```text
//! milena-record --listen 127.0.0.1:9093 --to 127.0.0.1:9092 --out traffic.jsonl
//! ```
//!
//! The broker has to advertise the address at which the recorder listens, or clients go past it. A line for each frame, in
//! the form that `conformance/traffic/` has: see `conformance/README.md`. It ends with its standard input, or when it is
//! killed. Bytes are passed on as they are, whether or not they are frames.

mod frame;
mod relay;
mod time;

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::thread;

use relay::{Log, serve};

const USAGE: &str = "usage: milena-record --listen HOST:PORT --to HOST:PORT --out FILE

Passes on what comes in at --listen to the broker at --to, and appends a line of JSON for each frame to FILE. Ends with its
standard input.";

struct Options {
    listen: SocketAddr,
    to: SocketAddr,
    out: String,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    let options = match parse(&args) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("error: {error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match run(&options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(args: &[String]) -> Result<Options, String> {
    let (mut listen, mut to, mut out) = (None, None, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("{arg} takes a value"))?;
        let address = || value.parse().map_err(|_| format!("{arg} takes an IP address and a port, not {value}"));
        match arg.as_str() {
            "--listen" => listen = Some(address()?),
            "--to" => to = Some(address()?),
            "--out" => out = Some(value.clone()),
            _ => return Err(format!("there is no option {arg}")),
        }
    }
    Ok(Options { listen: listen.ok_or("no --listen")?, to: to.ok_or("no --to")?, out: out.ok_or("no --out")? })
}

fn run(options: &Options) -> io::Result<()> {
    let listener = TcpListener::bind(options.listen)?;
    let out = File::options().create(true).append(true).open(&options.out)?;
    let log = Arc::new(Mutex::new(Log::new(out)));
    eprintln!("{} passes on to {}; frames go to {}", listener.local_addr()?, options.to, options.out);
    let (shared, to) = (Arc::clone(&log), options.to);
    thread::spawn(move || serve(&listener, to, &shared));
    // Until whoever started this closes it.
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    let frames = log.lock().map_or(0, |log| log.frames());
    eprintln!("{frames} frames");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Options, String> {
        parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_and_what_lacks_is_named() {
        let options = parsed(&["--listen", "127.0.0.1:1", "--to", "127.0.0.1:2", "--out", "file"]).unwrap();
        assert_eq!((options.listen.port(), options.to.port(), &*options.out), (1, 2, "file"));
        assert!(parsed(&["--listen", "127.0.0.1:1", "--to", "127.0.0.1:2"]).is_err());
        assert!(parsed(&["--listen", "somewhere"]).is_err());
        assert!(parsed(&["--fast", "1"]).is_err());
    }
}
