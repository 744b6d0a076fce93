use milena_records::{BatchBuilder, Codec, Control, Header, MessageSetBuilder, Record, Result};
use milena_wire::Bytes;

/// A set that milena's builders wrote, for Kafka to read.
#[derive(Clone, Debug)]
pub struct Ours {
    /// What it is.
    pub name: String,
    /// How it is compressed: other releases of the compressors may give other bytes.
    pub codec: Codec,
    /// The set.
    pub bytes: Bytes,
}

const NOW: i64 = 1_700_000_000_000;

/// Sets of every magic and codec, the same ones every time.
///
/// # Errors
/// Those of the builders.
pub fn our_sets() -> Result<Vec<Ours>> {
    let mut sets = Vec::new();
    for codec in Codec::ALL {
        let shapes = [("few", few()), ("edges", edges()), ("text", text()), ("noise", noise())];
        for (shape, records) in &shapes {
            for magic in 0..=1 {
                if codec == Codec::Zstd {
                    continue;
                }
                for log_append in [false, true] {
                    let mut builder = MessageSetBuilder::new(magic)?.codec(codec).base_offset(1000);
                    if log_append {
                        builder = builder.log_append_time(NOW + 9);
                    }
                    for record in records {
                        builder.push(record)?;
                    }
                    let time = if log_append { "logAppend" } else { "create" };
                    let name = format!("v{magic}/{codec}/{time}/{shape}");
                    sets.push(Ours { name, codec, bytes: builder.build()? });
                }
            }
            for (name, mut builder) in builders() {
                builder = builder.codec(codec);
                for (i, record) in records.iter().enumerate() {
                    let mut record = record.clone();
                    record.headers = headers(i);
                    builder.push(&record)?;
                }
                sets.push(Ours { name: format!("v2/{codec}/{name}/{shape}"), codec, bytes: builder.build()? });
            }
        }
    }
    for control in [
        Control::Abort { coordinator_epoch: 7 },
        Control::Commit { coordinator_epoch: i32::MAX },
        Control::Unknown { type_id: 99, value: Some(b"later") },
    ] {
        let mut builder = BatchBuilder::new().base_offset(5).producer(4000, 1, -1).transactional(true).control(true);
        builder.push(&control.to_record().with_timestamp(NOW))?;
        let name = format!("v2/none/control/{}", control.name());
        sets.push(Ours { name, codec: Codec::None, bytes: builder.build()? });
    }
    let empty = BatchBuilder::new().base_offset(50).last_offset(59).build()?;
    sets.push(Ours { name: "v2/none/empty".to_owned(), codec: Codec::None, bytes: empty });
    Ok(sets)
}

fn builders() -> [(&'static str, BatchBuilder); 4] {
    [
        ("plain", BatchBuilder::new()),
        ("transactional", BatchBuilder::new().producer(1 << 40, 3, i32::MAX - 1).transactional(true)),
        ("log-append", BatchBuilder::new().base_offset(1 << 40).partition_leader_epoch(7).log_append_time(NOW + 9)),
        ("horizon", BatchBuilder::new().delete_horizon(NOW - 5000).last_offset(500)),
    ]
}

fn few() -> Vec<Record> {
    (0..3).map(|i| Record::new(format!("key{i}"), format!("value{i}")).with_timestamp(NOW + i)).collect()
}

fn edges() -> Vec<Record> {
    let parts = [None, Some(Bytes::new()), Some(Bytes::from_static(b"x")), Some(Bytes::from(vec![0; 64]))];
    let pairs = parts.iter().flat_map(|key| parts.iter().map(move |value| (key.clone(), value.clone())));
    pairs
        .enumerate()
        .map(|(i, (key, value))| Record { key, value, timestamp: NOW - 7 * i as i64, ..Record::default() })
        .collect()
}

/// Several blocks of lz4 (64 KiB) and of xerial's snappy (32 KiB), with values across their borders.
fn text() -> Vec<Record> {
    let value = |i: usize| "Všechno, co milena napíše, Kafka přečte. ".repeat(100 + i * 11);
    (0..30).map(|i| Record::new(format!("k{i}"), value(i)).with_timestamp(NOW + i as i64)).collect()
}

/// Nothing that could be compressed, and little of it.
fn noise() -> Vec<Record> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut value = vec![0; 1000];
    for byte in &mut value {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = state as u8;
    }
    vec![Record::from_value(value).with_timestamp(NOW)]
}

fn headers(i: usize) -> Vec<Header> {
    let all = [
        Header::new("a", "1"),
        Header::new("a", "1"),
        Header { key: Bytes::from_static(b"a"), value: None },
        Header::new("", ""),
        Header::new("žluť", "kůň"),
    ];
    all.into_iter().take(i % 6).collect()
}
