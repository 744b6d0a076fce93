use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use milena_messages::{ApiKey, Bytes, Message, Request, RequestHeader, ResponseHeader, Struct};
use milena_wire::{Reader, Writer};

/// A client of a few lines: one connection, one request at a time.
pub(crate) struct Client {
    pub(crate) socket: TcpStream,
    pub(crate) correlation_id: i32,
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        Self { socket, correlation_id: 0 }
    }

    pub(crate) fn write(&mut self, api: ApiKey, version: i16, body: &[u8]) {
        self.correlation_id += 1;
        let header = RequestHeader {
            request_api_key: api,
            request_api_version: version,
            correlation_id: self.correlation_id,
            client_id: Some("sockets".into()),
            ..Default::default()
        };
        let mut writer = Writer::new();
        writer.i32(0);
        header.write(&mut writer, api.request_header_version(version)).unwrap();
        writer.raw(body);
        writer.patch_i32(0, writer.len() as i32 - 4);
        self.socket.write_all(&writer.into_bytes()).unwrap();
    }

    pub(crate) fn send<R: Request>(&mut self, request: &R, version: i16) {
        self.write(R::API_KEY, version, &request.to_bytes(version).unwrap());
    }

    /// Sends a frame as it is.
    pub(crate) fn write_raw(&mut self, frame: &[u8]) {
        let size = (frame.len() as u32).to_be_bytes();
        self.socket.write_all(&[&size, frame].concat()).unwrap();
    }

    /// The next frame; `None` when the broker closed the connection.
    pub(crate) fn read(&mut self) -> Option<Bytes> {
        let mut size = [0; 4];
        match self.socket.read(&mut size[..1]) {
            Ok(0) => return None,
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::ConnectionReset => return None,
            Err(error) => panic!("{error}"),
        }
        self.socket.read_exact(&mut size[1..]).unwrap();
        let mut frame = vec![0; u32::from_be_bytes(size) as usize];
        self.socket.read_exact(&mut frame).unwrap();
        Some(frame.into())
    }

    pub(crate) fn receive<R: Request>(&mut self, version: i16) -> R::Response {
        let mut reader = Reader::new(self.read().expect("a response"));
        let header = ResponseHeader::read(&mut reader, R::API_KEY.response_header_version(version)).unwrap();
        assert_eq!(header.correlation_id, self.correlation_id);
        let response = R::Response::decode(&mut reader, version).unwrap();
        assert_eq!(reader.remaining(), 0);
        response
    }

    /// Sends a request and reads its response.
    pub(crate) fn call<R: Request>(&mut self, request: &R, version: i16) -> R::Response {
        self.send(request, version);
        self.receive::<R>(version)
    }
}
