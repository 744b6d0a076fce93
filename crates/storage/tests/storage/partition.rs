//! What a broker does to a partition is no fault, and what it never does is one.

use std::fs;
use std::path::{Path, PathBuf};

use milena_records::{BatchBuilder, BatchMut, Codec, Record};
use milena_storage::{Item, Options, Skipped, verify};

use crate::folder::unpack;

/// Faults by the name of their file, and how many files were not checked.
fn look(path: &Path) -> (Vec<(String, String)>, usize) {
    let (mut faults, mut skipped, mut name) = (Vec::new(), 0, String::new());
    verify(path, &Options::default(), &mut |item| {
        match item {
            Item::File(file) => name = file.path.file_name().unwrap().to_string_lossy().into_owned(),
            Item::Fault(fault) => faults.push((name.clone(), fault.message.clone())),
            Item::Skipped(_) => skipped += 1,
            _ => {}
        }
        Ok(None)
    })
    .unwrap();
    (faults, skipped)
}

fn messages(path: &Path) -> Vec<String> {
    look(path).0.into_iter().map(|(_, message)| message).collect()
}

/// The first offset of each batch of a log and where it begins.
fn batches(log: &[u8]) -> Vec<(i64, usize)> {
    let (mut found, mut at) = (Vec::new(), 0);
    while at < log.len() {
        found.push((i64::from_be_bytes(log[at..at + 8].try_into().unwrap()), at));
        at += 12 + i32::from_be_bytes(log[at + 8..at + 12].try_into().unwrap()) as usize;
    }
    found
}

#[test]
fn a_log_start_that_has_moved_up_is_no_damage() {
    let folder = unpack("4.4-moved", "log-start");
    // Kafka has moved the first leader epoch up to the log start, in the middle of a segment.
    assert_eq!(fs::read_to_string(folder.join("cut-0/leader-epoch-checkpoint")).unwrap(), "0\n1\n0 10\n");
    assert_eq!(fs::read_to_string(folder.join("log-start-offset-checkpoint")).unwrap(), "0\n1\ncut 0 10\n");
    assert_eq!(messages(&folder.join("cut-0")), [""; 0]);
    // The same for a partition that somebody has copied without the checkpoints around it.
    let alone = folder.join("copy/cut-0");
    fs::create_dir_all(alone.parent().unwrap()).unwrap();
    fs::rename(folder.join("cut-0"), &alone).unwrap();
    assert_eq!(messages(&alone), [""; 0]);
    // An epoch that was never there is wrong even so.
    fs::write(alone.join("leader-epoch-checkpoint"), "0\n1\n-1 10\n").unwrap();
    let found = messages(&alone);
    assert!(found.iter().any(|fault| fault == "leader epoch 0, the checkpoint has none at offset 0"), "{found:?}");
}

#[test]
fn what_the_broker_will_delete_is_not_checked() {
    let folder = unpack("4.4-moved", "deleted");
    let (faults, skipped) = look(&folder);
    assert_eq!(faults, []);
    let deleted = |folder: &Path| fs::read_dir(folder).unwrap().count();
    let gone = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
    let gone = gone.filter(|path| path.to_string_lossy().ends_with("-delete")).collect::<Vec<PathBuf>>();
    let ended = |folder: &Path, end: &str| {
        let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(end)).count()
    };
    let tidy = folder.join("tidy-0");
    assert_eq!(skipped, deleted(&gone[0]) + ended(&tidy, ".deleted"));
    assert!(skipped > 20, "{skipped}");
    // Damage in them is nobody's loss, unless the path is theirs.
    let old = tidy.join("00000000000000000004.log.deleted");
    let mut bytes = fs::read(&old).unwrap();
    bytes[70] ^= 1;
    fs::write(&old, bytes).unwrap();
    assert_eq!(messages(&tidy), [""; 0]);
    assert_eq!(messages(&old).len(), 1);
    // A segment that compaction is still writing may end anywhere.
    fs::write(tidy.join("00000000000000000020.log.cleaned"), [0xff; 30]).unwrap();
    assert_eq!(messages(&tidy), [""; 0]);
    assert_eq!(messages(&gone[0]), [""; 0]);
}

/// Compaction writes `.swap` files, deletes what they replace, and renames them at last. A broker may be killed in between.
#[test]
fn a_segment_that_is_swapped_in_replaces_the_live_one() {
    let folder = unpack("4.4-moved", "swap");
    let cut = folder.join("cut-0");
    for ending in ["log", "index", "timeindex"] {
        let name = format!("00000000000000000008.{ending}");
        fs::rename(cut.join(&name), cut.join(format!("{name}.swap"))).unwrap();
    }
    assert_eq!(messages(&cut), [""; 0]);
    fs::remove_file(cut.join("00000000000000000008.log.swap")).unwrap();
    let found = messages(&cut);
    assert!(found.contains(&"offsets 8 to 11 are missing before the next segment".to_owned()), "{found:?}");
}

#[test]
fn a_segment_is_checked_with_the_indexes_beside_it() {
    let folder = unpack("4.4-moved", "single");
    let span = folder.join("span-0");
    for base in [0, 8, 16, 25, 34, 42] {
        assert_eq!(messages(&span.join(format!("{base:020}.log"))), [""; 0], "{base}");
    }
    let mut names = Vec::new();
    let path = span.join("00000000000000000016.log");
    let see = |names: &mut Vec<String>| {
        verify(&path, &Options::default(), &mut |item| {
            if let Item::File(file) = item {
                names.push(file.path.extension().unwrap().to_string_lossy().into_owned());
            }
            Ok(None)
        })
        .unwrap();
    };
    see(&mut names);
    assert_eq!(names, ["log", "index", "timeindex", "txnindex"]);
    let index = path.with_extension("txnindex");
    assert_eq!(messages(&index), [""; 0]);
    let mut bytes = fs::read(&index).unwrap();
    // The producer.
    bytes[9] ^= 1;
    fs::write(&index, bytes).unwrap();
    assert_eq!(look(&path).0[0].0, "00000000000000000016.txnindex");
    assert_eq!(messages(&index).len(), 1);
    // The abort in it has records in an earlier segment, so only the whole folder shows that the index is gone.
    fs::remove_file(&index).unwrap();
    let found = messages(&span);
    assert!(found.iter().any(|fault| fault.ends_with("and no .txnindex has it")), "{found:?}");
}

