//! Compressed payloads made by other implementations: read as Kafka reads them, or refused as Kafka refuses them.

use milena_records::{Codec, ErrorKind};

fn content(times: usize) -> Vec<u8> {
    let one: Vec<u8> = b"milena ".repeat(300).into_iter().chain(0..=255).collect();
    one.repeat(times)
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).expect("hex")).collect()
}

fn vectors() -> impl Iterator<Item = (Codec, &'static str, &'static str, Vec<u8>)> {
    include_str!("vectors/codecs.txt").lines().filter(|line| !line.starts_with('#')).map(|line| {
        let parts: Vec<&str> = line.split(' ').collect();
        (parts[0].parse().expect("a codec"), parts[1], parts[2], unhex(parts[3]))
    })
}

#[test]
fn payloads_of_others_get_the_verdict_of_kafka() {
    for (codec, name, verdict, bytes) in vectors().filter(|(codec, ..)| codec.is_available()) {
        let read = codec.decompress(&bytes, 1 << 20);
        match verdict.parse() {
            Ok(times) => assert_eq!(read.as_deref(), Ok(&content(times)[..]), "{codec} {name}"),
            Err(_) => {
                assert_eq!(
                    read.map(|bytes| bytes.len()).map_err(|error| error.kind()),
                    Err(ErrorKind::Malformed),
                    "{codec} {name}"
                );
            }
        }
    }
}

#[test]
fn a_limit_is_met_to_the_byte() {
    let data = content(200);
    for codec in Codec::ALL.into_iter().filter(|codec| codec.is_available()) {
        let compressed = codec.compress(&data, None).unwrap();
        assert_eq!(codec.decompress(&compressed, data.len()).unwrap(), data, "{codec}");
        let error = codec.decompress(&compressed, data.len() - 1).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{codec}");
    }
}

#[test]
fn every_size_and_level_comes_back() {
    let noise: Vec<u8> =
        (0..70_000u64).map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8).chain(content(30)).collect();
    for codec in Codec::ALL.into_iter().filter(|codec| codec.is_available()) {
        for size in [0, 1, 15, 32_767, 32_768, 65_535, 65_536, 65_537, noise.len()] {
            for level in [None, Some(1), Some(9)] {
                let compressed = codec.compress(&noise[..size], level).unwrap();
                let read = codec.decompress(&compressed, 1 << 20);
                if size == 0 && codec == Codec::Snappy {
                    // Sixteen bytes of header and no block.
                    assert_eq!(compressed.len(), 16);
                }
                assert_eq!(read.as_deref(), Ok(&noise[..size]), "{codec} {size} {level:?}");
            }
        }
    }
}

#[test]
fn levels_that_do_not_exist_are_refused() {
    for (codec, level) in [(Codec::Gzip, 0), (Codec::Gzip, 10), (Codec::Lz4, 18), (Codec::Zstd, 23)] {
        if codec.is_available() {
            assert_eq!(
                codec.compress(b"x", Some(level)).unwrap_err().kind(),
                ErrorKind::InvalidValue,
                "{codec} {level}"
            );
        }
    }
    if Codec::Gzip.is_available() {
        assert_eq!(Codec::Gzip.compress(b"x", Some(-1)), Codec::Gzip.compress(b"x", None));
    }
}

#[test]
fn a_codec_left_out_says_so() {
    for codec in Codec::ALL.into_iter().filter(|codec| !codec.is_available()) {
        assert_eq!(codec.compress(b"x", None).unwrap_err().kind(), ErrorKind::UnsupportedCodec);
        assert_eq!(codec.decompress(b"x", 1).unwrap_err().kind(), ErrorKind::UnsupportedCodec);
    }
}

#[test]
fn names_and_ids_are_those_of_kafka() {
    let names = ["none", "gzip", "snappy", "lz4", "zstd"];
    for (codec, (id, name)) in Codec::ALL.into_iter().zip((0..).zip(names)) {
        assert_eq!((codec.id(), codec.to_string().as_str()), (id, name));
        assert_eq!((Codec::from_id(id), name.parse()), (Some(codec), Ok(codec)));
    }
    assert_eq!(Codec::from_id(5), None);
    assert!("GZIP".parse::<Codec>().is_err());
}

#[test]
fn payloads_cut_or_changed_anywhere_never_panic_nor_grow() {
    for (codec, name, _, bytes) in vectors().filter(|(codec, ..)| codec.is_available()) {
        for at in 0..bytes.len().min(400) {
            let _ = codec.decompress(&bytes[..at], 1 << 16);
            let mut changed = bytes.clone();
            for bit in 0..8 {
                changed[at] = bytes[at] ^ 1 << bit;
                if let Ok(read) = codec.decompress(&changed, 1 << 16) {
                    assert!(read.len() <= 1 << 16, "{codec} {name}");
                }
            }
        }
    }
}
