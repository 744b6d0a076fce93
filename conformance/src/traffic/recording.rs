use std::net::SocketAddr;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milena_wire::Bytes;
use serde_json::{Map, Value};

use crate::Error;
use crate::vector::read_files;

/// One run of one client against one broker.
#[derive(Clone, Debug)]
pub struct Recording {
    /// The client and its version, such as `kafkajs-2.2.4`; with `-as-v1.0` after it one that spoke as of that release.
    pub client: String,
    /// The release of the broker.
    pub broker: String,
    /// What was said, in order of time.
    pub frames: Vec<Frame>,
}

/// Who spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// The client.
    Request,
    /// The broker.
    Response,
}

/// One frame, without the size in front of it.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Number of the connection, from 1.
    pub connection: u64,
    /// Who spoke.
    pub direction: Direction,
    /// Header and body.
    pub bytes: Bytes,
}

/// Reads all `CLIENT@BROKER.jsonl.gz` of a folder, in the order of their names.
///
/// # Errors
/// The folder holds none, or a file is not what it should be; the error names file and line.
pub fn read_traffic(dir: &Path) -> Result<Vec<Recording>, Error> {
    let mut recordings: Vec<Recording> = Vec::new();
    let mut last = String::new();
    read_files(dir, "", |name, map| {
        if name != last {
            let (client, broker) = name.strip_suffix(".jsonl.gz")?.split_once('@')?;
            recordings.push(Recording { client: client.to_owned(), broker: broker.to_owned(), frames: Vec::new() });
            name.clone_into(&mut last);
        }
        recordings.last_mut()?.frames.push(frame(&map)?);
        Some(())
    })?;
    Ok(recordings)
}

fn frame(map: &Map<String, Value>) -> Option<Frame> {
    let text = |name: &str| map.get(name)?.as_str();
    // Nobody asks for these, but a line without them is none.
    is_time(text("time")?).then_some(())?;
    for end in ["client", "broker"] {
        text(end)?.parse::<SocketAddr>().ok()?;
    }
    Some(Frame {
        connection: map.get("connection")?.as_u64()?,
        direction: match text("direction")? {
            "request" => Direction::Request,
            "response" => Direction::Response,
            _ => return None,
        },
        bytes: STANDARD.decode(text("frame")?).ok()?.into(),
    })
}

/// RFC 3339 in UTC with microseconds: digits where `0` stands.
fn is_time(text: &str) -> bool {
    let form = b"0000-00-00T00:00:00.000000Z";
    text.len() == form.len()
        && text.bytes().zip(form).all(|(byte, form)| if *form == b'0' { byte.is_ascii_digit() } else { byte == *form })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_is_a_frame_only_if_it_has_all_that_a_frame_has() {
        let line = json!({
            "time": "2026-11-30T11:00:00.000001Z", "connection": 3, "client": "127.0.0.1:1", "broker": "127.0.0.1:2",
            "direction": "response", "frame": "AAEC",
        });
        let map = line.as_object().unwrap();
        let read = frame(map).unwrap();
        assert_eq!((read.connection, read.direction, &read.bytes[..]), (3, Direction::Response, &[0, 1, 2][..]));
        for name in map.keys() {
            let mut map = map.clone();
            map.remove(name);
            assert!(frame(&map).is_none(), "{name}");
            map.insert(name.clone(), json!("?"));
            assert!(frame(&map).is_none(), "{name}");
        }
    }
}
