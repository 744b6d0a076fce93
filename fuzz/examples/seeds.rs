//! Writes the seeds that come from elsewhere in the repository: `cargo run --no-default-features --example seeds`.
//! Those that fuzzing found are left alone; their names begin with `found-`.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use milena_fuzz::pair;

/// Larger ones are left out: a fuzzer does better with small ones.
const MOST: usize = 700;

fn main() -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let seeds = Seeds(root.join("seeds"));
    seeds.records(&fs::read_to_string(root.join("../crates/records/tests/vectors/kafka-python.txt"))?)?;
    seeds.codecs(&fs::read_to_string(root.join("../crates/records/tests/vectors/codecs.txt"))?)?;
    seeds.messages(&fs::read_to_string(root.join("../conformance/vectors/first.txt"))?)?;
    seeds.specs(&root.join("../spec"))?;
    seeds.inspect()?;
    for name in ["kafka-4.4.pcap", "kafka-0.10.2.pcap", "kafka-2.8.pcapng"] {
        seeds.captures(name, &fs::read(root.join("../crates/inspect/tests/capture/kafka").join(name))?)?;
    }
    seeds.by_hand()
}

struct Seeds(PathBuf);

impl Seeds {
    fn write(&self, target: &str, name: &str, bytes: &[u8]) -> io::Result<()> {
        if bytes.len() > MOST {
            return Ok(());
        }
        let folder = self.0.join(target);
        fs::create_dir_all(&folder)?;
        fs::write(folder.join(name), bytes)
    }

    fn records(&self, text: &str) -> io::Result<()> {
        for line in lines(text) {
            let (name, hex) = line.split_once(' ').expect("name and bytes");
            self.write("records_read", name, &bytes(hex))?;
            if name.starts_with("v0") || name.starts_with("v1") {
                self.write("legacy", name, &bytes(hex))?;
            }
        }
        Ok(())
    }

