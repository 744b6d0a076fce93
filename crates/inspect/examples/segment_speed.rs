//! How fast a segment is read, and what memory that takes: `cargo xtask bench segment FILE`.
//!
//! Without a file it makes one of so many MiB: `cargo xtask bench segment --size 1024`.

mod clock;

use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use milena_inspect::segment::{JsonLines, read, verify};
use milena_records::{BatchBuilder, BatchMut, Codec, Record};
use milena_storage::Options;

use clock::Clock;

const MIB: u64 = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (path, made) = match args.as_slice() {
        [] => (make(64)?, true),
        ["--size", mib] => (make(mib.parse()?)?, true),
        [path] if !path.starts_with('-') => (PathBuf::from(path), false),
        _ => return Err("expected a file, or --size and a number of MiB, or nothing".into()),
    };
    let result = measure(&path);
    if made {
        std::fs::remove_file(&path)?;
    }
    result
}

fn measure(path: &Path) -> Result<(), Box<dyn Error>> {
    let size = std::fs::metadata(path)?.len();
    println!("{} MiB, best of 3 runs, {}:", size / MIB, Clock::start().name());
    let headers = Options { headers_only: true, ..Options::default() };
    let all = Options::default();
    for (what, options, is_verified) in
        [("headers only", &headers, false), ("verify", &all, true), ("JSON lines", &all, false)]
    {
        let mut best = f64::INFINITY;
        for _ in 0..3 {
            let mut lines = JsonLines::new(BufWriter::with_capacity(64 << 10, io::sink()));
            let begun = Clock::start();
            let summary = match is_verified {
                true => verify(path, options, &mut |item, decoded| lines.item(item, decoded))?,
                false => read(path, options, &mut |item, decoded| lines.item(item, decoded))?,
            };
            lines.flush()?;
            best = best.min(begun.seconds());
            if let Some(fault) = summary.first_fault {
                return Err(fault.into());
            }
        }
        println!("{what:<14}{:>8.0} MB/s", size as f64 / 1e6 / best);
    }
    if let Some(peak) = peak()? {
        println!("{:<14}{peak:>8} kB", "peak memory");
    }
    Ok(())
}

/// Most memory that was resident, where the system tells.
fn peak() -> Result<Option<u64>, Box<dyn Error>> {
    let Ok(status) = std::fs::read_to_string("/proc/self/status") else { return Ok(None) };
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    Ok(line.map(|line| line.trim().trim_end_matches(" kB").parse()).transpose()?)
}

/// A segment of batches of 100 records of 100 bytes, a quarter of them of each codec but for gzip.
fn make(mib: u64) -> Result<PathBuf, Box<dyn Error>> {
    let path = std::env::temp_dir().join(format!("00000000000000000000.{}.log", std::process::id()));
    let mut out = BufWriter::new(File::create(&path)?);
    let (mut written, mut offset, mut seed) = (0, 0, 1u64);
    while written < mib * MIB {
        let codec = [Codec::None, Codec::Snappy, Codec::Lz4, Codec::Zstd][(offset / 100 % 4) as usize];
        let mut builder = BatchBuilder::new().codec(codec);
        for index in 0..100 {
            // Half of each value is noise, so that there is something left to compress.
            let mut value = format!("{:0>50}", offset + index).into_bytes();
            for _ in 0..7 {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                value.extend_from_slice(&seed.to_be_bytes()[..7]);
            }
            builder
                .push(&Record::new(format!("key-{}", index % 10), value).with_timestamp(1_700_000_000_000 + offset))?;
        }
        let mut bytes = builder.build()?.to_vec();
        BatchMut::new(&mut bytes)?.set_base_offset(offset);
        out.write_all(&bytes)?;
        written += bytes.len() as u64;
        offset += 100;
    }
    out.flush()?;
    Ok(path)
}
