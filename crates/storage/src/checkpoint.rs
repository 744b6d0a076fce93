use crate::fault::Fault;

/// A line of a `leader-epoch-checkpoint`: where a leader began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEntry {
    /// The leader's epoch (KIP-101).
    pub epoch: i32,
    /// The first offset that it could write.
    pub start_offset: i64,
}

/// A line of a checkpoint of offsets, such as `replication-offset-checkpoint`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetOf {
    /// The topic.
    pub topic: String,
    /// Which one of the topic, from 0.
    pub partition: i32,
    /// What is recorded of it; the file's name says what for.
    pub offset: i64,
}

/// The only version of checkpoints.
const CHECKPOINT: &str = "0";

/// Reads a `leader-epoch-checkpoint`. The second value is what is wrong with the other lines. An empty file has
/// no entries: that is how a broker makes one.
pub fn read_epochs(text: &[u8]) -> (Vec<EpochEntry>, Vec<Fault>) {
    checkpoint(text, |line| {
        let (epoch, start_offset) = line.split_once(' ')?;
        Some(EpochEntry { epoch: epoch.parse().ok()?, start_offset: start_offset.trim().parse().ok()? })
    })
}

/// Reads a checkpoint of offsets. The second value is what is wrong with the other lines.
pub fn read_offsets(text: &[u8]) -> (Vec<OffsetOf>, Vec<Fault>) {
    checkpoint(text, |line| {
        let mut words = line.split(' ');
        let (topic, partition, offset) = (words.next()?, words.next()?, words.next()?);
        let entry = OffsetOf {
            topic: topic.to_owned(),
            partition: partition.parse().ok()?,
            offset: offset.trim().parse().ok()?,
        };
        words.next().is_none().then_some(entry)
    })
}

/// The content of a `leader-epoch-checkpoint`.
pub fn write_epochs(epochs: &[EpochEntry]) -> String {
    write(epochs.iter().map(|EpochEntry { epoch, start_offset }| format!("{epoch} {start_offset}")))
}

/// The content of a checkpoint of offsets.
pub fn write_offsets(offsets: &[OffsetOf]) -> String {
    write(offsets.iter().map(|OffsetOf { topic, partition, offset }| format!("{topic} {partition} {offset}")))
}

fn write(lines: impl ExactSizeIterator<Item = String>) -> String {
    let mut text = format!("{CHECKPOINT}\n{}\n", lines.len());
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

/// A version, a count, and as many lines.
fn checkpoint<T>(text: &[u8], parse: impl Fn(&str) -> Option<T>) -> (Vec<T>, Vec<Fault>) {
    let (mut entries, mut faults, mut count) = (Vec::new(), Vec::new(), None);
    let mut at = 0;
    for (index, line) in text.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let range = at as u64..(at + line.len()) as u64;
        at += line.len();
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches(['\n', '\r']);
        match index {
            0 if line == CHECKPOINT => {}
            0 => {
                faults.push(Fault::malformed(range, format!("version {line:?}, there is {CHECKPOINT}")));
                return (entries, faults);
            }
            1 => match line.parse::<usize>() {
                Ok(number) => count = Some(number),
                Err(_) => faults.push(Fault::malformed(range, format!("{line:?} is no count of lines"))),
            },
            _ => match parse(line) {
                Some(entry) => entries.push(entry),
                None if line.is_empty() => {}
                None => faults.push(Fault::malformed(range, format!("{line:?} is no entry"))),
            },
        }
    }
    let end = text.len() as u64;
    match count {
        None if faults.is_empty() && end > 0 => {
            faults.push(Fault::malformed(end..end, "cut off before the count of lines"))
        }
        Some(count) if count != entries.len() => {
            let message = format!("{} entries, the file counts {count}", entries.len());
            faults.push(Fault::malformed(end..end, message));
        }
        _ => {}
    }
    (entries, faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkpoints_are_read_as_kafka_writes_them() {
        let (epochs, faults) = read_epochs(b"0\n2\n0 0\n3 1100\n");
        let entry = |epoch, start_offset| EpochEntry { epoch, start_offset };
        assert_eq!((epochs, faults), (vec![entry(0, 0), entry(3, 1100)], vec![]));
        let (offsets, faults) = read_offsets(b"0\n1\n__transaction_state 2 37\n");
        let entry = OffsetOf { topic: "__transaction_state".into(), partition: 2, offset: 37 };
        assert_eq!((offsets, faults), (vec![entry], vec![]));
        assert_eq!(read_offsets(b"0\n0\n"), (vec![], vec![]));
    }

    #[test]
    fn faults_of_a_checkpoint_are_reported() {
        let wrong = |text: &[u8]| {
            let (read, faults) = read_offsets(text);
            (read.len(), faults.iter().map(|fault| fault.message.clone()).collect::<Vec<_>>())
        };
        assert_eq!(wrong(b""), (0, vec![]));
        assert_eq!(wrong(b"0\n"), (0, vec!["cut off before the count of lines".into()]));
        assert_eq!(wrong(b"7\n1\na 0 0\n"), (0, vec!["version \"7\", there is 0".into()]));
        assert_eq!(wrong(b"0\n2\na 0 0\n"), (1, vec!["1 entries, the file counts 2".into()]));
        assert_eq!(
            wrong(b"0\n2\na 0 0\nb c d\n"),
            (1, vec!["\"b c d\" is no entry".into(), "1 entries, the file counts 2".into()])
        );
    }
}
