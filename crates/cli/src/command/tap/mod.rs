mod filter;
mod outlet;
mod save;
mod summary;
mod view;

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use milena_connection::fault::{Rule, Statistic};
use milena_tap::{Cap, Event, NoEvent, ProbeError, Tap as Proxy, TapConfig, TapError, Watch, raise_open_file_limit};
use milena_transport::Address;
use milena_wire::Report;
use tokio::sync::oneshot;

use self::filter::Filter;
use self::outlet::{Ended, Outlet};
use self::save::Save;
use self::view::View;
use crate::failure::{Failure, Result};
use crate::network::{duration, stopped, with_port};
use crate::output;
use crate::security::Security;

/// Bytes of frames that may wait to be shown and saved.
const QUEUE: usize = 64 << 20;

/// Longest time until files have all that passed.
const FLUSH: Duration = Duration::from_secs(1);

const EXAMPLES: &str = "Examples:
  milena tap                                       from localhost:19092 to localhost:9092
  milena tap --bootstrap kafka:9092 --filter api=fetch --filter error
  milena tap --bootstrap kafka:9092 --json --for 10s | jq 'select(.errors[0])'
  milena tap --bootstrap kafka:9092 --save all.pcapng --save all.jsonl --count 1000
  milena tap --bootstrap kafka:9093 --tls-ca ca.pem --records
  milena tap --bootstrap kafka:9092 --fault 'fetch@3: error NOT_LEADER_OR_FOLLOWER'
  milena tap --bootstrap kafka:9092 --fault 'produce client=app: delay 200ms' --cap produce=7

Faults are TARGET [@WHICH]: ACTION. TARGET is an API, several with commas, or *; then v3-8 for
versions and client=ID if wanted, where * stands for any text and quotes allow spaces and colons.
WHICH is @3, @3-5, @3+, @/10 for every tenth, or @5% for a probability. An ACTION is error CODE,
delay TIME, drop, or cut [after N bytes]. The file docs/faults.md says what each of them does.

A cap hides versions, and the features of the cluster that clients use by them: produce=11 hides
transaction.version 2. Features can be named as well, such as transaction.version=1.

Every host and port in responses becomes one of the tap, so that clients never leave it; each broker
gets a listener on the next free port above, in the order of node ids. Brokers keep talking to each
other as they are. Clients speak plaintext to the tap, whatever the cluster speaks.";

/// Stand between clients and a cluster, and show the traffic
///
/// Point clients at the tap in place of the cluster: each request is shown with its response, sizes, time, topics and error
/// codes, a line each. Requests can be made to fail on purpose, and the traffic can be saved to a file. Ends with Ctrl-C, and
/// with a summary. A terminal or file that is too slow never slows the traffic: what it cannot take is counted and left out.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Tap {
    /// Brokers of the cluster to connect to first; one that responds is enough
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

    /// Host that clients get to connect to, if not that of --listen
    #[arg(long, alias = "tell", value_name = "HOST")]
    advertise_host: Option<String>,

    /// Show only this: api=NAME,…, client=ID,…, topic=NAME,…, error, or error=CODE,…; * stands for any text
    #[arg(long, value_name = "FILTER")]
    filter: Vec<Filter>,

    /// Print JSON: an object a line, with the whole messages
    #[arg(long)]
    json: bool,

    /// Show the records
    #[arg(long)]
    records: bool,

    /// Cut nothing to fit the terminal; without a terminal nothing is cut anyway
    #[arg(long)]
    wide: bool,

    /// Save all traffic, shown or not: .jsonl for `milena decode`, .pcapng for Wireshark too
    #[arg(long, value_name = "FILE")]
    save: Vec<PathBuf>,

    /// Print and save passwords, tokens and keys too
    #[arg(long)]
    show_secrets: bool,

    /// Make requests go wrong, such as 'fetch@3: error NOT_LEADER_OR_FOLLOWER'
    #[arg(long, value_name = "RULE")]
    fault: Vec<Rule>,

    /// Start of the random numbers for faults with a probability, to repeat a run
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    fault_seed: Option<u64>,

    /// Hide higher versions of an API, or higher levels of a feature
    #[arg(long, value_name = "API=VERSION")]
    cap: Vec<Cap>,

    /// End after this time, such as 10s or 2m
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    span: Option<Duration>,

    /// End after showing this many exchanges
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u64).range(1..))]
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
            advertised_host: self.advertise_host.clone(),
            bootstrap: bootstrap
                .collect::<Result<_, _>>()
                .map_err(|error| Failure::usage(format!("--bootstrap: {error}")))?,
            tls: self.security.tls()?,
            faults: self.fault.clone(),
            fault_seed: self.fault_seed,
            caps: self.cap.clone(),
            ..TapConfig::default()
        };
        let saves = self.save.iter().map(|path| Save::create(path)).collect::<Result<Vec<_>>>()?;
        // Each connection takes two open files, and many systems allow 1,024 unless asked.
        raise_open_file_limit();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::failed(format!("cannot start the runtime: {error}")))?;
        runtime.block_on(async {
            let (proxy, watch) = Proxy::watched(config, QUEUE).map_err(failure)?;
            eprintln!("listening at {}, to {}", proxy.address(), self.bootstrap.join(","));
            match proxy.probe().await {
                Ok(_) => {}
                Err(ProbeError::Unreachable(why)) => eprintln!("warning: {why}; clients are refused until that changes"),
                Err(error) => return Err(Failure::failed(error).hint("--listen names another address")),
            }
            let (done, is_done) = oneshot::channel();
            let span = self.span;
            let watcher = Watcher::new(self, saves, done);
            let watching = std::thread::spawn(move || watcher.run(&watch));
            tokio::select! {
                stopped = stopped() => stopped.map_err(|error| Failure::failed(format!("cannot receive signals: {error}")))?,
                () = elapsed(span) => {}
                _ = is_done => {}
            }
            let rules = proxy.fault_statistics();
            proxy.shutdown().await;
            let finished = tokio::task::spawn_blocking(move || watching.join());
            let result = tokio::select! {
                result = finished => match result {
                    Ok(Ok(result)) => result,
                    _ => Err(Failure::failed("the view stopped unexpectedly")),
                },
                // A second Ctrl-C does not wait for a slow terminal.
                _ = stopped() => std::process::exit(1),
            };
            report(&rules);
            result
        })
    }
}

