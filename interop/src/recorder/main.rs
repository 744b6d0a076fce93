//! Writes down what passes between clients and a broker: a plain relay that looks for frames in the bytes it passes on.
//!
//! ```text
//! milena-record --listen 127.0.0.1:9093 --to 127.0.0.1:9092 --out traffic.jsonl
//! ```
//!
//! The broker has to advertise the address at which the recorder listens, or clients go past it. A line for each frame, in
//! the form that `conformance/traffic/` has: see `conformance/README.md`. It ends with its standard input, or when it is
//! killed. Bytes are passed on as they are, whether or not they are frames.

mod filter;
mod frame;
mod relay;

use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use relay::{Log, serve};

const USAGE: &str = "usage: milena-record (--listen HOST:PORT --to HOST:PORT)... --out FILE [--keep N]

Forwards what arrives at each --listen to the broker at the --to after it, and appends a line of JSON for each frame to
FILE. Ends with its standard input.

  --keep N  write only the first N requests of each API and version on a connection, with their responses";

#[derive(Debug)]
struct Options {
    routes: Vec<(SocketAddr, SocketAddr)>,
    out: String,
    keep: Option<usize>,
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
    let (mut listen, mut routes, mut out, mut keep) = (None, Vec::new(), None, None);
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| format!("{arg} takes a value"))?;
        let address = || value.parse().map_err(|_| format!("{arg} takes an IP address and a port, not {value}"));
        match arg.as_str() {
            "--listen" if listen.is_none() => listen = Some(address()?),
            "--to" => routes.push((listen.take().ok_or("--to comes after --listen")?, address()?)),
            "--out" => out = Some(value.clone()),
            "--keep" => keep = Some(value.parse().map_err(|_| format!("--keep takes a number, not {value}"))?),
            "--listen" => return Err("--to is missing between two of --listen".into()),
            _ => return Err(format!("there is no option {arg}")),
        }
    }
    if listen.is_some() || routes.is_empty() {
        return Err("each --listen takes a --to, and there has to be one".into());
    }
    Ok(Options { routes, out: out.ok_or("no --out")?, keep })
}

fn run(options: &Options) -> io::Result<()> {
    let out = File::options().create(true).append(true).open(&options.out)?;
    let log = Arc::new(Log::new(out, options.keep));
    for (listen, to) in &options.routes {
        let listener = TcpListener::bind(listen)?;
        eprintln!("{} passes on to {to}; frames go to {}", listener.local_addr()?, options.out);
        let (log, to) = (Arc::clone(&log), *to);
        thread::spawn(move || serve(&listener, to, &log));
    }
    // Until its parent closes it.
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    eprintln!("{} frames", log.frames());
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
        let port = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
        let one = ["--listen", "127.0.0.1:1", "--to", "127.0.0.1:2"];
        let options = parsed(&[&one[..], &["--out", "file"]].concat()).unwrap();
        assert_eq!((&options.routes[..], &*options.out, options.keep), (&[(port(1), port(2))][..], "file", None));
        let two = parsed(&[&one[..], &one[..], &["--keep", "3", "--out", "file"]].concat()).unwrap();
        assert_eq!((two.routes.len(), two.keep), (2, Some(3)));
        for bad in [
            &one[..],
            &["--out", "file"],
            &["--listen", "127.0.0.1:1", "--out", "file"],
            &["--to", "127.0.0.1:2", "--out", "file"],
            &["--listen", "127.0.0.1:1", "--listen", "127.0.0.1:1", "--to", "127.0.0.1:2", "--out", "file"],
            &["--listen", "somewhere"],
            &["--keep", "few"],
            &["--fast", "1"],
            &["--out"],
        ] {
            assert!(parsed(bad).is_err(), "{bad:?}");
        }
    }
}