#[test]
fn transactions_of_several_segments_are_checked_over_the_folder() {
    let folder = unpack("4.4-moved", "span");
    let span = folder.join("span-0");
    let index = span.join("00000000000000000025.txnindex");
    let right = fs::read(&index).unwrap();
    let number = |at: usize| i64::from_be_bytes(right[at..at + 8].try_into().unwrap());
    // Version, producer, first and last offset, last stable offset.
    let (first, last, stable) = (number(10), number(18), number(26));
    assert!(first < 8 && last >= 25 && stable > last - 26, "it begins in the first segment: {first} {last} {stable}");
    for (at, value, expected) in [
        (10, first + 2, format!("the transaction begins at {first}")),
        (10, first - 1, format!("the transaction begins at {first}")),
        (26, stable - 1, format!("the last stable offset after it is {stable}, not {}", stable - 1)),
        (18, last + 1, format!("did not abort at offset {}", last + 1)),
    ] {
        let mut wrong = right.clone();
        wrong[at..at + 8].copy_from_slice(&i64::to_be_bytes(value));
        fs::write(&index, wrong).unwrap();
        let found = messages(&span);
        assert!(found.iter().any(|fault| fault.contains(&expected)), "{expected}: {found:?}");
    }
}

/// Without compaction a segment begins where the one before ends.
#[test]
fn a_segment_that_is_too_short_is_damage() {
    let folder = unpack("4.4-moved", "short");
    let cut = folder.join("cut-0");
    let path = cut.join("00000000000000000004.log");
    let whole = fs::read(&path).unwrap();
    let expected = |from: i64| format!("offsets {from} to 7 are missing before the next segment");
    for (offset, at) in batches(&whole) {
        fs::write(&path, &whole[..at]).unwrap();
        let (faults, _) = look(&cut);
        assert!(faults.contains(&("00000000000000000004.log".to_owned(), expected(offset))), "{offset}: {faults:?}");
        // One segment alone knows where the next begins.
        assert_eq!(messages(&path).contains(&expected(offset)), offset > 4 || at == 0, "{offset}");
    }
    // Cut in the middle of a batch.
    fs::write(&path, &whole[..whole.len() - 7]).unwrap();
    assert!(messages(&cut).contains(&"a batch that is cut off at the end".to_owned()));
    fs::remove_file(&path).unwrap();
    assert!(messages(&cut).contains(&expected(4)));
}

/// Compaction takes records away anywhere, and up to where it has come the checkpoint around the partition says.
#[test]
fn gaps_of_compaction_are_no_damage() {
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("compaction");
    let _ = fs::remove_dir_all(&root);
    let folder = root.join("tidy-0");
    fs::create_dir_all(&folder).unwrap();
    let segment = |base: i64, offsets: &[i64]| {
        let mut file = Vec::new();
        for offset in offsets {
            let mut builder = BatchBuilder::new().codec(Codec::None);
            builder.push(&Record::new("k", "v")).unwrap();
            let mut bytes = builder.build().unwrap().to_vec();
            BatchMut::new(&mut bytes).unwrap().set_base_offset(*offset);
            file.extend_from_slice(&bytes);
        }
        fs::write(folder.join(format!("{base:020}.log")), file).unwrap();
    };
    let cleaned = |line: &str| {
        let count = usize::from(!line.is_empty());
        fs::write(root.join("cleaner-offset-checkpoint"), format!("0\n{count}\n{line}")).unwrap();
    };
    let missing = |from: i64, to: i64| vec![format!("offsets {from} to {to} are missing before the next segment")];
    segment(0, &[0, 1]);
    segment(4, &[4, 5]);
    segment(6, &[6]);
    segment(9, &[9]);
    // Nothing shows compaction.
    assert_eq!(messages(&folder), [missing(2, 3), missing(7, 8)].concat());
    // It has come to offset 6: what is above has to be there.
    cleaned("tidy 0 6\n");
    assert_eq!(messages(&folder), missing(7, 8));
    cleaned("tidy 0 9\n");
    assert_eq!(messages(&folder), [""; 0]);
    cleaned("other 0 9\n");
    assert_eq!(messages(&folder), [missing(2, 3), missing(7, 8)].concat());
    // Without checkpoints a gap inside of a segment shows it.
    segment(4, &[5]);
    assert_eq!(messages(&folder), missing(2, 3).into_iter().chain(missing(7, 8)).collect::<Vec<_>>());
    segment(0, &[0, 2]);
    assert_eq!(messages(&folder), [""; 0]);
}

#[test]
fn a_file_that_was_copied_stands_alone() {
    let folder = unpack("4.4-moved", "copied");
    let cut = folder.join("cut-0");
    fs::copy(cut.join("00000000000000000008.log"), cut.join("copy.log")).unwrap();
    assert_eq!(messages(&cut), [""; 0]);
    assert_eq!(messages(&cut.join("copy.log")), [""; 0]);
    assert_eq!(Skipped::Gone.name(), "gone");
}
