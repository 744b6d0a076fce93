//! kafka-python's integration tests, out of its source package.

use std::fs;
use std::path::Path;

use super::{Results, SuitesConfig, Verdict};
use crate::command::PYTHON;
use crate::error::{Context, Error, Result};
use crate::milena::Running;
use crate::{place, python};

const PACKAGE: &str = "kafka-python==3.0.12";

/// The release that the tests expect.
const RELEASE: &str = "4.2.0";

pub(super) const EXPECTED: &[(&str, &str)] = &[
    ("test_ssl_integration", "starts a broker of its own from Kafka's scripts"),
    ("test_kafka_version_infer", "expects Kafka 4.2"),
];

/// The source package lacks this module; with a broker that runs already nothing of it is used.
const SERVICE: &str =
    "class ExternalService:\n    def __init__(self, host, port):\n        pass\n\n\nclass SpawnedService:\n    pass\n";

pub(super) fn run(_: &SuitesConfig) -> Result<Results> {
    let cache = place::cache().join("kafka-python");
    let source = source(&cache)?;
    let environment = python::environment(
        "kafka-python/python",
        &format!("{PACKAGE}\npytest==9.0.2\npytest-mock\npytest-timeout\n"),
    )?;
    let broker = Running::start(&[
        "broker",
        "--port",
        "0",
        "--node-id",
        "0",
        "--partitions",
        "4",
        "--super-user",
        "User:ANONYMOUS",
    ])?;
    let bootstrap = broker.stdout()?;
    let mut tests = std::process::Command::new(environment);
    tests.current_dir(&source).args(["-m", "pytest", "test/integration", "-p", "no:cacheprovider", "--timeout=320"]);
    tests.args(["--timeout-method=signal", "-q", "-rA", "--tb=line", "--show-capture=no"]);
    // It waits five minutes for a partition that is not there, with Kafka too.
    tests.args(["-k", "not test_kafka_consumer_offsets_for_times_errors"]);
    tests.env("KAFKA_URI", format!("kafka://{bootstrap}")).env("KAFKA_VERSION", RELEASE);
    // The tests ask for the folder of Kafka, and use nothing of it.
    tests.env("KAFKA_ROOT", &cache);
    let output = tests.output().on(&source)?;
    let text = String::from_utf8_lossy(&output.stdout);
    fs::write(cache.join("output.txt"), text.as_bytes()).on(&cache)?;
    verdicts(&text)
}

/// The unpacked source package, fetched once.
fn source(cache: &Path) -> Result<std::path::PathBuf> {
    let source = cache.join("kafka_python-3.0.12");
    if source.join("test/service.py").is_file() {
        return Ok(source);
    }
    fs::create_dir_all(cache).on(cache)?;
    let mut fetch = PYTHON.command();
    fetch
        .args(["-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", "--dest"])
        .arg(cache)
        .arg(PACKAGE);
    PYTHON.run(&mut fetch, "fetching kafka-python")?;
    let mut unpack = PYTHON.command();
    unpack.args(["-m", "tarfile", "-e"]).arg(cache.join("kafka_python-3.0.12.tar.gz")).arg(cache);
    PYTHON.run(&mut unpack, "unpacking kafka-python")?;
    for (name, text) in [("test/__init__.py", ""), ("test/service.py", SERVICE)] {
        let path = source.join(name);
        fs::write(&path, text).on(&path)?;
    }
    Ok(source)
}

/// The verdicts in pytest's short summary.
pub(super) fn verdicts(output: &str) -> Result<Results> {
    let verdict = |line: &str| {
        let (word, rest) = line.split_once(' ')?;
        let verdict = match word {
            "PASSED" => Verdict::Passed,
            "FAILED" | "ERROR" => Verdict::Failed,
            _ => return None,
        };
        rest.contains("::").then(|| (rest.split(" - ").next().unwrap_or(rest).to_owned(), verdict))
    };
    let mut results: Results = output.lines().filter_map(verdict).collect();
    // Skipped tests are summed up by reason: `SKIPPED [2] file: reason`.
    for line in output.lines().filter_map(|line| line.strip_prefix("SKIPPED [")) {
        let (count, reason) = line.split_once("] ").unwrap_or(("0", line));
        let count = count.parse().unwrap_or(0);
        results.extend(std::iter::repeat_n((reason.to_owned(), Verdict::Skipped), count));
    }
    if results.is_empty() {
        return Err(Error::Other(format!("pytest ran nothing:\n{}", crate::command::tail(output, 40))));
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_read_from_the_summary_of_pytest() {
        let output = "..F.\nPASSED test/a.py::test_one\nSKIPPED [2] test/a.py:10: too old\nFAILED test/a.py::test_two - assert 1 == 2\n";
        let wanted = [
            ("test/a.py::test_one", Verdict::Passed),
            ("test/a.py::test_two", Verdict::Failed),
            ("test/a.py:10: too old", Verdict::Skipped),
            ("test/a.py:10: too old", Verdict::Skipped),
        ];
        assert_eq!(verdicts(output).unwrap(), wanted.map(|(name, verdict)| (name.to_owned(), verdict)));
        assert!(verdicts("no tests ran").is_err());
    }
}
