//! The command line of `cargo xtask interop`.

use std::path::PathBuf;

use milena_interop::{ChaosConfig, DifferentialConfig, SuitesConfig};

use crate::parts::PARTS;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// The one part to run; all without it.
    pub(crate) only: Option<&'static str>,
    /// A broker that runs already, to run the suite against and nothing else.
    pub(crate) bootstrap: Option<String>,
    pub(crate) skip_missing: bool,
    /// Only scenarios whose name contains this.
    pub(crate) filter: String,
    pub(crate) differential: DifferentialConfig,
    /// Users with random ACLs.
    pub(crate) users: Option<u64>,
    pub(crate) chaos: ChaosConfig,
    pub(crate) suites: SuitesConfig,
    /// Requests to send to both brokers, and nothing else.
    pub(crate) steps: Option<PathBuf>,
}

/// The help.
pub(crate) fn usage() -> String {
    let parts: Vec<String> = PARTS.iter().map(|part| format!("  {:<13} {}", part.name, part.title)).collect();
    format!(
        "\
usage: cargo xtask interop [--only PART] [--bootstrap HOST:PORT] [--skip-missing] [--sequences N] [--users N] [--seed S]
                           [--minutes M] [--steps FILE] [--aiokafka FOLDER] [--records N] [--table] [FILTER]

Compares milena with what others built: Apache Kafka, which Maven fetches, and foreign clients.

Parts:
{}

Options:
  --only PART            one part
  --bootstrap HOST:PORT  the behaviour suite against a broker that runs already, and nothing else
  --skip-missing         skip, with a note, what needs a program that is not installed
  --sequences N          differential, cleaner: how many random sequences; 25 unless given
  --users N              acls: how many users with random ACLs; 2 unless given
  --seed S               the seed of the first sequence, each further one has the next; of chaos; 1 unless given
  --minutes M            chaos: how long the cluster fails; 20 seconds unless given
  --steps FILE           send the requests in FILE, lines as a failed random sequence lists them, and show both responses, and
                         nothing else; with --bootstrap to the Kafka there, or to a new one
  --aiokafka FOLDER      suites: a checkout of aiokafka 0.14.0, whose tests are in no package
  --records N            suites: how many records franz-go's tests send through each chain of groups
  --table                suites: write the results into interop/README.md
  FILTER                 only scenarios whose name contains this",
        parts.join("\n")
    )
}

pub(crate) fn parse(args: &[String]) -> Result<Options, String> {
    let mut options = Options::default();
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--only" => {
                let name = args.next().ok_or("--only takes the name of a part")?;
                let part = PARTS.iter().find(|part| part.name == name);
                let known = || PARTS.iter().map(|part| part.name).collect::<Vec<_>>().join(", ");
                options.only =
                    Some(part.ok_or_else(|| format!("no part is named {name}; parts are {}", known()))?.name);
            }
            "--bootstrap" => options.bootstrap = Some(args.next().ok_or("--bootstrap takes HOST:PORT")?.clone()),
            "--sequences" => options.differential.sequences = number(args.next(), arg)?,
            "--users" => options.users = Some(number(args.next(), arg)?),
            "--seed" => {
                options.differential.seed = number(args.next(), arg)?;
                options.chaos.seed = options.differential.seed;
            }
            "--minutes" => {
                let minutes: f64 = number(args.next(), arg)?;
                options.chaos.seconds = (60.0 * minutes).clamp(5.0, 86_400.0) as u64;
            }
            "--steps" => options.steps = Some(args.next().ok_or("--steps takes a file")?.into()),
            "--aiokafka" => options.suites.aiokafka = Some(args.next().ok_or("--aiokafka takes a folder")?.into()),
            "--records" => options.suites.franz_go_records = Some(number(args.next(), arg)?),
            "--table" => options.suites.write_table = true,
            "--skip-missing" => options.skip_missing = true,
            unknown if unknown.starts_with('-') => return Err(format!("there is no option {unknown}")),
            filter => options.filter = filter.to_owned(),
        }
    }
    options.suites.filter.clone_from(&options.filter);
    options.suites.skip_missing = options.skip_missing;
    Ok(options)
}

fn number<T: std::str::FromStr>(text: Option<&String>, option: &str) -> Result<T, String> {
    text.and_then(|text| text.parse().ok()).ok_or_else(|| format!("{option} takes a number"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Options, String> {
        parse(&args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_and_unknown_ones_refused() {
        assert_eq!(parsed(&[]), Ok(Options::default()));
        let one = parsed(&["--only", "embedded", "--skip-missing", "fetch"]).unwrap();
        assert_eq!((one.only, one.skip_missing, one.filter.as_str()), (Some("embedded"), true, "fetch"));
        assert_eq!(parsed(&["--bootstrap", "h:1"]).unwrap().bootstrap, Some("h:1".into()));
        let differential =
            parsed(&["--only", "differential", "--sequences", "500", "--seed", "7"]).unwrap().differential;
        assert_eq!(differential, DifferentialConfig { sequences: 500, seed: 7 });
        let chaos = parsed(&["--only", "chaos", "--minutes", "10", "--seed", "7"]).unwrap().chaos;
        assert_eq!((chaos.seconds, chaos.seed), (600, 7));
        let suites =
            parsed(&["--only", "suites", "--records", "9", "--aiokafka", "a/b", "--table", "go"]).unwrap().suites;
        assert_eq!((suites.franz_go_records, suites.write_table, suites.filter.as_str()), (Some(9), true, "go"));
        assert_eq!(suites.aiokafka, Some("a/b".into()));
        assert_eq!(parsed(&["--steps", "f"]).unwrap().steps, Some("f".into()));
        for refused in
            [&["--steps"][..], &["--seed", "x"], &["--only"], &["--only", "zookeeper"], &["--bootstrap"], &["--fast"]]
        {
            assert!(parsed(refused).is_err(), "{refused:?}");
        }
    }

    #[test]
    fn the_help_names_every_part() {
        assert!(PARTS.iter().all(|part| usage().contains(part.title)));
    }
}
