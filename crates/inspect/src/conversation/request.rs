use std::collections::HashMap;
use std::sync::OnceLock;
use std::time::Duration;

use bytes::Bytes;
use milena_connection::read_request_header;
use milena_messages::{ApiKey, Message as _, RequestHeader};
use milena_schema::{Finder, Scalar, Spec};

use super::exchange::{Exchange, Remark};
use super::frame::{Direction, Frame, Head};

/// Reads the headers of the requests of one connection, and tells raw SASL tokens from them.
#[derive(Debug, Default)]
pub struct RequestReader {
    /// A request was seen.
    started: bool,
    /// Raw tokens may come in place of requests.
    tokens: bool,
}

impl RequestReader {
    /// At the start of a connection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether the client may send a raw SASL token next.
    pub fn expects_token(&self) -> bool {
        self.tokens
    }

    /// Reads the next frame of the client, which is without its size. The exchange has no response yet.
    pub fn read(&mut self, time: Duration, bytes: Bytes) -> Exchange {
        self.read_cut(time, bytes, 0)
    }

    /// The same of a frame whose last `missing` bytes were not seen.
    pub(super) fn read_cut(&mut self, time: Duration, bytes: Bytes, missing: usize) -> Exchange {
        let body = bytes.len();
        let mut frame = Frame {
            direction: Direction::Request,
            time,
            bytes: bytes.clone(),
            missing,
            head: None,
            body,
            token: false,
        };
        let first = !std::mem::replace(&mut self.started, true);
        let named = bytes
            .first_chunk()
            .map(|[a, b, c, d]| (ApiKey(i16::from_be_bytes([*a, *b])), i16::from_be_bytes([*c, *d])));
        let known = named.is_some_and(|(api, version)| api.versions().contains(version));
        // Kafka 0.9 takes GSSAPI without a handshake; its first token begins with this byte.
        let token = !known && (self.tokens || (first && bytes.first() == Some(&0x60)));
        self.tokens = token || named == Some((ApiKey::SASL_HANDSHAKE, 0));
        frame.token = token;
        if token {
            return Exchange::of_request(frame, vec![Remark::SaslToken]);
        }
        let Some((api_key, api_version)) = named else {
            let short = format!("{} bytes are too few for a request", bytes.len());
            return Exchange::of_request(frame, vec![Remark::BadHeader(short)]);
        };
        let mut remarks = Vec::new();
        if api_key.versions().is_empty() {
            remarks.push(Remark::UnknownApi(api_key));
        } else if !known {
            remarks.push(Remark::UnknownVersion(api_key, api_version));
        }
        match read_request_header(bytes.clone()) {
            Ok((header, body)) => {
                frame.body -= body.len();
                // The oldest header, of ControlledShutdown version 0, has no client id.
                let has_client_id = !known || api_key.request_header_version(api_version) >= 1;
                let client_id = header.client_id.filter(|_| has_client_id);
                let correlation_id = header.correlation_id;
                frame.head = Some(Head { api_key, api_version, correlation_id, client_id });
            }
            // Of a header that is broken further on, this much is there.
            Err(error) => {
                let id = bytes.get(4..8).and_then(|id| id.first_chunk()).map(|id| i32::from_be_bytes(*id));
                // What is unknown was taken in the newest form; the client id stands at the same place in all of them.
                let header = RequestHeader::from_bytes(bytes, 1);
                let client_id = header.ok().and_then(|header| header.client_id);
                frame.head = id.map(|correlation_id| Head { api_key, api_version, correlation_id, client_id });
                if known {
                    remarks.push(Remark::BadHeader(milena_wire::Report(&error).to_string()));
                }
            }
        }
        Exchange::of_request(frame, remarks)
    }
}

impl Frame {
    /// Whether a response to this request will come. Only what the spec says may go without one is looked into: a Produce
    /// with acks = 0.
    pub fn wants_response(&self) -> bool {
        let Some(head) = &self.head else { return true };
        let Some(rule) = Unanswered::rules().get(&(head.api_key, head.api_version)) else { return true };
        let mut unanswered = false;
        let walked = rule.finder.walk(&self.bytes, self.body, |found| {
            unanswered = found.value == Scalar::Integer(rule.value);
        });
        walked.is_err() || !unanswered
    }
}

/// The field of a request that says that no response is wanted.
struct Unanswered {
    finder: Finder<'static>,
    /// The value that says it.
    value: i64,
}

impl Unanswered {
    /// By API and version. Made once.
    fn rules() -> &'static HashMap<(ApiKey, i16), Self> {
        static RULES: OnceLock<HashMap<(ApiKey, i16), Unanswered>> = OnceLock::new();
        RULES.get_or_init(|| {
            let spec = Spec::kafka();
            let mut rules = HashMap::new();
            for api in &spec.apis {
                let (Some((name, value)), Ok(message)) =
                    (&api.unanswered, spec.message(&format!("{}Request", api.name)))
                else {
                    continue;
                };
                for version in message.versions.iter() {
                    if let Ok(finder) = message.finder(version, |_, field| field.json_name == *name) {
                        let rule = Unanswered { finder: finder.until_last(), value: *value };
                        rules.insert((ApiKey(api.key), version), rule);
                    }
                }
            }
            rules
        })
    }
}

#[cfg(test)]
mod tests {
    use milena_connection::frame_request;
    use milena_messages::{FetchRequest, ProduceRequest, VersionRange};

    use super::*;

    fn read(frame: &[Bytes]) -> Frame {
        let frame = Bytes::from(frame.concat()).slice(4..);
        RequestReader::new().read(Duration::ZERO, frame).request.unwrap()
    }

    #[test]
    fn a_produce_with_acks_0_wants_no_response_at_any_version() {
        for version in VersionRange::new(0, 13).iter() {
            for (acks, wanted) in [(0, false), (1, true), (-1, true)] {
                let transactional_id = (version >= 3).then(|| "letters".into());
                let request = ProduceRequest { acks, transactional_id, ..Default::default() };
                let frame = read(&frame_request(&request, version, 1, None).unwrap());
                assert_eq!(frame.wants_response(), wanted, "version {version}, acks {acks}");
            }
        }
        assert!(read(&frame_request(&FetchRequest::default(), 9, 1, None).unwrap()).wants_response());
        // A Produce that ends after its header.
        let frame = Bytes::from_static(b"\0\0\0\x09\0\0\0\x01\xff\xff\0");
        assert!(RequestReader::new().read(Duration::ZERO, frame).request.unwrap().wants_response());
    }

    #[test]
    fn the_oldest_header_has_no_client_id() {
        // ControlledShutdown version 0 of broker 3.
        let frame = Bytes::from_static(b"\0\x07\0\0\0\0\0\x05\0\0\0\x03");
        let exchange = RequestReader::new().read(Duration::ZERO, frame);
        assert_eq!(exchange.head().unwrap().client_id, None);
        assert_eq!(exchange.request_json().unwrap()["brokerId"], 3);
    }

    #[test]
    fn an_unknown_api_has_its_key_and_client() {
        let frame = Bytes::from_static(b"\x27\x10\0\x02\0\0\0\x07\0\x03foo\x11\x22");
        let exchange = RequestReader::new().read(Duration::ZERO, frame);
        assert_eq!(exchange.remarks, [Remark::UnknownApi(ApiKey(10_000))]);
        let head = exchange.head().unwrap();
        assert_eq!((head.api_key.0, head.api_version, head.correlation_id), (10_000, 2, 7));
        assert_eq!(head.client_id.as_deref(), Some("foo"));
    }
}
