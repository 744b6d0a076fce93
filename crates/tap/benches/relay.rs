//! What the proxy costs beside one that copies bytes and knows nothing: `cargo bench -p milena-tap`.
//!
//! Each proxy runs on one thread, between a server and a client that have threads of their own; all are on loopback. The
//! time of the processor is that of the proxy's thread, as Linux counts it.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on ends")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use milena_connection::{frame_request, frame_response};
use milena_messages::fetch::response::{FetchableTopicResponse, PartitionData};
use milena_messages::produce::request::{PartitionProduceData, TopicProduceData};
use milena_messages::produce::response::{PartitionProduceResponse, TopicProduceResponse};
use milena_messages::{Bytes, FetchRequest, FetchResponse, ProduceRequest, ProduceResponse, Uuid};
use milena_tap::{NoEvent, Tap, TapConfig};
use milena_transport::Address;

const ROUNDS: usize = 20_000;
const FETCHES: usize = 2000;
const RECORDS: usize = 1 << 20;

/// Starts a proxy in front of a server.
type Start = fn(SocketAddr) -> Proxy;

fn main() {
    let produce = ProduceRequest {
        acks: -1,
        topic_data: vec![TopicProduceData {
            name: "letters".into(),
            partition_data: vec![PartitionProduceData { records: Some(vec![7; 1000].into()), ..Default::default() }],
            ..Default::default()
        }],
        ..Default::default()
    };
    let produced = ProduceResponse {
        responses: vec![TopicProduceResponse {
            name: "letters".into(),
            partition_responses: vec![PartitionProduceResponse::default()],
            ..Default::default()
        }],
        ..Default::default()
    };
    let fetched = FetchResponse {
        responses: vec![FetchableTopicResponse {
            topic_id: Uuid::from_bytes([7; 16]),
            partitions: vec![PartitionData { records: Some(vec![7; RECORDS].into()), ..Default::default() }],
            ..Default::default()
        }],
        ..Default::default()
    };
    let produce = frame_request(&produce, 11, 1, None).unwrap().concat();
    let produced = frame_response(&produced, 11, 1).unwrap().concat();
    let fetch = frame_request(&FetchRequest::default(), 17, 1, None).unwrap().concat();
    let fetched = frame_response(&fetched, 17, 1).unwrap().concat();

    println!("{:<26} {:>12} {:>12} {:>10} {:>14}", "proxy", "produce p50", "produce p99", "MB/s", "MB per cpu s");
    let ways: [(&str, Option<Start>); 4] =
        [("none", None), ("copies bytes", Some(plain)), ("tap", Some(tap)), ("tap, watched", Some(watched))];
    for (name, proxy) in ways {
        let (p50, p99) = trips(&produce, &produced, proxy);
        let (rate, per_cpu) = stream(&fetch, &fetched, proxy);
        let per_cpu = per_cpu.map_or("-".to_owned(), |rate| format!("{rate:.0}"));
        println!("{name:<26} {:>9.1} us {:>9.1} us {rate:>10.0} {per_cpu:>14}", micros(p50), micros(p99));
    }
}

fn micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1000.0
}

/// One request at a time: the median and the 99th percentile of a round trip.
fn trips(request: &[u8], answer: &[u8], proxy: Option<Start>) -> (Duration, Duration) {
    let server = server(answer);
    let proxy = proxy.map(|start| start(server));
    let mut socket = TcpStream::connect(proxy.as_ref().map_or(server, |proxy| proxy.address)).unwrap();
    socket.set_nodelay(true).unwrap();
    let mut heard = vec![0; answer.len()];
    let mut times: Vec<Duration> = (0..ROUNDS + 1000)
        .map(|_| {
            let start = Instant::now();
            socket.write_all(request).unwrap();
            socket.read_exact(&mut heard).unwrap();
            start.elapsed()
        })
        .skip(1000)
        .collect();
    assert_eq!(heard, answer);
    times.sort();
    (times[ROUNDS / 2], times[ROUNDS * 99 / 100])
}