    fn codecs(&self, text: &str) -> io::Result<()> {
        for line in lines(text) {
            let [codec, name @ .., _, hex] = &line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("not a payload: {line}");
            };
            self.write(&format!("codec_{codec}"), &name.join("-"), &bytes(hex))?;
        }
        Ok(())
    }

    /// The first packets: a handshake and a request.
    fn captures(&self, name: &str, file: &[u8]) -> io::Result<()> {
        let ng = name.ends_with("ng");
        let mut end = if ng { 0 } else { 24 };
        let mut start = file[..end].to_vec();
        // Of pcapng a section and two interfaces stand in front of them.
        for _ in 0..if ng { 7 } else { 5 } {
            let length = |at: usize, head: usize| -> usize {
                let bytes: [u8; 4] = file[at..at + 4].try_into().expect("a length");
                if ng { u32::from_be_bytes(bytes) as usize } else { head + u32::from_le_bytes(bytes) as usize }
            };
            let length = if ng { length(end + 4, 0) } else { length(end + 8, 16) };
            start.extend(&file[end..end + length]);
            end += length;
        }
        self.write("capture", name, &start)
    }

    /// The first vectors of each message, and those with the most in them.
    fn messages(&self, text: &str) -> io::Result<()> {
        for (index, line) in lines(text).enumerate() {
            let [name, version, _, hex, json] = line.split('\t').collect::<Vec<_>>()[..] else {
                panic!("not a vector: {line}");
            };
            let pair = pair(name, version.parse().expect("a version")).expect("a message of the spec");
            let file = format!("{name}-v{version}-{index}");
            let bytes = bytes(hex);
            self.write("message", &file, &[&pair, &bytes[..]].concat())?;
            if index % 3 == 0 {
                self.write("schema", &file, &[&pair, &bytes[..]].concat())?;
                self.write("json", &file, &[&pair, json.as_bytes()].concat())?;
            }
            if let (Some(api), 1) = (key(name), index % 3) {
                // Version, correlation id 7, client id "x", no tags: right for some versions, and near for the others.
                let version: u8 = version.parse().expect("a small version");
                let header = [0, api, 0, version, 0, 0, 0, 7, 0, 1, b'x', 0];
                self.write("headers", &file, &[&header, &bytes[..]].concat())?;
            }
        }
        Ok(())
    }

    fn specs(&self, spec: &Path) -> io::Result<()> {
        for folder in ["messages", "records", "."] {
            for entry in fs::read_dir(spec.join(folder))? {
                let path = entry?.path();
                if path.extension().is_some_and(|extension| extension == "kafka") {
                    let text = fs::read_to_string(&path)?;
                    // A whole file is long for a fuzzer: each begins in the same way and is complete up to any line.
                    let end = text.lines().scan(0, |end, line| {
                        *end += line.len() + 1;
                        Some(*end)
                    });
                    let end = end.take_while(|end| *end <= MOST).last().unwrap_or_default();
                    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                    self.write("spec", &name, &text.as_bytes()[..end])?;
                }
            }
        }
        Ok(())
    }

    fn inspect(&self) -> io::Result<()> {
        let request = bytes("00120000000000010004 72756e65".replace(' ', "").as_str());
        let answer = bytes("00000001000000000000");
        let handshake = bytes("00110000 00000001 ffff 0005 504c41494e".replace(' ', "").as_str());
        let produce = bytes("00000003 00000001 ffff ffff 0000 000003e8 00000000".replace(' ', "").as_str());
        let sized = |frame: &[u8]| [&(frame.len() as i32).to_be_bytes(), frame].concat();
        let both = [sized(&request), sized(&answer)].concat();
        self.write("inspect_stream", "both", &both)?;
        self.write("inspect_stream", "answer", &sized(&answer))?;
        self.write("inspect_stream", "request", &request)?;
        self.write("inspect_stream", "cut-off", &both[..both.len() - 3])?;
        self.write("inspect_stream", "tokens", &[sized(&handshake), sized(b"\0user\0secret"), sized(b"")].concat())?;
        self.write("inspect_stream", "http", b"GET / HTTP/1.1\r\n\r\n")?;
        // The lowest bit is the direction, the others are the length.
        let step = |frame: &[u8], answer: u8| [&[(frame.len() as u8) << 1 | answer], frame].concat();
        self.write("inspect_conversation", "both", &[step(&request, 0), step(&answer, 1)].concat())?;
        self.write("inspect_conversation", "acks-0", &step(&produce, 0))?;
        let tokens = [step(&handshake, 0), step(b"\0user\0secret", 0), step(b"", 1), step(&request, 0)].concat();
        self.write("inspect_conversation", "tokens", &tokens)?;
        for (name, text) in [
            ("plain", "0000000e 0012 0000"),
            ("xxd", "00000000: 0012 ff61                                ...a\n"),
            ("hexdump", "00000000  00 12 ff 61                                       |...a|\n*\n00000020\n"),
            ("words", "0000000 0012 61ff\n0000004\n"),
            ("od", "0000000 00 12 ff 61\n0000004\n"),
            ("tcpdump", "IP a > b\n\t0x0000:  0012 ff61                                ...a\n"),
            ("wireshark", "0000   00 12 ff 61                                       ...a\n"),
            ("array", "/* packet */ char p[] = { 0x00, 0x12 }; // end"),
            ("numbers", "[0, 18, -1]"),
            ("base64", "ABL/YQ=="),
            ("python", "b'\\x00\\x12abc\\n'"),
            ("octal", "\\0\\022\\377"),
            ("java", "\"\\u0000\\u00ff\""),
        ] {
            self.write("inspect_text", name, text.as_bytes())?;
        }
        let line = r#"{"time":"2024-05-01T12:30:59.25Z","connection":1,"direction":"request","frame":"ABIAAA=="}"#;
        self.write("inspect_trace", "line", line.as_bytes())?;
        self.write("inspect_trace", "two", format!("{line}\n\n{line}\n").as_bytes())?;
        for (name, hex) in [
            ("subscription", "0001 00000001 0001 74 ffffffff 00000001 0001 74 00000001 00000005"),
            ("assignment", "0000 00000001 0001 74 00000001 00000005 ffffffff"),
            ("connect", "0002 0008 687474703a2f2f61 0000000000000007 ffffffff"),
            ("connect-assignment", "0001 0000 0001 6c 0001 75 0000000000000007 00000000 ffffffff 00000000"),
            ("sticky", "00000001 0001 74 00000001 00000000 00000005"),
            ("streams", "00000001 00000000000000000000000000000001 00000000 00000000"),
        ] {
            self.write("inspect_blob", name, &bytes(&hex.replace(' ', "")))?;
        }
        for (name, hex) in [
            ("offset", "00 0c 0001 0001 67 0001 74 00000003 0003 000000000000002a 00000007 0000 000001a22bc9b40b"),
            ("group", "00 05 0002 0001 67 0003 0001 63 00000001 ffff ffff 0000000000000001 00000000"),
            (
                "redpanda",
                "00 05 0002 0001 67 0000 0001 63 00000001 ffff ffff 00000001 0000 0001 6d 0000 0000 00000001 00000000 00000000",
            ),
            ("transaction", "01 06 0000 0002 7478"),
            ("share", "02 19 0000 0001 73 00000000000000000000000000000007 00000001"),
            ("topic", "03 00 01 02 00 02 74 00000000000000000000000000000007 00"),
            (
                "remote",
                "04 00 01 02 00 02 74 00000000000000000000000000000007 00000003 00 00000001 0000000000000001 02 00",
            ),
        ] {
            self.write("inspect_topic", name, &bytes(&hex.replace(' ', "")))?;
        }
        Ok(())
    }

    fn by_hand(&self) -> io::Result<()> {
        let metadata = [0, 0, 0, 15, 0, 3, 0, 5, 0, 0, 0, 7, 0, 1, b'x', 0, 0, 0, 0];
        let versions = [0, 0, 0, 14, 0, 18, 0, 99, 0, 0, 0, 7, 0, 1, b'x', 0, 0xff, 0xff];
        let refusal = [0, 0, 0, 16, 0, 0, 0, 0, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 4];
        let answer = [0, 0, 0, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        for (name, mode, stream) in [
            ("requests", 0u8, [&metadata[..], &versions].concat()),
            ("served", 1, [&versions[..], &metadata].concat()),
            ("refusal", 2, refusal.to_vec()),
            ("answer", 4, answer.to_vec()),
            ("http", 0, b"GET / HTTP/1.1\r\n\r\n".to_vec()),
            ("tls", 0, vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3]),
        ] {
            self.write("connection", name, &[&[mode, 3, 1, 5, 2][..], &stream].concat())?;
        }
        let records = [0x07, 0x88, 2, b'k', b'1', 3, b'v', b'v', b'v', 0x44, 1, b'k', 1, b'v', 1, b'h', 1, b'w', 3];
        self.write("records_write", "records", &records)?;
        self.write("records_write", "one", &[0])?;
        for (name, text) in [
            ("uuid", "lYvkPXqTRVK9V2hq9v0W_Q"),
            ("range", "0-3"),
            ("open", "5+"),
            ("none", "none"),
            ("api", "Fetch"),
            ("error", "NOT_COORDINATOR"),
            ("number", "-1"),
            ("codec", "zstd"),
        ] {
            self.write("text", name, text.as_bytes())?;
        }
        self.write("codecs", "text", "milena ".repeat(30).as_bytes())?;
        self.write("codecs", "bytes", &(0..=255).collect::<Vec<u8>>())
    }
}

fn key(request: &str) -> Option<u8> {
    let name = request.strip_suffix("Request").or_else(|| request.strip_suffix("Response"))?;
    let api: milena::messages::ApiKey = name.parse().ok()?;
    u8::try_from(api.0).ok()
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#') && !line.is_empty())
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).expect("hex")).collect()
}
