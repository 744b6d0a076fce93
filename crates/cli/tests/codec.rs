//! `milena codec` as a harness in another language sees it.

mod common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use common::milena;

/// Each gets an error of the kind beside it.
const HOSTILE: [(&str, &str); 24] = [
    ("garbage", "invalid_value"),
    ("{\"id\":1", "invalid_value"),
    ("[]", "invalid_value"),
    ("null", "invalid_value"),
    ("{}", "invalid_value"),
    (r#"{"id":1,"op":"frobnicate"}"#, "invalid_value"),
    (r#"{"id":1,"op":7}"#, "invalid_value"),
    (r#"{"id":1,"op":"decode","message":"FetchReqest","version":12,"hex":""}"#, "unknown_message"),
    (r#"{"id":1,"op":"decode","message":"","version":12,"hex":""}"#, "unknown_message"),
    (r#"{"id":1,"op":"decode","message":"FetchRequest","version":99,"hex":""}"#, "unsupported_version"),
    (r#"{"id":1,"op":"decode","message":"FetchRequest","version":-1,"hex":""}"#, "unsupported_version"),
    (r#"{"id":1,"op":"default","message":"FetchRequest","version":99999999999}"#, "unsupported_version"),
    (r#"{"id":1,"op":"decode","message":"FetchRequest","version":"12","hex":""}"#, "invalid_value"),
    (r#"{"id":1,"op":"decode","message":"FetchRequest","version":1.5,"hex":""}"#, "invalid_value"),
    (r#"{"id":1,"op":"decode","message":"FetchRequest","version":12,"hex":"0g"}"#, "invalid_value"),
    (r#"{"id":1,"op":"decode","message":"FetchRequest","version":12,"hex":"000"}"#, "invalid_value"),
    (r#"{"id":1,"op":"decode","message":"FetchRequest","version":12,"hex":""}"#, "malformed"),
    (r#"{"id":1,"op":"decode","message":"MetadataRequest","version":0,"hex":"7fffffff"}"#, "malformed"),
    (r#"{"id":1,"op":"reencode","message":"MetadataRequest","version":9,"hex":"ffffffff0f"}"#, "malformed"),
    (r#"{"id":1,"op":"encode","message":"FetchRequest","version":12,"json":{"topicz":[]}}"#, "invalid_value"),
    (r#"{"id":1,"op":"encode","message":"FetchRequest","version":12,"json":{"maxWaitMs":"soon"}}"#, "invalid_value"),
    (r#"{"id":1,"op":"header","api":-7,"version":0}"#, "unknown_message"),
    (r#"{"id":1,"op":"header","api":18,"version":77}"#, "unsupported_version"),
    (r#"{"id":1,"op":"error","code":30000}"#, "invalid_value"),
];

#[test]
fn every_hostile_line_gets_an_error_and_the_next_line_is_read() {
    let mut questions = String::new();
    for (line, _) in HOSTILE {
        questions.push_str(line);
        questions.push('\n');
    }
    let mut questions = questions.into_bytes();
    questions.extend(b"{\"id\":\"\xff\"}\n");
    questions.extend(vec![b'['; 200_000]);
    questions.extend(b"\n{\"id\":2,\"op\":\"error\",\"code\":0}\n");

    let outcome = milena(&["codec"], &questions);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let answers: Vec<serde_json::Value> =
        outcome.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), HOSTILE.len() + 3);
    for ((line, kind), answer) in HOSTILE.iter().zip(&answers) {
        assert_eq!(answer["ok"], false, "{line}");
        assert_eq!(answer["error"]["kind"], *kind, "{line}: {answer}");
        assert!(answer["error"]["message"].is_string(), "{line}");
    }
    assert!(answers[HOSTILE.len()..HOSTILE.len() + 2].iter().all(|answer| answer["error"]["kind"] == "invalid_value"));
    assert_eq!(answers[HOSTILE.len() + 2]["ok"], true);
}

#[test]
fn errors_say_where_and_what_there_is_instead() {
    let ask = |line: &str| milena(&["codec"], line.as_bytes()).stdout;
    let near = ask(r#"{"op":"default","message":"FetchReqest","version":1}"#);
    assert!(near.contains("near names: FetchRequest"), "{near}");
    let valid = ask(r#"{"op":"default","message":"FetchRequest","version":19}"#);
    assert!(valid.contains("valid are 0-18"), "{valid}");
    let place = ask(r#"{"id":1,"op":"decode","message":"MetadataRequest","version":0,"hex":"000000010005"}"#);
    assert!(place.contains(r#""path":"MetadataRequest.topics[0].name""#), "{place}");
    assert!(place.contains(r#""offset":"#) && !place.contains(r#""offset":null"#), "{place}");
}

#[test]
fn a_reply_comes_before_the_next_line_is_read() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_milena"))
        .arg("codec")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut questions = child.stdin.take().unwrap();
    let mut answers = BufReader::new(child.stdout.take().unwrap());
    for code in 0..3 {
        writeln!(questions, r#"{{"id":{code},"op":"error","code":{code}}}"#).unwrap();
        let mut answer = String::new();
        answers.read_line(&mut answer).unwrap();
        assert!(answer.starts_with(&format!(r#"{{"id":{code},"ok":true"#)), "{answer}");
    }
    drop(questions);
    assert!(child.wait().unwrap().success());
}
