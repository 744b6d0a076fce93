//! What clients say about their writes, and whether the logs agree.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// What clients know of their writes.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    /// Values by topic, partition and offset.
    acknowledged: BTreeMap<(String, i32, i64), String>,
    committed: Vec<Vec<String>>,
    aborted: Vec<Vec<String>>,
    unknown: Vec<Vec<String>>,
    wrong: Vec<String>,
}

/// A record in a log, in the order of its partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Logged {
    pub(super) partition: i32,
    pub(super) offset: i64,
    pub(super) value: String,
}

impl History {
    /// Reads a line of a client.
    pub(super) fn line(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let values = || words[1..].iter().map(|word| (*word).to_owned()).collect();
        match words[..] {
            ["A", topic, partition, offset, value] => {
                let (Ok(partition), Ok(offset)) = (partition.parse(), offset.parse()) else {
                    return self.wrong.push(format!("a client said `{line}`"));
                };
                let place = (topic.to_owned(), partition, offset);
                if let Some(other) = self.acknowledged.insert(place, value.to_owned()) {
                    self.wrong
                        .push(format!("{topic}-{partition} acknowledged offset {offset} for {other} and for {value}"));
                }
            }
            ["C", _, ..] => self.committed.push(values()),
            ["X", _, ..] => self.aborted.push(values()),
            ["U", _, ..] => self.unknown.push(values()),
            _ => self.wrong.push(format!("a client said `{line}`")),
        }
    }

    /// How much was written, by the clients whose names begin like this.
    pub(super) fn count(&self, client: &str) -> (usize, usize) {
        let records = self.acknowledged.values().filter(|value| value.starts_with(client)).count();
        let transactions = self.committed.iter().filter(|values| values[0].starts_with(client)).count();
        (records, transactions)
    }

    pub(super) fn summary(&self) -> String {
        format!(
            "{} records acknowledged; {} transactions committed, {} aborted, {} of which the client does not know",
            self.acknowledged.len(),
            self.committed.len(),
            self.aborted.len(),
            self.unknown.len()
        )
    }

    /// What is not as the responses said. `plain` has all records of that topic, `transactional` those of `tx` that a reader
    /// of committed records gets.
    pub(super) fn check(&self, plain: &[Logged], transactional: &[Logged]) -> Vec<String> {
        let mut wrong = self.wrong.clone();
        let place = |topic: &str, record: &Logged| (topic.to_owned(), record.partition, record.offset);
        let log: HashMap<_, &str> = plain.iter().map(|record| (place("plain", record), &*record.value)).collect();
        for (at, value) in &self.acknowledged {
            let (topic, partition, offset) = at;
            match log.get(at) {
                Some(found) if found == value => {}
                found => wrong.push(format!(
                    "{value} was acknowledged at {topic}-{partition} offset {offset}, which has {found:?}"
                )),
            }
        }
        for (name, log) in [("plain", plain), ("tx", transactional)] {
            let mut seen = BTreeSet::new();
            for record in log.iter().filter(|record| !seen.insert(&record.value)) {
                wrong.push(format!("{} is twice in {name}, the second time at offset {}", record.value, record.offset));
            }
        }
        wrong.extend(out_of_order(plain));
        let there: BTreeSet<&str> = transactional.iter().map(|record| &*record.value).collect();
        let found = |values: &[String]| values.iter().filter(|value| there.contains(value.as_str())).count();
        for values in self.committed.iter().filter(|values| found(values) != values.len()) {
            wrong.push(format!(
                "{} was committed, and {} of its {} records are there",
                values[0],
                found(values),
                values.len()
            ));
        }
        for values in self.aborted.iter().filter(|values| found(values) != 0) {
            wrong.push(format!("{} was aborted, and {} of its records are there", values[0], found(values)));
        }
        for values in self.unknown.iter().filter(|values| ![0, values.len()].contains(&found(values))) {
            wrong.push(format!("of the transaction of {} a part is there: {} records", values[0], found(values)));
        }
        wrong
    }
}

