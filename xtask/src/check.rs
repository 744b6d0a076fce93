//! Tests, and builds for elsewhere.

use std::path::Path;
use std::process::Command;

use crate::Result;
use crate::layers::BELOW_THE_SHELLS;
use crate::process::{cargo, output, run};

pub(crate) const WASM: &str = "wasm32-unknown-unknown";

/// All tests that need no network service.
pub(crate) fn test(root: &Path, args: &[&str]) -> Result<()> {
    run(cargo(root).args(["test", "--workspace", "--no-fail-fast"]).args(args))
}

/// The fuzz targets over their seeds and some damaged copies. They are a workspace of their own, which shares what is
/// built of the dependencies.
pub(crate) fn fuzz(root: &Path) -> Result<()> {
    let mut command = cargo(&root.join("fuzz"));
    if std::env::var_os("CARGO_TARGET_DIR").is_none() {
        command.env("CARGO_TARGET_DIR", root.join("target"));
    }
    run(command.args(["test", "--no-default-features"]))
}

/// The rivals have a workspace of their own, so that nobody else compiles them.
pub(crate) fn bench(root: &Path, args: &[&str]) -> Result<()> {
    let (place, program, rest): (_, &[&str], _) = match args.split_first() {
        Some((&"compare", rest)) => (root.join("benches/compare"), &[], rest),
        Some((&"broker", rest)) => {
            (root.to_owned(), &["--package", "milena-broker", "--example", "broker_speed"], rest)
        }
        Some((&"segment", rest)) => {
            (root.to_owned(), &["--package", "milena-inspect", "--example", "segment_speed"], rest)
        }
        Some((&"capture", rest)) => {
            (root.to_owned(), &["--package", "milena-inspect", "--example", "capture_speed"], rest)
        }
        _ => return Err("there are four benches: cargo xtask bench compare|broker|segment|capture".into()),
    };
    run(cargo(&place).args(["run", "--release", "--quiet"]).args(program).arg("--").args(rest))
}

/// Every program of `examples/`, which belong to the facade, and need no arguments.
pub(crate) fn examples(root: &Path) -> Result<()> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(root.join("examples"))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            names.extend(path.file_stem().and_then(|name| name.to_str()).map(str::to_owned));
        }
    }
    names.sort();
    for name in &names {
        println!("$ {name}");
        let features = "broker,schema,tap";
        run(cargo(root).args(["run", "--quiet", "--package", "milena", "--features", features, "--example", name]))?;
    }
    if names.is_empty() { Err("there are no examples".into()) } else { Ok(()) }
}

/// Every crate below the shells has to build where there are no sockets, no clock and no C.
pub(crate) fn wasm(root: &Path) -> Result<()> {
    if !has_wasm() {
        return Err(format!("the target is missing: rustup target add {WASM}").into());
    }
    let mut command = cargo(root);
    command.args(["check", "--target", WASM, "--features", "milena-records/zstd-pure"]);
    for name in BELOW_THE_SHELLS {
        command.args(["--package", name]);
    }
    run(&mut command)
}

pub(crate) fn has_wasm() -> bool {
    let library = output(Command::new("rustc").args(["--print", "target-libdir", "--target", WASM]));
    library.is_ok_and(|folder| Path::new(folder.trim()).is_dir())
}

/// Every crate has to build with the oldest Rust that is promised.
pub(crate) fn msrv(root: &Path) -> Result<()> {
    let version = oldest_rust(root)?;
    let toolchain = format!("+{version}");
    if !has_toolchain(&version) {
        return Err(format!("Rust {version} is missing: rustup toolchain install {version} --profile minimal").into());
    }
    // By name, for it is rustup that understands `+`; and the cargo that runs us would name itself to the inner one.
    let mut command = Command::new("cargo");
    command.current_dir(root).env_remove("CARGO").env_remove("RUSTUP_TOOLCHAIN");
    run(command.args([&toolchain, "check", "--workspace", "--locked"]))
}

/// The `rust-version` of the workspace, as rustup names it.
pub(crate) fn oldest_rust(root: &Path) -> Result<String> {
    let manifest = std::fs::read_to_string(root.join("Cargo.toml"))?;
    let line = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "));
    Ok(line.ok_or("Cargo.toml has no rust-version")?.trim_matches('"').to_owned())
}

pub(crate) fn has_toolchain(version: &str) -> bool {
    output(Command::new("rustup").args(["run", version, "rustc", "--version"])).is_ok()
}
