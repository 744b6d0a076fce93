//! What comes from others: under which licence, from where, and for which Rust.

use std::path::Path;

use crate::Result;
use crate::workspace::{Package, all};

/// Licences that go with MIT OR Apache-2.0 and ask for no more than a notice.
const LICENCES: [&str; 9] = [
    "MIT",
    "MIT-0",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "Zlib",
    "Unicode-3.0",
];
const MORE_LICENCES: [&str; 3] = ["0BSD", "BSL-1.0", "Unlicense"];
const CRATES_IO: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Prints how much comes from others, or what may not.
pub(crate) fn run(root: &Path) -> Result<()> {
    let packages = all(root)?;
    let broken = violations(&packages);
    if !broken.is_empty() {
        return Err(broken.join("\n       ").into());
    }
    let others = packages.iter().filter(|package| package.source.is_some()).count();
    println!(
        "{others} packages from crates.io, all under known licences and for Rust {} or older",
        promised(&packages)
    );
    Ok(())
}

/// The oldest Rust that we promise.
fn promised(packages: &[Package]) -> &str {
    let ours = packages.iter().find(|package| package.source.is_none());
    ours.and_then(|package| package.rust_version.as_deref()).unwrap_or("0")
}

fn violations(packages: &[Package]) -> Vec<String> {
    let mut broken = Vec::new();
    let rust = numbers(promised(packages));
    for package in packages {
        let name = format!("{} {}", package.name, package.version);
        match &package.license {
            Some(licence) if may_be_used(licence) => {}
            licence => broken.push(format!("{name}: licence {}", licence.as_deref().unwrap_or("not stated"))),
        }
        if let Some(source) = &package.source {
            if source != CRATES_IO {
                broken.push(format!("{name}: comes from {source}"));
            }
        }
        if let Some(needed) = &package.rust_version {
            if numbers(needed) > rust {
                broken.push(format!("{name}: needs Rust {needed}"));
            }
        }
    }
    broken
}

/// Whether one side of each OR, and both sides of each AND, are known.
fn may_be_used(licence: &str) -> bool {
    // "A/B" is how OR was written before SPDX.
    let licence = licence.replace(['(', ')'], "").replace('/', " OR ");
    let known = |name: &str| LICENCES.contains(&name.trim()) || MORE_LICENCES.contains(&name.trim());
    // AND binds more tightly; parentheses around an OR make this stricter than SPDX, never more lenient, as long as each
    // name that is joined by AND is known.
    licence.split(" OR ").any(|side| side.split(" AND ").all(known))
        && licence.split(" OR ").filter(|side| side.contains(" AND ")).flat_map(|side| side.split(" AND ")).all(known)
}

fn numbers(version: &str) -> Vec<u32> {
    let mut numbers: Vec<u32> = version.split('.').map(|part| part.parse().unwrap_or(0)).collect();
    numbers.resize(3, 0);
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(license: &str, source: Option<&str>, rust: &str) -> Package {
        Package {
            name: "it".into(),
            version: "1.0.0".into(),
            license: Some(license.into()),
            source: source.map(Into::into),
            rust_version: Some(rust.into()),
            ..Package::default()
        }
    }

    #[test]
    fn everything_that_comes_from_others_may_be_used() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let packages = all(root).unwrap();
        assert!(packages.iter().any(|package| package.source.is_some()), "cargo metadata lists dependencies");
        assert_eq!(violations(&packages), [""; 0]);
    }

    #[test]
    fn licences_are_read_with_their_operators() {
        for good in
            ["MIT", "MIT OR Apache-2.0", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"]
        {
            assert!(may_be_used(good), "{good}");
        }
        for bad in ["GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND GPL-3.0", "", "MIT-like"] {
            assert!(!may_be_used(bad), "{bad}");
        }
    }

    #[test]
    fn each_way_to_bring_in_what_may_not_come_is_found() {
        let ours = package("MIT OR Apache-2.0", None, "1.85");
        let found = |other: Package| violations(&[ours.clone(), other]);
        assert_eq!(found(package("MIT", Some(CRATES_IO), "1.85.0")), [""; 0]);
        assert_eq!(found(package("AGPL-3.0", Some(CRATES_IO), "1.60")), ["it 1.0.0: licence AGPL-3.0"]);
        assert_eq!(found(package("MIT", Some(CRATES_IO), "1.86")), ["it 1.0.0: needs Rust 1.86"]);
        assert_eq!(
            found(package("MIT", Some("git+https://x.org/y"), "1")),
            ["it 1.0.0: comes from git+https://x.org/y"]
        );
    }
}
