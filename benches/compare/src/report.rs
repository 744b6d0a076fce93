//! The table, or lines of JSON.

use crate::measure::Pairing;

#[derive(Default)]
pub struct Report {
    pub json: bool,
    rows: Vec<[String; 8]>,
}

impl Report {
    pub fn add(&mut self, work: &str, pairing: &Pairing) {
        let Pairing { peer, milena_ns, peer_ns, ratio, milena, other } = pairing;
        if self.json {
            // No name has a character that JSON would want escaped.
            println!(
                "{{\"work\":\"{work}\",\"milena_ns\":{milena_ns:.1},\"peer\":\"{peer}\",\"peer_ns\":{peer_ns:.1},\
                 \"ratio\":{ratio:.3},\"milena_allocs\":{},\"peer_allocs\":{},\"milena_bytes\":{},\"peer_bytes\":{}}}",
                milena.allocations, other.allocations, milena.bytes, other.bytes
            );
            return;
        }
        eprintln!("{work}: {peer} {ratio:.2}");
        let work = match self.rows.iter().rev().find(|row| !row[0].is_empty()) {
            Some(last) if last[0] == work => String::new(),
            _ => work.to_owned(),
        };
        self.rows.push([
            work,
            duration(*milena_ns),
            (*peer).to_owned(),
            duration(*peer_ns),
            format!("{ratio:.2}"),
            milena.allocations.to_string(),
            other.allocations.to_string(),
            format!("{} / {}", size(milena.bytes), size(other.bytes)),
        ]);
    }

    /// Prints the table, which is Markdown.
    pub fn finish(&self) {
        if self.json || self.rows.is_empty() {
            return;
        }
        let head =
            ["work", "milena", "peer", "peer's", "ratio", "allocs", "peer's", "bytes allocated"].map(String::from);
        let width = |column: usize| {
            self.rows.iter().chain([&head]).map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let widths: [usize; 8] = std::array::from_fn(width);
        let print = |row: &[String; 8]| {
            let cells: Vec<String> = (0..8)
                .map(|column| {
                    let (text, width) = (&row[column], widths[column]);
                    if matches!(column, 0 | 2) { format!("{text:<width$}") } else { format!("{text:>width$}") }
                })
                .collect();
            println!("| {} |", cells.join(" | "));
        };
        print(&head);
        let rule: Vec<String> = (0..8)
            .map(|column| {
                let dashes = "-".repeat(widths[column]);
                if matches!(column, 0 | 2) { format!("{dashes}-") } else { format!("{dashes}:") }
            })
            .collect();
        println!("| {}|", rule.join("| "));
        self.rows.iter().for_each(print);
    }
}

fn duration(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.1} ns"),
        ns if ns < 1e6 => format!("{:.1} us", ns / 1e3),
        ns => format!("{:.1} ms", ns / 1e6),
    }
}

fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} KB", bytes / 1000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
