//! A build without C of every crate, as the features promise.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::process::{cargo, output, run};
use crate::workspace::{Package, members};

/// Features that bring C, and those that are no choice of a user.
const WITH_C: [&str; 4] = ["default", "fuzzing", "tls", "zstd"];
/// Crates that compile C, or look for it on the system, while another crate is built.
const BUILDERS: [&str; 5] = ["bindgen", "cc", "cmake", "nasm-rs", "pkg-config"];
/// Linkers add it to every program: the start and end of the list of constructors.
const OF_THE_SYSTEM: &str = "crtstuff.c";
/// The binary that has every crate in it.
const BINARY: &str = "milena-cli";

/// Looks for C in what each published crate depends on, and then in the command line as it is built.
pub(crate) fn check(root: &Path) -> Result<()> {
    let mut found = Vec::new();
    let packages: Vec<Package> = members(root)?.into_iter().filter(|package| package.published).collect();
    for package in &packages {
        let tree =
            output(cargo(root).args(["tree", "--edges", "normal,build", "--prefix", "none"]).args(pure(package)))?;
        found.extend(builders(&tree).map(|builder| format!("{} needs {builder}", package.name)));
    }
    if !found.is_empty() {
        return Err(found.join("\n       ").into());
    }
    println!("{} crates depend on nothing that compiles C", packages.len());

    let cli = packages.iter().find(|package| package.name == BINARY).ok_or("the command line is gone")?;
    let binary = root.join(target_folder(root)?).join("debug/milena");
    // First with C, or a search that finds nothing proves nothing.
    run(cargo(root).args(["build", "--package", BINARY]))?;
    let with = c_sources(&fs::read(&binary)?);
    run(cargo(root).arg("build").args(pure(cli)))?;
    let without = c_sources(&fs::read(&binary)?);
    println!("the binary has {} C sources with the default features, and {} without C", with.len(), without.len());
    match (cfg!(target_os = "linux") && with.is_empty(), without.is_empty()) {
        (true, _) => Err("no C is found where there is some: the search is broken".into()),
        (_, false) => Err(format!("the build without C has {}", without.join(", ")).into()),
        _ => Ok(()),
    }
}

/// Arguments that choose a package with all of its features but those that bring C.
fn pure(package: &Package) -> Vec<String> {
    let features: Vec<&str> =
        package.features.iter().map(String::as_str).filter(|feature| !WITH_C.contains(feature)).collect();
    let mut args = vec!["--package".into(), package.name.clone(), "--no-default-features".into()];
    if !features.is_empty() {
        args.extend(["--features".into(), features.join(",")]);
    }
    args
}

fn builders(tree: &str) -> impl Iterator<Item = &str> {
    let mut names: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter().filter(|name| BUILDERS.contains(name))
}

fn target_folder(root: &Path) -> Result<String> {
    let metadata: serde_json::Value =
        serde_json::from_str(&output(cargo(root).args(["metadata", "--format-version=1", "--no-deps"]))?)?;
    Ok(metadata["target_directory"].as_str().ok_or("cargo metadata names no target folder")?.to_owned())
}

/// The C and assembly sources that a binary's symbol table names: compilers put the file's name there, between zeros.
fn c_sources(binary: &[u8]) -> Vec<String> {
    let is_name = |name: &&[u8]| {
        // Shorter ones turn up by chance in code and data.
        (6..60).contains(&name.len())
            && [&b".c"[..], b".cc", b".cpp", b".S"].iter().any(|end| name.ends_with(end))
            && name.iter().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte))
    };
    let names = binary.split(|byte| *byte == 0).filter(is_name).map(|name| String::from_utf8_lossy(name).into_owned());
    let mut names: Vec<String> = names.filter(|name| name != OF_THE_SYSTEM).collect();
    names.sort_unstable();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_in_c_are_found_by_their_names_in_the_symbol_table() {
        let binary =
            b"\x7fELF\0crtstuff.c\0milena.9f-cgu.0\0zstd_decompress.c\0x.c\0sha256-x86_64-elf.S\0a text of zstd.c\0";
        assert_eq!(c_sources(binary), ["sha256-x86_64-elf.S", "zstd_decompress.c"]);
    }

    #[test]
    fn what_compiles_c_is_found_in_a_tree() {
        let tree = "milena-records v0.1.0 (x)\nzstd v0.13.3\nzstd-sys v2.0.15\ncc v1.2.0\ncc v1.2.0 (*)\n";
        assert_eq!(builders(tree).collect::<Vec<_>>(), ["cc"]);
    }

    #[test]
    fn features_with_c_are_left_out_and_all_others_taken() {
        let features = ["client", "default", "tls", "zstd", "zstd-pure"].map(str::to_owned).to_vec();
        let package = Package { name: "milena".into(), features, ..Package::default() };
        let args = pure(&package);
        assert_eq!(args, ["--package", "milena", "--no-default-features", "--features", "client,zstd-pure"]);
    }
}
