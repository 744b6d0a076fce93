//! All that the CI does, runnable by hand: `cargo xtask help`.

mod check;
mod ci;
mod generate;
mod layers;
mod names;
mod no_c;
mod package;
mod process;
mod readme;
mod supply;
mod tidy;
mod words;
mod workspace;

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

struct Command {
    name: &'static str,
    args: &'static str,
    summary: &'static str,
    run: fn(&Path, &[&str]) -> Result<()>,
}

const COMMANDS: &[Command] = &[
    Command {
        name: "gen",
        args: "[--check]",
        summary: "write crates/messages/src/generated from spec/; with --check only say what is stale",
        run: |root, args| match args {
            [] => generate::run(root, false),
            ["--check"] => generate::run(root, true),
            _ => Err("gen takes --check or nothing".into()),
        },
    },
    Command {
        name: "test",
        args: "[ARGS]",
        summary: "all tests that need no network service; ARGS go to cargo test",
        run: check::test,
    },
    Command {
        name: "ci",
        args: "[STEP..]",
        summary: "what .ci/run does after the tests; with steps only those",
        run: ci::run,
    },
    Command {
        name: "layers",
        args: "",
        summary: "which crate may use which, compared with the manifests (a test does this too)",
        run: |root, args| none(args).and_then(|()| layers::run(root)),
    },
    Command {
        name: "tidy",
        args: "",
        summary: "house rules that no compiler checks (a test does this too)",
        run: |root, args| none(args).and_then(|()| tidy::run(root)),
    },
    Command {
        name: "supply",
        args: "",
        summary: "licences, sources and Rust versions of all dependencies (a test does this too)",
        run: |root, args| none(args).and_then(|()| supply::run(root)),
    },
    Command {
        name: "fuzz",
        args: "",
        summary: "the fuzz targets over their seeds, on any Rust; for real fuzzing see fuzz/README.md",
        run: |root, args| none(args).and_then(|()| check::fuzz(root)),
    },
    Command {
        name: "bench",
        args: "compare [--only TEXT] [--json] | segment|capture [FILE]",
        summary: "milena beside its rivals (benches/README.md), the embedded broker, or how fast segments or captures are read",
        run: check::bench,
    },
    Command {
        name: "readme",
        args: "",
        summary: "run every command of the README, and compare the output with what it shows",
        run: |root, args| none(args).and_then(|()| readme::check(root)),
    },
    Command {
        name: "examples",
        args: "",
        summary: "run every program of examples/",
        run: |root, args| none(args).and_then(|()| check::examples(root)),
    },
    Command {
        name: "no-c",
        args: "",
        summary: "build every crate without C, and look for C in the result",
        run: |root, args| none(args).and_then(|()| no_c::check(root)),
    },
    Command {
        name: "package",
        args: "",
        summary: "pack every crate as for the registry, and look at what is in the packages",
        run: |root, args| none(args).and_then(|()| package::check(root)),
    },
    Command {
        name: "wasm",
        args: "",
        summary: "check every crate below the shells for wasm32-unknown-unknown",
        run: |root, args| none(args).and_then(|()| check::wasm(root)),
    },
    Command {
        name: "msrv",
        args: "",
        summary: "check every crate with the oldest Rust that is promised, which rustup has to have",
        run: |root, args| none(args).and_then(|()| check::msrv(root)),
    },
    Command {
        name: "interop",
        args: "[--only NAME] [..]",
        summary: "the behaviour suite against Apache Kafka and the embedded broker, and clients of others; --help for more",
        run: |root, args| process::package(root, "milena-interop", &[], args),
    },
    Command {
        name: "conformance",
        args: "[--vectors DIR]",
        summary: "every codec against what Apache Kafka's classes wrote: a table of message and version",
        run: |root, args| process::package(root, "milena-conformance", &["report"], args),
    },
    Command {
        name: "vectors",
        args: "[--seed N] [--out DIR]",
        summary: "let Apache Kafka's classes write the vectors again; needs Java 17 and Maven",
        run: |root, args| process::package(root, "milena-conformance", &["vectors"], args),
    },
];

fn none(args: &[&str]) -> Result<()> {
    if args.is_empty() { Ok(()) } else { Err(format!("nothing is known to do with {}", args.join(" ")).into()) }
}

fn help() -> String {
    let mut text = String::from("usage: cargo xtask COMMAND\n\n");
    for command in COMMANDS {
        let left = format!("{} {}", command.name, command.args);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {left:<40}{}", command.summary);
    }
    text
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."));
    let (name, rest) = match args.split_first() {
        None | Some((&("help" | "--help" | "-h"), _)) => {
            print!("{}", help());
            return ExitCode::SUCCESS;
        }
        Some((name, rest)) => (*name, rest),
    };
    let Some(command) = COMMANDS.iter().find(|command| command.name == name) else {
        eprint!("error: there is no command {name}\n\n{}", help());
        return ExitCode::from(2);
    };
    match (command.run)(root, rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_lists_every_command_once() {
        let help = help();
        for command in COMMANDS {
            let lines = help.lines().filter(|line| line.trim_start().split(' ').next() == Some(command.name));
            assert_eq!(lines.count(), 1, "{}", command.name);
        }
    }

    #[test]
    fn generated_code_is_fresh() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        generate::run(root, true).unwrap();
    }
}
