//! The example programs in other languages, which start `milena broker` and use its control port.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::command::{GO, MAVEN, succeeded};
use crate::error::{Context, Error, Result};
use crate::python::interpreter;
use crate::suite::{Report, line};
use crate::{milena, place};

type Program = (&'static str, fn(&Path) -> Result<Command>);

const PROGRAMS: [Program; 3] = [("from-python", pytest), ("from-go", go), ("from-java", maven)];

/// Runs `examples/from-python`, `examples/from-go` and `examples/from-java`, those whose name contains `filter`. A language
/// that is not installed is named and not counted.
///
/// # Errors
/// The binary `milena` cannot be built.
pub fn control(filter: &str, output: &mut (dyn Write + Send)) -> Result<Report> {
    let binary = milena::binary()?;
    let mut report = Report::default();
    for (name, program) in PROGRAMS.iter().filter(|(name, _)| name.contains(filter)) {
        let begun = Instant::now();
        let title = format!("control::{name}");
        let run = |mut command: Command| {
            let done = command.env("MILENA", &binary).output().doing("an example")?;
            succeeded(done, "an example")
        };
        match program(&place::root().join("examples").join(name)).and_then(run) {
            Err(error @ Error::Missing { .. }) => {
                let _ = writeln!(output, "{title} ... skipped: {error}");
            }
            outcome => {
                report.count(outcome.is_ok());
                line(output, &title, outcome.map(|_| ()).map_err(|error| error.to_string()), begun.elapsed());
            }
        }
    }
    Ok(report)
}

fn pytest(folder: &Path) -> Result<Command> {
    let mut command = Command::new(interpreter()?);
    command.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(folder).env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(command)
}

fn go(folder: &Path) -> Result<Command> {
    let mut version = GO.command();
    GO.run(version.arg("version"), "go version")?;
    let mut command = GO.command();
    command.args(["test", "-count=1", "./..."]).current_dir(folder);
    Ok(command)
}

fn maven(folder: &Path) -> Result<Command> {
    let build = place::cache().join("from-java");
    fs::create_dir_all(&build).on(&build)?;
    let mut version = MAVEN.command();
    MAVEN.run(version.arg("--version"), "mvn --version")?;
    let mut command = MAVEN.command();
    command.args(["-q", "-B", "-f"]).arg(folder.join("pom.xml"));
    command.arg(format!("-Dletters.build={}", build.display())).arg("test");
    Ok(command)
}
