//! Long inputs are read a batch at a time, whatever their name and wherever they come from.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use common::milena;

/// More than the address space that a call gets, in KiB.
const INPUT: u64 = 96 << 10;
const LIMIT: u64 = 80 << 10;

/// The same batch of 50 records again and again, each with the offsets that follow. No checksum covers the offset.
fn file(name: &str) -> (PathBuf, u64) {
    let value = "Milena ".repeat(300);
    let record = format!(r#"{{"value":"{}"}}"#, base64(value.as_bytes()));
    let records = vec![record; 50].join(",");
    let question = format!(r#"{{"op":"build","codec":"none","records":[{records}]}}"#);
    let outcome = milena(&["codec"], question.as_bytes());
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let answer: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
    let hex = answer["hex"].as_str().unwrap();
    let mut batch: Vec<u8> =
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut out = File::create(&path).unwrap();
    let (mut written, mut batches) = (0, 0);
    while written < INPUT << 10 {
        batch[..8].copy_from_slice(&(50 * batches as i64).to_be_bytes());
        out.write_all(&batch).unwrap();
        written += batch.len() as u64;
        batches += 1;
    }
    (path, batches)
}

fn base64(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

#[test]
fn memory_does_not_grow_with_the_input() {
    let (path, batches) = file("streaming.of-no-known-name");
    let segment = path.with_file_name("00000000000000000000.log");
    let _ = fs::remove_file(&segment);
    fs::hard_link(&path, &segment).unwrap();
    let (odd, named) = (path.to_str().unwrap(), segment.to_str().unwrap());
    let calls: [(&[&str], bool, u64); 6] = [
        (&["--records", "--json", odd], false, batches),
        (&["--records", odd], false, 54 * batches - 1),
        (&["--json", odd], false, batches),
        (&["--records", "--json"], true, batches),
        (&["--json", "-"], true, batches),
        (&["--json", named], false, 51 * batches + 1),
    ];
    for (args, from_stdin, lines) in calls {
        let mut child = Command::new("sh")
            .args(["-c", &format!("ulimit -v {LIMIT}; exec \"$@\""), "sh", env!("CARGO_BIN_EXE_milena"), "decode"])
            .args(args)
            .stdin(if from_stdin { Stdio::from(File::open(&path).unwrap()) } else { Stdio::null() })
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut out, mut found, mut chunk) = (child.stdout.take().unwrap(), 0, vec![0; 1 << 20]);
        loop {
            match out.read(&mut chunk).unwrap() {
                0 => break,
                read => found += chunk[..read].iter().filter(|byte| **byte == b'\n').count() as u64,
            }
        }
        assert!(child.wait().unwrap().success(), "{args:?}");
        assert_eq!(found, lines, "{args:?}");
    }
    fs::remove_file(path).unwrap();
    fs::remove_file(segment).unwrap();
}
