//! aiokafka's tests, out of a checkout. They start Kafka by the Docker SDK for Python; a module of that name starts
//! `milena broker` instead.

use std::fs;

use super::{Results, SuitesConfig};
use crate::error::{Context, Error, Result};
use crate::{milena, place, python};

const PACKAGES: &str =
    "aiokafka==0.14.0\npytest==9.0.2\npytest-asyncio==1.3.0\npytest-mock\npytest-timeout\nasync-timeout\ncramjam\n";

/// What is missing without a checkout.
pub(super) const PROGRAM: &str = "aiokafka";

/// The name of the image says which release it is.
const IMAGE: &str = "milena:2.13_4.1.0";

pub(super) const EXPECTED: &[(&str, &str)] = &[("gssapi", "there is no Kerberos server")];

pub(super) fn run(config: &SuitesConfig) -> Result<Results> {
    let checkout = config.aiokafka.as_ref().ok_or_else(|| Error::Missing {
        program: PROGRAM,
        reason: "its packages do not contain its tests".to_owned(),
        advice: "name a checkout with --aiokafka",
    })?;
    let cache = place::cache().join("aiokafka");
    let work = cache.join("work");
    if work.exists() {
        fs::remove_dir_all(&work).on(&work)?;
    }
    fs::create_dir_all(&work).on(&work)?;
    // Without the package beside the tests, which is not compiled there.
    for part in ["tests", "gen-ssl-certs.sh", "pyproject.toml"] {
        copy(&checkout.join(part), &work.join(part))?;
    }
    let environment = python::environment("aiokafka/python", PACKAGES)?;
    let mut tests = std::process::Command::new(environment);
    tests.current_dir(&work).args(["-m", "pytest", "tests", "--docker-image", IMAGE, "--no-pull", "-q", "-rA"]);
    tests.args(["--timeout=180", "--tb=line", "--show-capture=no", "-p", "no:cacheprovider", "-W", "default"]);
    tests.env("MILENA", milena::binary()?);
    // Programs and modules of ours in place of what is not there: Kerberos, Docker.
    let ours = place::root().join("interop/suites");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(ours.clone()).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).map_err(|error| Error::Other(error.to_string()))?;
    tests.env("PATH", path).env("PYTHONPATH", ours).env("PYTHONDONTWRITEBYTECODE", "1");
    let output = tests.output().on(&work)?;
    let text = String::from_utf8_lossy(&output.stdout);
    fs::write(cache.join("output.txt"), text.as_bytes()).on(&cache)?;
    super::kafka_python::verdicts(&text)
}

fn copy(from: &std::path::Path, to: &std::path::Path) -> Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to).on(to)?;
        for entry in fs::read_dir(from).on(from)? {
            let entry = entry.on(from)?;
            copy(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    fs::copy(from, to).map(drop).on(from)
}