/// Values end with a number that grows: a client writes them to a partition in that order.
fn out_of_order(log: &[Logged]) -> Vec<String> {
    let mut last: HashMap<(i32, &str), u64> = HashMap::new();
    let mut wrong = Vec::new();
    for Logged { partition, offset, value } in log {
        let Some((client, number)) =
            value.rsplit_once('-').and_then(|(client, n)| Some((client, n.parse::<u64>().ok()?)))
        else {
            wrong.push(format!("no client wrote {value}"));
            continue;
        };
        match last.insert((*partition, client), number) {
            Some(before) if before > number => {
                wrong.push(format!("{value} at offset {offset} of plain-{partition} comes after number {before}"));
            }
            _ => {}
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history() -> History {
        let mut history = History::default();
        for line in [
            "A plain 0 0 a-0",
            "A plain 0 1 a-1",
            "A plain 1 0 a-2",
            "C t-1-0 t-1-1 t-1-2",
            "X t-2-0 t-2-1",
            "U t-3-0 t-3-1",
        ] {
            history.line(line);
        }
        history
    }

    fn log(values: &[(i32, i64, &str)]) -> Vec<Logged> {
        let record =
            |&(partition, offset, value): &(i32, i64, &str)| Logged { partition, offset, value: value.to_owned() };
        values.iter().map(record).collect()
    }

    const PLAIN: [(i32, i64, &str); 3] = [(0, 0, "a-0"), (0, 1, "a-1"), (1, 0, "a-2")];
    const TX: [(i32, i64, &str); 3] = [(0, 0, "t-1-0"), (1, 0, "t-1-1"), (2, 0, "t-1-2")];

    #[test]
    fn a_log_that_agrees_is_right() {
        assert_eq!(history().check(&log(&PLAIN), &log(&TX)), [""; 0]);
        // A record that nobody acknowledged may be there, and a transaction of which nobody knows, as a whole.
        let plain = [&PLAIN[..], &[(1, 1, "a-3")]].concat();
        let tx = [&TX[..], &[(0, 5, "t-3-0"), (1, 5, "t-3-1")]].concat();
        assert_eq!(history().check(&log(&plain), &log(&tx)), [""; 0]);
    }

    #[test]
    fn what_is_wrong_is_found() {
        let plain = |found: &[(i32, i64, &str)]| history().check(&log(found), &log(&TX));
        let tx = |found: &[(i32, i64, &str)]| history().check(&log(&PLAIN), &log(found));
        for (what, wrong, text) in [
            ("lost", plain(&[PLAIN[0], PLAIN[2]]), "a-1 was acknowledged at plain-0 offset 1, which has None"),
            ("moved", plain(&[PLAIN[0], (0, 1, "a-9"), PLAIN[2]]), "a-1 was acknowledged at plain-0 offset 1"),
            ("twice", plain(&[&PLAIN[..], &[(1, 1, "a-2")]].concat()), "a-2 is twice in plain"),
            ("order", plain(&[&PLAIN[..], &[(0, 2, "b-5"), (0, 3, "b-4")]].concat()), "comes after number 5"),
            ("foreign", plain(&[&PLAIN[..], &[(0, 2, "hello")]].concat()), "no client wrote hello"),
            ("torn", tx(&TX[..2]), "t-1-0 was committed, and 2 of its 3 records are there"),
            (
                "aborted",
                tx(&[&TX[..], &[(0, 5, "t-2-1")]].concat()),
                "t-2-0 was aborted, and 1 of its records are there",
            ),
            ("half", tx(&[&TX[..], &[(0, 5, "t-3-1")]].concat()), "of the transaction of t-3-0 a part is there"),
        ] {
            assert!(wrong.len() == 1 && wrong[0].contains(text), "{what}: {wrong:?}");
        }
        let mut twice = history();
        twice.line("A plain 0 0 b-0");
        assert!(twice.check(&log(&PLAIN), &log(&TX)).iter().any(|wrong| wrong.contains("for a-0 and for b-0")));
    }
}