/// Four requests under way: megabytes a second, and for each second that the proxy's thread was at work.
fn stream(request: &[u8], answer: &[u8], proxy: Option<Start>) -> (f64, Option<f64>) {
    let server = server(answer);
    let proxy = proxy.map(|start| start(server));
    let mut socket = TcpStream::connect(proxy.as_ref().map_or(server, |proxy| proxy.address)).unwrap();
    socket.set_nodelay(true).unwrap();
    let mut heard = vec![0; answer.len()];
    let before = proxy.as_ref().and_then(Proxy::at_work);
    let start = Instant::now();
    (0..4).for_each(|_| socket.write_all(request).unwrap());
    for round in 0..FETCHES {
        socket.read_exact(&mut heard).unwrap();
        if round + 4 < FETCHES {
            socket.write_all(request).unwrap();
        }
    }
    let (took, after) = (start.elapsed(), proxy.as_ref().and_then(Proxy::at_work));
    assert!(heard == answer);
    let megabytes = (FETCHES * answer.len()) as f64 / 1e6;
    let at_work = after.zip(before).map(|(after, before)| megabytes / (after - before).as_secs_f64());
    (megabytes / took.as_secs_f64(), at_work)
}

/// Responds to each frame with the same bytes.
fn server(answer: &[u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Bytes::copy_from_slice(answer);
    thread::spawn(move || {
        while let Ok((mut socket, _)) = listener.accept() {
            let answer = answer.clone();
            thread::spawn(move || {
                socket.set_nodelay(true).unwrap();
                let (mut size, mut frame) = ([0; 4], Vec::new());
                while socket.read_exact(&mut size).is_ok() {
                    frame.resize(u32::from_be_bytes(size) as usize, 0);
                    if socket.read_exact(&mut frame).is_err() || socket.write_all(&answer).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

/// A proxy on a thread of its own.
struct Proxy {
    address: SocketAddr,
    thread: String,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        drop(self.stop.take());
    }
}

impl Proxy {
    fn start<F: Future<Output = SocketAddr>>(
        run: impl FnOnce(tokio::sync::oneshot::Receiver<()>) -> F + Send + 'static,
    ) -> Self {
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            let thread = std::fs::read_link("/proc/thread-self").map(|path| path.display().to_string());
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let (end, ended) = tokio::sync::oneshot::channel();
            runtime.block_on(async {
                let address = run(end_with(stopped, end)).await;
                tell.send((address, thread.unwrap_or_default())).unwrap();
                let _ = ended.await;
            });
        });
        let (address, thread) = told.recv().unwrap();
        Self { address, thread, stop: Some(stop) }
    }

    /// How long the thread was at work up to now.
    fn at_work(&self) -> Option<Duration> {
        let text = std::fs::read_to_string(format!("/proc/{}/schedstat", self.thread)).ok()?;
        text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    }
}

/// What ends the work also ends the runtime.
fn end_with(
    stopped: tokio::sync::oneshot::Receiver<()>,
    end: tokio::sync::oneshot::Sender<()>,
) -> tokio::sync::oneshot::Receiver<()> {
    let (pass, passed) = tokio::sync::oneshot::channel();
    tokio::spawn(async move {
        let _ = stopped.await;
        drop((end, pass));
    });
    passed
}

fn plain(server: SocketAddr) -> Proxy {
    Proxy::start(move |_| async move {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((mut near, _)) = listener.accept().await {
                let mut far = tokio::net::TcpStream::connect(server).await.unwrap();
                near.set_nodelay(true).unwrap();
                far.set_nodelay(true).unwrap();
                tokio::spawn(async move {
                    let _ = tokio::io::copy_bidirectional_with_sizes(&mut near, &mut far, 1 << 16, 1 << 16).await;
                });
            }
        });
        address
    })
}

fn config(server: SocketAddr) -> TapConfig {
    TapConfig { bootstrap: vec![Address::parse(&server.to_string()).unwrap()], ..TapConfig::default() }
}

fn tap(server: SocketAddr) -> Proxy {
    Proxy::start(move |stopped| async move {
        let tap = Tap::start(config(server)).unwrap();
        let address = tap.address();
        tokio::spawn(async move {
            let _ = stopped.await;
            tap.shutdown().await;
        });
        address
    })
}

fn watched(server: SocketAddr) -> Proxy {
    Proxy::start(move |stopped| async move {
        let (tap, watch) = Tap::watched(config(server), 64 << 20).unwrap();
        let address = tap.address();
        thread::spawn(move || {
            let mut reader = milena_inspect::conversation::FactReader::default();
            loop {
                match watch.next(Duration::MAX) {
                    Ok(milena_tap::Event::Exchange(exchange)) => drop(reader.read(&exchange)),
                    Ok(_) | Err(NoEvent::Yet) => {}
                    Err(NoEvent::Ended) => return,
                }
            }
        });
        tokio::spawn(async move {
            let _ = stopped.await;
            tap.shutdown().await;
        });
        address
    })
}
