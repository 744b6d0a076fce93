//! What `.ci/run` does after the tests.

use std::path::Path;
use std::time::Instant;

use crate::check::{self, WASM, has_toolchain, has_wasm, oldest_rust};
use crate::process::{self, cargo, run as run_command};
use crate::{Result, generate, no_c, package, readme};

enum Done {
    Passed,
    Skipped(String),
}

struct Step {
    name: &'static str,
    run: fn(&Path) -> Result<Done>,
}

/// Quick ones first.
const STEPS: &[Step] = &[
    Step { name: "fmt", run: |root| passed(run_command(cargo(root).args(["fmt", "--all", "--check"]))) },
    Step { name: "gen", run: |root| passed(generate::run(root, true)) },
    Step { name: "clippy", run: clippy },
    Step { name: "docs", run: docs },
    Step { name: "readme", run: |root| passed(readme::check(root)) },
    Step { name: "examples", run: |root| passed(check::examples(root)) },
    Step { name: "package", run: |root| passed(package::check(root)) },
    Step { name: "no-c", run: |root| passed(no_c::check(root)) },
    Step { name: "wasm", run: wasm },
    Step { name: "msrv", run: msrv },
    Step { name: "fuzz", run: |root| passed(check::fuzz(root)) },
    Step { name: "demo", run: |root| passed(run_command(cargo(root).args(["run", "--release", "--", "demo"]))) },
    Step { name: "interop", run: |root| passed(process::package(root, "milena-interop", &["--skip-missing"], &[])) },
];

/// Runs the steps, each whether or not an earlier one failed, and closes with a table.
pub(crate) fn run(root: &Path, names: &[&str]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| STEPS.iter().all(|step| step.name != **name)) {
        let steps: Vec<&str> = STEPS.iter().map(|step| step.name).collect();
        return Err(format!("there is no step {unknown}; there are {}", steps.join(", ")).into());
    }
    let mut table = Vec::new();
    let mut failed = Vec::new();
    for step in STEPS.iter().filter(|step| names.is_empty() || names.contains(&step.name)) {
        println!("\n==> {}", step.name);
        let begun = Instant::now();
        let outcome = match (step.run)(root) {
            Ok(Done::Passed) => "ok".to_owned(),
            Ok(Done::Skipped(why)) => format!("skipped: {why}"),
            Err(error) => {
                failed.push(step.name);
                format!("FAILED: {error}")
            }
        };
        table.push(format!("{:<8} {:>4} s  {outcome}", step.name, begun.elapsed().as_secs()));
    }
    println!("\n{}", table.join("\n"));
    if failed.is_empty() { Ok(()) } else { Err(format!("failed: {}", failed.join(", ")).into()) }
}

fn passed(result: Result<()>) -> Result<Done> {
    result.map(|()| Done::Passed)
}

fn clippy(root: &Path) -> Result<Done> {
    passed(run_command(cargo(root).args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])))
}

fn docs(root: &Path) -> Result<Done> {
    let mut command = cargo(root);
    command.env("RUSTDOCFLAGS", "-D warnings").args(["doc", "--workspace", "--all-features", "--no-deps"]);
    passed(run_command(&mut command))
}

fn wasm(root: &Path) -> Result<Done> {
    if !has_wasm() {
        return Ok(Done::Skipped(format!("the target {WASM} is not installed")));
    }
    passed(check::wasm(root))
}

fn msrv(root: &Path) -> Result<Done> {
    let version = oldest_rust(root)?;
    if !has_toolchain(&version) {
        return Ok(Done::Skipped(format!("Rust {version} is not installed")));
    }
    passed(check::msrv(root))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_step_is_refused_with_the_known_ones() {
        let error = run(Path::new("."), &["fmt", "fly"]).unwrap_err().to_string();
        assert!(error.starts_with("there is no step fly; there are fmt, "), "{error}");
    }
}
