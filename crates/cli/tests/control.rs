//! The control port of `milena broker`, as a test in another language uses it.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "common/broker.rs"]
mod broker;
mod common;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

use broker::Broker;
use common::milena;
use serde_json::{Value, json};

/// A broker with a control port.
struct Controlled {
    broker: Broker,
    control: String,
}

impl Controlled {
    fn start(args: &[&str]) -> Self {
        let args = [&["--port", "0", "--control", "127.0.0.1:0", "--json"], args].concat();
        let mut broker = Broker::start_with(&args);
        let ready: Value = serde_json::from_str(&broker.bootstrap).unwrap();
        broker.bootstrap = ready["bootstrap"].as_str().unwrap().to_owned();
        let control = ready["control"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        Self { broker, control }
    }

    /// A request and its response: status, head and body.
    fn raw(&self, head: &str, body: &[u8]) -> (u16, String, String) {
        let mut socket = TcpStream::connect(&self.control).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = format!("{head}\r\nhost: {}\r\nconnection: close\r\n", self.control);
        socket.write_all(format!("{head}content-length: {}\r\n\r\n", body.len()).as_bytes()).unwrap();
        // A broker that refuses a large body may stop reading it.
        let _ = socket.write_all(body);
        let mut response = Vec::new();
        let _ = socket.read_to_end(&mut response);
        let response = String::from_utf8(response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").expect(&response);
        (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned())
    }

    fn call(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (status, _, body) = self.raw(&format!("{method} {path} HTTP/1.1"), body.as_bytes());
        (status, serde_json::from_str(&body).expect(&body))
    }

    /// A call that must succeed.
    fn ok(&self, method: &str, path: &str, body: &Value) -> Value {
        let (status, json) = self.call(method, path, body);
        assert!(status < 300, "{method} {path}: {status} {json}");
        json
    }

    fn get(&self, path: &str) -> Value {
        self.ok("GET", path, &Value::Null)
    }

    fn post(&self, path: &str, body: Value) -> Value {
        self.ok("POST", path, &body)
    }
}

#[test]
fn topics_come_and_go_and_take_records() {
    let broker = Controlled::start(&[]);
    let topic =
        json!({ "name": "a", "partitions": 2, "settings": { "cleanup.policy": "compact", "retention.ms": 5000 } });
    assert_eq!(broker.post("/topics", topic.clone())["partitions"].as_array().unwrap().len(), 2);
    assert_eq!(broker.call("POST", "/topics", &topic).0, 409);
    let records = json!({ "records": [
        { "partition": 1, "key": "k", "value": "v", "timestamp": 1000 },
        { "key": "x", "valueBase64": "/w==" },
        { "partition": 1, "key": "k2", "value": "v2" },
    ] });
    let appended = broker.post("/topics/a/records", records);
    let expected =
        json!([{ "partition": 1, "offset": 0 }, { "partition": 0, "offset": 0 }, { "partition": 1, "offset": 1 }]);
    assert_eq!(appended["offsets"], expected);
    let consumed = broker.broker.call(&["consume", "a", "--json", "--partition", "1"], "");
    let first: Value = serde_json::from_str(consumed.lines().next().unwrap()).unwrap();
    assert_eq!([&first["key"], &first["value"], &first["timestamp"]], [&json!("k"), &json!("v"), &json!(1000)]);

    broker.post("/topics/a/records", json!({ "records": [{ "partition": 1, "key": "k", "value": null }] }));
    broker.post("/topics/a/partitions/1/truncate", json!({ "offset": 2 }));
    let partition = broker.get("/topics/a")["partitions"][1].clone();
    assert_eq!([&partition["endOffset"], &partition["leaderEpoch"]], [2, 1]);
    broker.ok("DELETE", "/topics/a", &Value::Null);
    assert_eq!(broker.call("GET", "/topics/a", &Value::Null).0, 404);
}

#[test]
fn nodes_leaders_and_coordinators_move() {
    let broker = Controlled::start(&["--nodes", "3", "--topic", "a"]);
    let leader = |broker: &Controlled| broker.get("/topics/a")["partitions"][0]["leader"].as_i64();
    for node in [3, 1, 2] {
        broker.post("/topics/a/partitions/0/leader", json!({ "node": node }));
        assert_eq!(leader(&broker), Some(node));
        broker.post("/groups/g/coordinator", json!({ "node": node }));
        broker.post("/transactions/t/coordinator", json!({ "node": node }));
        let of = |path| broker.get(path)["node"].as_i64();
        assert_eq!([of("/groups/g/coordinator"), of("/transactions/t/coordinator")], [Some(node); 2]);
    }
    for (down, up) in [("stop", "start"), ("kill", "start"), ("isolate", "reconnect")] {
        broker.post("/topics/a/partitions/0/leader", json!({ "node": 2 }));
        broker.post(&format!("/nodes/2/{down}"), Value::Null);
        assert_ne!(leader(&broker), Some(2), "{down}");
        assert_eq!(broker.get("/nodes")["nodes"][1]["up"], false);
        assert_eq!(broker.get("/nodes")["nodes"][1]["isolated"], down == "isolate");
        assert_eq!(broker.call("POST", &format!("/nodes/2/{down}"), &Value::Null).0, 409);
        broker.post(&format!("/nodes/2/{up}"), Value::Null);
        assert_eq!(broker.get("/nodes")["nodes"][1]["up"], true);
    }
    assert_eq!(broker.post("/nodes", Value::Null), json!({ "id": 4 }));
    assert_eq!(broker.get("/state")["nodes"].as_array().unwrap().len(), 4);
}

#[test]
fn faults_fire_and_requests_are_seen() {
    let broker = Controlled::start(&["--topic", "a"]);
    let added = broker.post("/faults", json!({ "rule": "produce@1: error NOT_LEADER_OR_FOLLOWER" }));
    assert_eq!(added, json!({ "id": 0, "rule": "produce@1: error NOT_LEADER_OR_FOLLOWER", "matched": 0, "fired": 0 }));
    let other = broker.post("/faults", json!({ "rule": "fetch@9: drop" }))["id"].as_u64().unwrap();
    broker.broker.call(&["produce", "a"], "hello\n");
    let fault = broker.get("/faults/0");
    assert_eq!([&fault["matched"], &fault["fired"]], [2, 1], "the producer sent it again");
    broker.ok("DELETE", &format!("/faults/{other}"), &Value::Null);
    assert_eq!(broker.get("/faults")["faults"].as_array().unwrap().len(), 1);
    broker.ok("DELETE", "/faults", &Value::Null);
    assert_eq!(broker.get("/faults")["faults"], json!([]));
    assert_eq!(broker.call("GET", "/faults/0", &Value::Null).0, 404);

    let produced = broker.get("/requests?api=produce");
    let requests = produced["requests"].as_array().unwrap();
    assert_eq!((requests.len(), &requests[0]["clientId"]), (2, &json!("milena")));
    assert_eq!(requests[0]["body"]["acks"], -1);
    let next = produced["next"].as_u64().unwrap();
    assert_eq!(broker.get(&format!("/requests?from={next}"))["requests"], json!([]));
    assert_eq!(broker.get("/requests?client=mil*&limit=1&body=false")["requests"].as_array().unwrap().len(), 1);
    assert_eq!(broker.get("/requests?client=other")["requests"], json!([]));
}

#[test]
fn a_request_is_waited_for() {
    let broker = Controlled::start(&["--topic", "a"]);
    let path = "/requests?api=Produce&count=2&wait=60s&body=false";
    let (waited, _) = thread::scope(|scope| {
        let waiting = scope.spawn(|| broker.get(path));
        let produce = scope.spawn(|| (0..2).for_each(|_| _ = broker.broker.call(&["produce", "a"], "x\n")));
        (waiting.join().unwrap(), produce.join().unwrap())
    });
    assert_eq!(waited["requests"].as_array().unwrap().len(), 2);
    assert!(waited["requests"][0].get("body").is_none());
    let (status, json) = broker.call("GET", "/requests?api=JoinGroup&wait=1ms", &Value::Null);
    assert_eq!((status, json), (408, json!({ "error": "0 of 1 requests came within 1ms" })));
}

#[test]
fn a_virtual_clock_moves_by_the_control_port_alone() {
    let broker = Controlled::start(&["--topic", "a", "--virtual-clock", "1700000000000"]);
    assert_eq!(broker.get("/clock"), json!({ "nowMs": 1_700_000_000_000_i64 }));
    assert_eq!(broker.post("/clock", json!({ "advanceMs": 45_000 }))["nowMs"], 1_700_000_045_000_i64);
    broker.post("/topics/a/records", json!({ "records": [{ "value": "x" }] }));
    let consumed: Value = serde_json::from_str(&broker.broker.call(&["consume", "a", "--json"], "")).unwrap();
    assert_eq!(consumed["timestamp"], 1_700_000_045_000_i64);
    assert_eq!(Controlled::start(&[]).call("POST", "/clock", &json!({ "advanceMs": 1 })).0, 409);
}

#[test]
fn mistakes_get_a_status_and_say_why() {
    let broker = Controlled::start(&["--topic", "a"]);
    for (method, path, body, status, why) in [
        ("GET", "/nowhere", json!(null), 404, "there is no /nowhere"),
        ("PUT", "/topics", json!(null), 405, "/topics has no PUT, only GET and POST"),
        ("POST", "/topics", json!({}), 400, "`name` is missing"),
        ("POST", "/topics", json!({ "name": 7 }), 400, "`name` is not a string"),
        ("POST", "/topics", json!({ "name": "b", "partition": 7 }), 400, "there is no field `partition` here"),
        ("POST", "/topics", json!({ "name": "b", "partitions": 0 }), 400, "INVALID_PARTITIONS"),
        ("POST", "/topics", json!({ "name": "b", "partitions": "6" }), 400, "`partitions` cannot be \"6\""),
        ("POST", "/topics", json!({ "name": "b", "settings": { "no.such": 1 } }), 400, "INVALID_CONFIG"),
        ("POST", "/topics", json!([1]), 400, "the body is not a JSON object"),
        ("POST", "/topics/a/records", json!({}), 400, "`records` is missing"),
        ("POST", "/topics/a/records", json!({ "records": [{ "value": 1 }] }), 400, "record 0: "),
        ("POST", "/topics/a/records", json!({ "records": [{ "partition": 5 }] }), 404, "a has no partition 5"),
        ("POST", "/topics/b/records", json!({ "records": [] }), 404, "there is no topic b"),
        ("POST", "/topics/a/partitions/x/leader", json!({ "node": 1 }), 400, "`x` is not a number"),
        ("POST", "/topics/a/partitions/0/leader", json!({ "node": 9 }), 404, "node 9: there is no such node"),
        ("POST", "/topics/a/partitions/9/truncate", json!({ "offset": 0 }), 404, "there is no a-9"),
        ("DELETE", "/topics/%ff", json!(null), 400, "`%ff` is not percent-encoded UTF-8"),
        ("POST", "/nodes/1/start", json!(null), 409, "node 1: it is up"),
        ("POST", "/nodes/1/kill", json!({ "now": true }), 400, "there is no field `now` here"),
        ("POST", "/faults", json!({ "rule": "fetch: explode" }), 400, "`explode` is not an action"),
        ("GET", "/requests?color=red", json!(null), 400, "there is no filter `color`"),
        ("GET", "/requests?api=Shout", json!(null), 400, "api: "),
        ("GET", "/state?x=1", json!(null), 400, "/state has no query"),
    ] {
        let (got, json) = broker.call(method, path, &body);
        assert_eq!(got, status, "{method} {path}: {json}");
        assert!(json["error"].as_str().unwrap().contains(why), "{method} {path}: {json}");
    }
    let (status, head, _) = broker.raw("PATCH /faults HTTP/1.1", b"");
    assert!(status == 405 && head.contains("allow: GET, POST, DELETE"), "{head}");
    assert_eq!(broker.raw("POST /faults HTTP/1.1", &vec![b' '; (16 << 20) + 1]).0, 413);
    assert_eq!(broker.raw("GET /state HTTP/1.1\r\norigin: http://evil.test", b"").0, 403);
    assert_eq!(broker.raw("hello", b"").0, 400);
}

#[test]
fn the_page_lists_every_operation() {
    let broker = Controlled::start(&["--topic", "letters"]);
    let (status, head, page) = broker.raw("GET / HTTP/1.1", b"");
    assert!(status == 200 && head.contains("content-type: text/html"), "{head}");
    for text in ["letters", "bootstrap.servers=127.0.0.1:", "/nodes/{node}/isolate", "/requests", "advanceMs"] {
        assert!(page.contains(text), "{text}");
    }
    let (_, head, body) = broker.raw("HEAD /state HTTP/1.1", b"");
    assert!(head.starts_with("HTTP/1.1 200") && body.is_empty(), "{head}{body}");
}

#[test]
fn the_ready_line_names_the_control_port_and_a_port_in_use_is_an_error() {
    let broker = Broker::start_with(&["--port", "0", "--control", "127.0.0.1:0"]);
    let (kafka, control) = broker.bootstrap.split_once(' ').unwrap();
    assert!(kafka.starts_with("127.0.0.1:") && control.starts_with("http://127.0.0.1:"), "{}", broker.bootstrap);
    let address = control.strip_prefix("http://").unwrap();
    let outcome = milena(&["broker", "--port", "0", "--control", address], b"");
    assert!(outcome.code == 1 && outcome.stdout.is_empty(), "{}", outcome.stdout);
    assert!(outcome.stderr.contains(&format!("cannot listen on {address}: ")), "{}", outcome.stderr);
    assert_eq!(milena(&["broker", "--virtual-clock", "0"], b"").code, 2);
}
