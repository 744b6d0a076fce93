use milena_wire::Uuid;

use crate::fault::Fault;

/// Reads `meta.properties` (`name=value`, escaped as Java does) and `partition.metadata` (`name: value`).
pub fn read_properties(text: &[u8]) -> (Vec<(String, String)>, Vec<Fault>) {
    let (mut properties, mut faults) = (Vec::new(), Vec::new());
    let mut at = 0;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let range = at as u64..(at + line.len()) as u64;
        at += line.len();
        let Ok(line) = std::str::from_utf8(line) else {
            faults.push(Fault::malformed(range, "a line that is not UTF-8"));
            continue;
        };
        let line = line.trim();
        if line.is_empty() || line.starts_with(['#', '!']) {
            continue;
        }
        match line.split_once(['=', ':']) {
            Some((name, value)) => properties.push((name.trim().to_owned(), unescape(value.trim()))),
            None => faults.push(Fault::malformed(range, format!("{line:?} is no property"))),
        }
    }
    (properties, faults)
}

/// The content of a `partition.metadata`, which names the id of the topic (KIP-516).
pub fn write_partition_metadata(topic_id: Uuid) -> String {
    format!("version: 0\ntopic_id: {topic_id}")
}

/// Java puts a backslash in front of `:`, `=`, `#` and `!` in values.
fn unescape(value: &str) -> String {
    let mut chars = value.chars();
    let mut text = String::with_capacity(value.len());
    while let Some(c) = chars.next() {
        text.push(if c == '\\' { chars.next().unwrap_or(c) } else { c });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_are_those_of_java() {
        let text = b"#\n#Mon Nov 30 10:44:19 UTC 2026\nnode.id=1\ncluster.id=a\\:b\n";
        let (properties, faults) = read_properties(text);
        let property = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(properties, [property("node.id", "1"), property("cluster.id", "a:b")]);
        assert_eq!(faults, []);
        let (properties, _) = read_properties(b"version: 0\ntopic_id: 2s7UqoytSSmgrx1m2PypaA\n");
        assert_eq!(properties[1], property("topic_id", "2s7UqoytSSmgrx1m2PypaA"));
    }
}
