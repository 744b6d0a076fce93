//! Traces are read as they were written, and lines that are none say why.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::Duration;

use milena_inspect::conversation::{Direction, Head};
use milena_inspect::trace::{TraceError, TraceReader, TracedFrame};
use milena_messages::ApiKey;

#[test]
fn a_line_has_this_form_and_comes_back() {
    let frame = TracedFrame {
        time: Some(Duration::new(1_714_566_659, 250_001_000)),
        connection: 3,
        client: Some("10.0.0.7:52144".to_owned()),
        broker: Some("kafka:9092".to_owned()),
        direction: Direction::Request,
        frame: b"\0\x12\0\0\0\0\0\x07\0\x01c"[..].into(),
    };
    let head = Head { api_key: ApiKey::API_VERSIONS, api_version: 0, correlation_id: 7, client_id: Some("c".into()) };
    let mut out = Vec::new();
    frame.write(Some(&head), &mut out).unwrap();
    let line = r#"{"time":"2024-05-01T12:30:59.250001Z","connection":3,"client":"10.0.0.7:52144","broker":"kafka:9092","direction":"request","api":"ApiVersions","version":0,"correlationId":7,"clientId":"c","frame":"ABIAAAAAAAcAAWM="}"#;
    assert_eq!(String::from_utf8(out.clone()).unwrap(), format!("{line}\n"));
    out.extend(b"\n  \r\n");
    out.extend(line.as_bytes());
    let read: Vec<TracedFrame> = TraceReader::new(&out[..]).map(Result::unwrap).collect();
    assert_eq!(read, [frame.clone(), frame]);
}

#[test]
fn direction_and_frame_are_enough() {
    let frame = TracedFrame::parse(br#"{"frame":"AAAABwAb","direction":"response","more":[1]}"#).unwrap();
    assert_eq!((frame.direction, &frame.frame[..]), (Direction::Response, &b"\0\0\0\x07\0\x1b"[..]));
    assert_eq!((frame.time, frame.connection, frame.client, frame.broker), (None, 0, None, None));
}

#[test]
fn what_is_no_frame_says_why_and_reading_goes_on() {
    let lines = [
        ("[]", "no JSON object"),
        (r#"{"frame":""}"#, "`direction`"),
        (r#"{"direction":"up","frame":""}"#, "`direction`"),
        (r#"{"direction":"request"}"#, "`frame`"),
        (r#"{"direction":"request","frame":"?"}"#, "base64"),
        (r#"{"direction":"request","frame":"","time":"now"}"#, "`time`"),
        (r#"{"direction":"request","frame":"","client":1}"#, "`client`"),
        (r#"{"direction":"request","frame":"","connection":-1}"#, "`connection`"),
    ];
    let mut text: String = lines.iter().map(|(line, _)| format!("{line}\n")).collect();
    text.push_str(r#"{"direction":"request","frame":""}"#);
    let mut read = TraceReader::new(text.as_bytes());
    for (index, (line, expected)) in lines.iter().enumerate() {
        let Some(Err(TraceError::Line { line: number, what })) = read.next() else { panic!("{line} is taken") };
        assert_eq!(number, index as u64 + 1);
        assert!(what.contains(expected), "{line}: {what}");
    }
    assert!(read.next().unwrap().unwrap().frame.is_empty());
    assert!(read.next().is_none());
}
