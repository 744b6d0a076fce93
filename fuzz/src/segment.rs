use std::io;

use milena_inspect::segment::{JsonLines, quorum_state_json, read_log};
use milena_records::ReadOptions;
use milena_storage::{
    IndexKind, IndexPart, IndexReader, LogContent, LogOptions, LogReader, Options, read_epochs, read_offsets,
    read_producers, read_properties,
};

/// Files of a log folder, each read as every kind that there is: no byte is skipped or reported twice, and every line of
/// JSON is JSON.
pub fn segment(data: &[u8]) {
    // Small limits, so that they are met.
    let log = LogOptions { max_batch: 1 << 16, records: ReadOptions { limit: 1 << 20, ..ReadOptions::default() } };
    let mut end = 0;
    for entry in LogReader::with_options(data, log) {
        let entry = entry.expect("memory can be read");
        assert_eq!(entry.range.start, end, "bytes are passed over");
        assert!(entry.range.end > end, "an entry takes bytes");
        end = entry.range.end;
        match entry.content {
            LogContent::Batch { batch, crc_valid } => {
                assert_eq!(batch.check_crc().is_ok(), crc_valid);
                assert_eq!(batch.size_in_bytes() as u64, entry.range.end - entry.range.start);
                assert_eq!(batch.bytes()[..], data[entry.range.start as usize..entry.range.end as usize]);
            }
            LogContent::Damaged(fault) => assert_eq!(fault.range, entry.range),
            LogContent::Zeros => assert!(data[entry.range.start as usize..].iter().all(|byte| *byte == 0)),
            LogContent::CutOff { .. } => assert_eq!(entry.range.end, data.len() as u64),
        }
    }
    assert_eq!(end, data.len() as u64, "the walk comes to the end");
    for kind in [IndexKind::Offset, IndexKind::Time, IndexKind::Txn] {
        let mut end = 0;
        for part in IndexReader::new(data, kind, 7) {
            let (range, part) = part.expect("memory can be read");
            assert_eq!(range.start, end, "bytes are passed over");
            end = range.end;
            if part == IndexPart::Zeros {
                assert_eq!(end, data.len() as u64);
            }
        }
        assert_eq!(end, data.len() as u64, "the index is read to its end");
    }
    let _ = read_producers(&bytes::Bytes::copy_from_slice(data));
    let _ = (read_epochs(data), read_offsets(data), read_properties(data), quorum_state_json(data).is_ok());
    for tolerant in [false, true] {
        lines(data, &Options { tolerant, log, ..Options::default() });
    }
}

fn lines(data: &[u8], options: &Options) {
    let mut lines = JsonLines::new(Vec::new());
    let mut items = 0;
    let read = read_log(data, options, &mut |item, decoded| {
        items += 1;
        // Many small records in few compressed bytes make very much JSON.
        if items > 10_000 { Err(io::ErrorKind::Other.into()) } else { lines.item(item, decoded) }
    });
    if let Ok(summary) = read {
        assert_eq!(summary.faults == 0, summary.first_fault.is_none());
    }
    let text = String::from_utf8(lines.into_inner()).expect("JSON is text");
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).expect("a line is JSON");
        assert!(line["type"].is_string());
    }
}
