//! franz-go's own tests, out of the zip of its Go module.

use std::fs;
use std::path::PathBuf;

use super::{Results, SuitesConfig, Verdict};
use crate::command::GO;
use crate::error::{Context, Error, Result};
use crate::milena::Running;
use crate::place;

const MODULE: &str = "github.com/twmb/franz-go@v1.22.3";

pub(super) fn run(config: &SuitesConfig) -> Result<Results> {
    let cache = place::cache().join("franz-go");
    fs::create_dir_all(&cache).on(&cache)?;
    let mut download = GO.command();
    download.current_dir(&cache).args(["mod", "download", "-json", MODULE]);
    let told = GO.run(&mut download, "fetching franz-go")?;
    let told: serde_json::Value =
        serde_json::from_slice(&told.stdout).map_err(|error| Error::Other(format!("go mod download: {error}")))?;
    let folder = told["Dir"].as_str().ok_or_else(|| Error::Other("go mod download names no folder".to_owned()))?;
    let package = PathBuf::from(folder).join("pkg/kgo");

    // Compiled apart: Go keeps the result, and a failure to compile is not one of the tests.
    let program = cache.join("kgo.test");
    let mut compile = GO.command();
    compile.current_dir(&package).args(["test", "-c", "-o"]).arg(&program).arg(".");
    GO.run(&mut compile, "compiling the tests of franz-go")?;

    let broker = Running::start(&["broker", "--port", "0", "--nodes", "3"])?;
    let mut tests = std::process::Command::new(&program);
    tests.current_dir(&package).args(["-test.v", "-test.timeout", "15m"]);
    tests.env("KGO_SEEDS", broker.stdout()?);
    if let Some(records) = config.franz_go_records {
        tests.env("KGO_TEST_RECORDS", records.to_string());
    }
    let output = tests.output().on(&program)?;
    let text = String::from_utf8_lossy(&output.stdout);
    fs::write(cache.join("output.txt"), text.as_bytes()).on(&cache)?;
    let results = verdicts(&text);
    // A panic or a timeout ends the program without a verdict on what ran.
    if !output.status.success() && !results.iter().any(|(_, verdict)| *verdict == Verdict::Failed) {
        return Err(Error::Other(format!("franz-go's tests ended early:\n{}", crate::command::tail(&text, 40))));
    }
    Ok(results)
}

/// The verdicts in the output of Go's tests, those within others too.
fn verdicts(output: &str) -> Results {
    let verdict = |line: &str| {
        let (word, rest) = line.trim_start().strip_prefix("--- ")?.split_once(": ")?;
        let verdict = match word {
            "PASS" => Verdict::Passed,
            "SKIP" => Verdict::Skipped,
            "FAIL" => Verdict::Failed,
            _ => return None,
        };
        Some((rest.split(' ').next()?.to_owned(), verdict))
    };
    output.lines().filter_map(verdict).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_read_at_every_depth() {
        let output =
            "=== RUN   TestA\n--- PASS: TestA (0.10s)\n    --- FAIL: TestB/one (1.00s)\n--- SKIP: TestC (0.00s)\nok\n";
        let wanted = [("TestA", Verdict::Passed), ("TestB/one", Verdict::Failed), ("TestC", Verdict::Skipped)];
        assert_eq!(verdicts(output), wanted.map(|(name, verdict)| (name.to_owned(), verdict)));
    }
}
