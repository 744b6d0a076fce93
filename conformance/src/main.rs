//! The report on the vectors, and the vectors again: `cargo xtask conformance` and `cargo xtask vectors`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use milena_conformance::{rebuild, run, run_traffic};

const USAGE: &str = "\
usage: cargo xtask conformance [--vectors DIR]
       cargo xtask vectors [--seed N] [--out DIR]

The first holds both codecs and the records against what Apache Kafka's classes wrote, read and refused, prints a table
of the messages, and with the vectors of the repository writes the summary into conformance/README.md. It does the same
with the recorded traffic in conformance/traffic. It fails when a difference is not listed in conformance/deviations.md or
conformance/traffic/oddities.md, or a listed one no longer occurs.

The second lets Kafka's classes write the vectors again; it needs Java 17 and Maven. The seed is 1 and the folder that of
the repository unless said otherwise.";

#[derive(Debug, PartialEq, Eq)]
enum Order {
    Report { vectors: Option<PathBuf> },
    Vectors { seed: u64, out: Option<PathBuf> },
    Help,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let order = match parse(&args) {
        Ok(order) => order,
        Err(error) => {
            eprintln!("error: {error}\n\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match obey(&order) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn parse(args: &[String]) -> Result<Order, String> {
    if args.iter().any(|arg| arg == "--help" || arg == "-h") {
        return Ok(Order::Help);
    }
    let (name, rest) = args.split_first().ok_or("a command is missing")?;
    let (mut vectors, mut seed, mut out) = (None, 1, None);
    let mut rest = rest.iter();
    while let Some(option) = rest.next() {
        let mut value = || rest.next().ok_or_else(|| format!("{option} wants a value"));
        match (name.as_str(), option.as_str()) {
            ("report", "--vectors") => vectors = Some(PathBuf::from(value()?)),
            ("vectors", "--out") => out = Some(PathBuf::from(value()?)),
            ("vectors", "--seed") => seed = value()?.parse().map_err(|_| "--seed wants a number from 0".to_owned())?,
            _ => return Err(format!("there is no option {option}")),
        }
    }
    match name.as_str() {
        "report" => Ok(Order::Report { vectors }),
        "vectors" => Ok(Order::Vectors { seed, out }),
        _ => Err(format!("there is no command {name}")),
    }
}

/// Whether all is well.
fn obey(order: &Order) -> Result<bool, Box<dyn std::error::Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    match order {
        Order::Help => println!("{USAGE}"),
        Order::Vectors { seed, out } => {
            let out = out.clone().unwrap_or_else(|| here.join("vectors"));
            rebuild(here, *seed, &out)?;
            println!("the vectors of seed {seed} are in {}", out.display());
        }
        Order::Report { vectors } => {
            let report = run(vectors.as_deref().unwrap_or(&here.join("vectors")), &here.join("deviations.md"))?;
            println!("{report}");
            if vectors.is_some() {
                return Ok(report.is_clean());
            }
            let traffic = run_traffic(&here.join("traffic"))?;
            println!("{traffic}");
            let clean = report.is_clean() && traffic.is_clean();
            if clean {
                let old = std::fs::read_to_string(here.join("README.md"))?;
                let new = report.insert_summary(&old).and_then(|text| traffic.insert_table(&text));
                refresh(&here.join("README.md"), &new.ok_or("README.md has no place for the summary")?)?;
                let first = here.join("../README.md");
                let new = report.insert_brief(&std::fs::read_to_string(&first)?);
                refresh(&first, &new.ok_or("the first README.md has no place for the figures")?)?;
                refresh(&here.join("traffic/index.tsv"), &traffic.index())?;
            }
            return Ok(clean);
        }
    }
    Ok(true)
}

/// Writes a file that the report is the source of, if it is stale.
fn refresh(path: &Path, text: &str) -> std::io::Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    std::fs::write(path, text)?;
    println!("wrote {}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Order, String> {
        parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn orders_are_read_and_unknown_ones_refused() {
        assert_eq!(parsed(&["report"]), Ok(Order::Report { vectors: None }));
        assert_eq!(parsed(&["report", "--vectors", "d"]), Ok(Order::Report { vectors: Some("d".into()) }));
        assert_eq!(parsed(&["vectors"]), Ok(Order::Vectors { seed: 1, out: None }));
        let order = Order::Vectors { seed: 7, out: Some("d".into()) };
        assert_eq!(parsed(&["vectors", "--seed", "7", "--out", "d"]), Ok(order));
        assert_eq!(parsed(&["vectors", "--help"]), Ok(Order::Help));
        for bad in [&[][..], &["fly"], &["report", "--seed", "7"], &["vectors", "--seed"], &["vectors", "--seed", "-1"]]
        {
            assert!(parsed(bad).is_err(), "{bad:?}");
        }
    }
}
