mod filter;
mod save;
mod summary;
mod view;

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use milena_connection::fault::Rule;
use milena_tap::{Cap, Event, NoEvent, Tap as Proxy, TapConfig, TapError, Watch};
use milena_transport::Address;
use tokio::sync::oneshot;

use self::filter::Filter;
use self::save::Save;
use self::view::View;
use crate::failure::{Failure, Result};
use crate::network::{duration, stopped, with_port};
use crate::output;
use crate::security::Security;

/// Bytes of frames that may wait for the terminal and the file.
const QUEUE: usize = 64 << 20;

/// Longest time that what passed may wait to be seen, however much passes.
const FLUSH: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "Examples:
  milena tap                                       from localhost:19092 to localhost:9092
  milena tap --bootstrap kafka:9092 --filter api=fetch --filter error
  milena tap --bootstrap kafka:9092 --json --for 10s | jq 'select(.errors[0])'
  milena tap --bootstrap kafka:9092 --save all.pcapng --save all.jsonl --count 1000
  milena tap --bootstrap kafka:9093 --tls-ca ca.pem --records
  milena tap --bootstrap kafka:9092 --fault 'fetch@3: error NOT_LEADER_OR_FOLLOWER'
  milena tap --bootstrap kafka:9092 --fault 'produce client=app: delay 200ms' --cap produce=7

Faults are WHOM [@WHICH]: ACTION. WHOM is an API, several with commas, or *; then v3-8 for versions
and client=ID if wanted. WHICH counts from 1: @3, @3-5, @3+, and @/10 for every tenth. An ACTION is
error CODE, delay TIME, drop, or cut [after N bytes].

Every host and port in answers becomes one of this side, so that clients never leave it; each broker
gets a listener on the next free port above. Brokers keep talking to each other as they are. Clients
speak plain to this side, whatever the cluster speaks.";

/// Stand between clients and a cluster, and show what passes
///
/// Point clients at this side in place of the cluster: each request is shown with its answer, sizes, time, topics and error
/// codes, a line each. Requests can be made to fail on purpose, and what passes can be kept in a file. Ends with Ctrl-C, and
/// with a summary. A terminal or file that is too slow never slows the traffic: what it cannot take is counted and left out.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tap {
    /// Brokers of the cluster to ask first; one that answers is enough
    #[arg(
        long,
        short,
        visible_alias = "to",
        value_name = "HOST:PORT",
        value_delimiter = ',',
        default_value = "localhost:9092"
    )]
    bootstrap: Vec<String>,

    /// Address to listen at; port 0 takes a free one
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:19092")]
    listen: String,

    /// Host that clients are told, if not that of --listen
    #[arg(long, value_name = "HOST")]
    tell: Option<String>,

    /// Show this alone: api=NAME,…, client=ID,…, topic=NAME,…, error, or error=CODE,…; a * at the end is for any rest
    #[arg(long, value_name = "FILTER")]
    filter: Vec<Filter>,

    /// Print JSON: an object a line, with the whole messages
    #[arg(long)]
    json: bool,

    /// Show the records that pass
    #[arg(long)]
    records: bool,

    /// Cut nothing to fit the terminal; without a terminal nothing is cut anyway
    #[arg(long)]
    wide: bool,

    /// Keep all that passes, shown or not: .jsonl for `milena decode`, .pcapng for Wireshark too
    #[arg(long, value_name = "FILE")]
    save: Vec<PathBuf>,

    /// Print and keep passwords, tokens and keys too
    #[arg(long)]
    show_secrets: bool,

    /// Make requests go wrong, as in 'fetch@3: error NOT_LEADER_OR_FOLLOWER'
    #[arg(long, value_name = "RULE")]
    fault: Vec<Rule>,

    /// Let clients know no higher version of an API
    #[arg(long, value_name = "API=VERSION")]
    cap: Vec<Cap>,

    /// End after this time, such as 10s or 2m
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    span: Option<Duration>,

    /// End when so many exchanges were shown
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,

    #[command(flatten)]
    security: Security,
}

