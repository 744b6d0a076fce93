//! The control port of a broker: HTTP and JSON, so that tests in any language can do what Rust code does with a cluster.

mod error;
mod field;
mod handler;
mod page;
mod query;
mod route;
mod value;

use std::convert::Infallible;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderValue, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use milena_broker::BrokerCluster;
use tokio::net::TcpListener;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use self::error::Refused;
use self::handler::Reply;
use crate::failure::{Failure, Result};

/// Largest body of a request.
const MAX_BODY: usize = 16 << 20;
/// Longest time for a request to arrive.
const MAX_ARRIVAL: Duration = Duration::from_secs(30);
/// Most connections at the same time.
const MAX_CONNECTIONS: usize = 256;

/// What handlers work with.
pub(super) struct Shared {
    cluster: Arc<BrokerCluster>,
    /// Defaults of new topics.
    partitions: i32,
    replicas: i16,
    /// Whether only programs on this machine reach the port.
    local: bool,
}

/// A control port that is open. It closes when this is dropped.
pub(super) struct Control {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Control {
    /// Opens the port.
    ///
    /// # Errors
    /// It is in use, or the host is no address of this machine.
    pub(super) async fn open(
        address: &str,
        cluster: Arc<BrokerCluster>,
        partitions: i32,
        replicas: i16,
    ) -> Result<Self> {
        let failed = |error| {
            Failure::failed(format!("cannot listen on {address}: {error}")).hint("--control names another address")
        };
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let shared = Arc::new(Shared { cluster, partitions, replicas, local: address.ip().is_loopback() });
        Ok(Self { address, task: tokio::spawn(accept(listener, shared)) })
    }

    /// What clients use.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Closes the port and all connections.
    pub(super) async fn close(mut self) {
        self.task.abort();
        // It was ended on purpose.
        let _ = (&mut self.task).await;
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            Some(_) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < MAX_CONNECTIONS => {
                let Ok((socket, _)) = accepted else {
                    // Such as no more file descriptors: it passes, but not within microseconds.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                // Only a delay of small responses depends on it.
                let _ = socket.set_nodelay(true);
                let shared = shared.clone();
                let service = service_fn(move |request| {
                    let shared = shared.clone();
                    async move { Ok::<_, Infallible>(respond(&shared, request).await) }
                });
                let mut server = http1::Builder::new();
                server.timer(TokioTimer::new()).header_read_timeout(MAX_ARRIVAL);
                let connection = server.serve_connection(TokioIo::new(socket), service);
                // What goes wrong on a connection, its client learns.
                connections.spawn(async move { _ = connection.await });
            }
        }
    }
}

async fn respond(shared: &Arc<Shared>, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (parts, body) = request.into_parts();
    let handled = async {
        check_origin(&parts.headers, shared.local)?;
        let body = timeout(MAX_ARRIVAL, Limited::new(body, MAX_BODY).collect()).await;
        let body = body.map_err(|_| Refused::new(StatusCode::REQUEST_TIMEOUT, "the body did not arrive"))?;
        let body = body.map_err(|error| match error.is::<http_body_util::LengthLimitError>() {
            true => Refused::new(StatusCode::PAYLOAD_TOO_LARGE, format!("a body has at most {MAX_BODY} bytes")),
            false => Refused::bad(format!("the body cannot be read: {error}")),
        })?;
        // A HEAD is a GET whose body hyper leaves out.
        let method = if parts.method == Method::HEAD { Method::GET } else { parts.method };
        let query = parts.uri.query().unwrap_or_default();
        handler::handle(shared, &method, parts.uri.path(), query, &body.to_bytes()).await
    };
    match handled.await {
        Ok(Reply::Json(status, json)) => reply(status, "application/json", format!("{json}\n")),
        Ok(Reply::Page(html)) => reply(StatusCode::OK, "text/html; charset=utf-8", html),
        Err(refused) => {
            let mut response = reply(refused.status, "application/json", format!("{}\n", refused.to_json()));
            if let Some(allow) = refused.allow.and_then(|allow| HeaderValue::from_str(&allow).ok()) {
                response.headers_mut().insert(hyper::header::ALLOW, allow);
            }
            response
        }
    }
}

fn reply(status: StatusCode, content: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'"));
    response
}

/// Refuses what a web page of somebody else sends by way of a browser on this machine.
fn check_origin(headers: &HeaderMap, local: bool) -> Result<(), Refused> {
    let forbidden = |what: String| Err(Refused::new(StatusCode::FORBIDDEN, what));
    let text = |value: &HeaderValue| value.to_str().unwrap_or_default().to_owned();
    let host = headers.get(HOST).map(text).unwrap_or_default();
    if let Some(origin) = headers.get(ORIGIN).map(text) {
        if origin != format!("http://{host}") {
            return forbidden(format!("requests of the site {origin} are not allowed"));
        }
    }
    if local && !is_local(&host) {
        return forbidden(format!("the port is open for this machine only, which is not called {host}"));
    }
    Ok(())
}

/// Whether no name server decides what the host is.
fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.is_empty() || name == "localhost" || bare.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_reaches_the_port_only_from_its_own_page() {
        let status = |pairs: &[(&'static str, &'static str)], local| {
            let headers = pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
            check_origin(&headers.collect(), local).map_err(|refused| refused.status)
        };
        for host in ["127.0.0.1:8000", "localhost:8000", "[::1]:8000", "localhost"] {
            assert_eq!(status(&[("host", host)], true), Ok(()), "{host}");
        }
        assert_eq!(status(&[], true), Ok(()));
        assert_eq!(status(&[("host", "localhost:1"), ("origin", "http://localhost:1")], true), Ok(()));
        let forbidden = Err(StatusCode::FORBIDDEN);
        assert_eq!(status(&[("host", "localhost:1"), ("origin", "http://evil.test")], true), forbidden);
        assert_eq!(status(&[("host", "kafka:1"), ("origin", "null")], false), forbidden);
        assert_eq!(status(&[("host", "evil.test:1"), ("origin", "http://evil.test:1")], true), forbidden);
        assert_eq!(status(&[("host", "kafka:1")], false), Ok(()), "a container by its name");
    }
}