/// Names the rules that did nothing, on stderr.
fn report(rules: &[Statistic]) {
    for rule in rules.iter().filter(|rule| rule.fired == 0) {
        let matched = match rule.matched {
            0 => "no request matched it".to_owned(),
            1 => "1 request matched it".to_owned(),
            matched => format!("{matched} requests matched it"),
        };
        eprintln!("note: fault `{}` never fired: {matched}", rule.rule);
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
    let failure = Failure::failed(Report(&error));
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Takes events on a thread of its own: saves them, and shows those that are wanted.
struct Watcher {
    call: Tap,
    saves: Vec<Save>,
    done: Option<oneshot::Sender<()>>,
    out: Outlet,
    err: Outlet,
    /// Exchanges that stdout did not take.
    dropped: u64,
    /// The problem with stdout.
    failed: Option<io::Error>,
}

impl Watcher {
    fn new(call: Tap, saves: Vec<Save>, done: oneshot::Sender<()>) -> Self {
        let (out, err) = (Outlet::new(io::stdout()), Outlet::new(io::stderr()));
        Self { call, saves, done: Some(done), out, err, dropped: 0, failed: None }
    }

    fn run(mut self, watch: &Watch) -> Result {
        let mut view = View::new(self.call.json, self.call.records);
        self.watch(watch, &mut view);
        // However this ends, so does the proxy.
        self.done = None;
        let saved = self.saves.into_iter().map(Save::finish).collect::<Vec<_>>();
        self.out.send(view.summary(watch.skipped() + self.dropped)?);
        let written = match (self.failed, self.out.finish()) {
            (Some(error), _) | (None, Ended::Failed(error)) => Err(error.into()),
            (None, Ended::Blocked(bytes)) => {
                Err(Failure::failed(format!("nobody reads stdout: {bytes} bytes were not written")))
            }
            (None, Ended::Written) => Ok(()),
        };
        self.err.finish();
        saved.into_iter().collect::<Result>()?;
        written
    }

    fn watch(&mut self, watch: &Watch, view: &mut View) {
        let (mut shown, mut noted) = (0, 0);
        let mut flushed = Instant::now();
        loop {
            if flushed.elapsed() >= FLUSH {
                self.saves.iter_mut().for_each(Save::flush);
                flushed = Instant::now();
            }
            if self.is_over() {
                return;
            }
            let event = match watch.next(Duration::ZERO) {
                Err(NoEvent::Yet) => {
                    self.saves.iter_mut().for_each(Save::flush);
                    let unshown = watch.skipped() + self.dropped;
                    if unshown > noted {
                        self.say(format!("note: {} exchanges passed too fast to be shown", unshown - noted));
                        noted = unshown;
                    }
                    watch.next(Duration::from_secs(1))
                }
                next => next,
            };
            match event {
                Err(NoEvent::Yet) => {}
                Err(NoEvent::Ended) => return,
                Ok(Event::Exchange(exchange)) => {
                    let exchange = if self.call.show_secrets { *exchange } else { exchange.without_secrets() };
                    for save in &mut self.saves {
                        save.exchange(&exchange);
                    }
                    let facts = view.facts(&exchange);
                    if self.call.filter.iter().all(|filter| filter.lets(&exchange, &facts)) {
                        if self.failed.is_none() && !self.out.send(view.show(&exchange, &facts)) {
                            self.dropped += 1;
                        }
                        shown += 1;
                        if Some(shown) == self.call.count {
                            return;
                        }
                    }
                }
                Ok(event) => self.note(event),
            }
        }
    }

    /// Whether there is nothing left to do because stdout is gone. When there are files to save to, that goes on.
    fn is_over(&mut self) -> bool {
        let Some(error) = self.out.error() else { return false };
        let gone = error.kind() == io::ErrorKind::BrokenPipe;
        if !gone {
            self.say(format!("warning: cannot write to stdout: {error}; the tap goes on without it"));
        }
        self.failed = Some(error);
        gone && self.saves.is_empty()
    }

    fn say(&self, line: String) {
        // When stderr takes nothing either, there is nobody left to report that to.
        self.err.send((line + "\n").into_bytes());
    }

    /// Writes to stderr what is about no exchange.
    fn note(&mut self, event: Event) {
        match event {
            Event::Listening { broker, at } => self.say(format!("listening at {at} for {broker}")),
            Event::Opened { connection, client, broker } => self.say(format!("#{connection} {client} to {broker}")),
            Event::Closed { connection, why } => {
                for save in &mut self.saves {
                    save.close(connection);
                }
                // Connections come and go.
                if let Some(why) = why {
                    self.say(format!("#{connection} closed: {why}"));
                }
            }
            Event::Warning(what) => self.say(format!("warning: {what}")),
            _ => {}
        }
    }
}