impl Tap {
    pub(crate) fn run(self) -> Result {
        output::set_wide(self.wide);
        let listen = Address::parse(&self.listen).map_err(|error| Failure::usage(format!("--listen: {error}")))?;
        let bootstrap = self.bootstrap.iter().map(|to| Address::parse(&with_port(to.clone())));
        let config = TapConfig {
            host: listen.host().to_owned(),
            port: listen.port(),
            advertised_host: self.tell.clone(),
            bootstrap: bootstrap
                .collect::<Result<_, _>>()
                .map_err(|error| Failure::usage(format!("--bootstrap: {error}")))?,
            tls: self.security.tls()?,
            faults: self.fault.clone(),
            caps: self.cap.clone(),
            ..TapConfig::default()
        };
        let saves = self.save.iter().map(|path| Save::create(path)).collect::<Result<Vec<_>>>()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start the runtime: {error}")))?;
        runtime.block_on(async {
            let (proxy, watch) = Proxy::watched(config, QUEUE).map_err(failure)?;
            eprintln!("listening at {}, to {}", proxy.address(), self.bootstrap.join(","));
            let (done, is_done) = oneshot::channel();
            let (span, watcher) = (self.span, Watcher { saves, done: Some(done), call: self });
            let watching = std::thread::spawn(move || watcher.run(&watch));
            tokio::select! {
                stopped = stopped() => stopped.map_err(|error| Failure::failed(format!("no signals: {error}")))?,
                () = elapsed(span) => {}
                _ = is_done => {}
            }
            proxy.shutdown().await;
            let finished = tokio::task::spawn_blocking(move || watching.join());
            tokio::select! {
                result = finished => match result {
                    Ok(Ok(result)) => result,
                    _ => Err(Failure::failed("the view broke off")),
                },
                // Who asks twice does not want to wait for a slow terminal.
                _ = stopped() => std::process::exit(1),
            }
        })
    }
}

async fn elapsed(span: Option<Duration>) {
    match span {
        Some(span) => tokio::time::sleep(span).await,
        None => std::future::pending().await,
    }
}

fn failure(error: TapError) -> Failure {
    let hint = match &error {
        TapError::Listen { .. } => Some("--listen names another address; port 0 takes a free one"),
        _ => None,
    };
    let failure = Failure::failed(error);
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Looks at events on a thread of its own.
struct Watcher {
    call: Tap,
    saves: Vec<Save>,
    done: Option<oneshot::Sender<()>>,
}

impl Watcher {
    fn run(mut self, watch: &Watch) -> Result {
        let mut view = View::new(self.call.json, self.call.records);
        let result = self.watch(watch, &mut view);
        // However this ends, so does the proxy.
        self.done = None;
        let kept = self.saves.into_iter().map(Save::finish).collect::<Vec<_>>();
        result?;
        view.summary(watch.skipped())?;
        kept.into_iter().collect()
    }

    fn watch(&mut self, watch: &Watch, view: &mut View) -> Result {
        let (mut shown, mut told) = (0, 0);
        let mut flushed = Instant::now();
        loop {
            if flushed.elapsed() >= FLUSH {
                self.flush(view)?;
                flushed = Instant::now();
            }
            let event = match watch.next(Duration::ZERO) {
                Err(NoEvent::Yet) => {
                    self.flush(view)?;
                    let skipped = watch.skipped();
                    if skipped > told {
                        eprintln!("note: {} exchanges passed too fast to be shown", skipped - told);
                        told = skipped;
                    }
                    watch.next(Duration::from_secs(1))
                }
                next => next,
            };
            match event {
                Err(NoEvent::Yet) => {}
                Err(NoEvent::Ended) => return view.flush(),
                Ok(Event::Exchange(exchange)) => {
                    let exchange = if self.call.show_secrets { *exchange } else { exchange.without_secrets() };
                    for save in &mut self.saves {
                        save.exchange(&exchange);
                    }
                    let facts = view.facts(&exchange);
                    if self.call.filter.iter().all(|filter| filter.lets(&exchange, &facts)) {
                        view.show(&exchange, &facts)?;
                        shown += 1;
                        if Some(shown) == self.call.count {
                            return view.flush();
                        }
                    }
                }
                Ok(event) => self.note(event),
            }
        }
    }

    /// Whoever looks sees all up to now.
    fn flush(&mut self, view: &mut View) -> Result {
        self.saves.iter_mut().for_each(Save::flush);
        view.flush()
    }

    /// Tells on stderr what is about no exchange.
    fn note(&mut self, event: Event) {
        let mut err = io::stderr().lock();
        // Nobody can be told that stderr is gone.
        let _ = match event {
            Event::Listening { broker, at } => writeln!(err, "listening at {at} for {broker}"),
            Event::Opened { connection, client, broker } => writeln!(err, "#{connection} {client} to {broker}"),
            Event::Closed { connection, why } => {
                for save in &mut self.saves {
                    save.close(connection);
                }
                match why {
                    Some(why) => writeln!(err, "#{connection} closed: {why}"),
                    // Connections come and go.
                    None => Ok(()),
                }
            }
            Event::Warning(what) => writeln!(err, "warning: {what}"),
            _ => Ok(()),
        };
    }
}
