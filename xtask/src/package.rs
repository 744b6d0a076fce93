//! What goes to the registry: every crate with its readme, licences and words to be found by.

use std::fs;
use std::path::Path;

use crate::Result;
use crate::process::{cargo, output, run};
use crate::workspace::{Package, members};

/// Every package has these files.
const FILES: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Packs every crate that is published, in the order in which they would go out, and looks at what is in the packages.
///
/// The packages are not built: that would compile the whole workspace a second time, and says nothing more than the
/// list of files does, as the crates have no sources outside of their folders.
pub(crate) fn check(root: &Path) -> Result<()> {
    let packages: Vec<Package> = members(root)?.into_iter().filter(|package| package.published).collect();
    let mut found = Vec::new();
    for package in &packages {
        let list = output(cargo(root).args(["package", "--allow-dirty", "--list", "--package", &package.name]))?;
        found.extend(lacking(package, &list));
    }
    if !found.is_empty() {
        return Err(found.join("\n       ").into());
    }
    let mut command = cargo(root);
    command.args(["package", "--allow-dirty", "--no-verify", "--quiet"]);
    for package in &packages {
        command.args(["--package", &package.name]);
    }
    run(&mut command)?;
    println!("{} crates can be packaged", packages.len());
    Ok(())
}

/// What a package lacks, by the list of its files.
fn lacking(package: &Package, list: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut need = |there: bool, what: &str| {
        if !there {
            found.push(format!("{} has no {what}", package.name));
        }
    };
    for file in FILES {
        need(list.lines().any(|line| line == file), file);
    }
    need(package.name != "milena-schema" || list.lines().any(|line| line == "spec/messages/01_fetch.kafka"), "spec");
    need(package.description.as_ref().is_some_and(|text| text.len() > 20), "description");
    need((1..=5).contains(&package.keywords), "keywords, or more than five");
    need(package.categories > 0, "categories");
    need(package.license.is_some(), "licence");
    found
}

/// Links and licences that differ from those of the root: what a package must not have. Needs no cargo.
pub(crate) fn untidy(root: &Path, tracked: &[std::path::PathBuf]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for path in tracked {
        if fs::symlink_metadata(root.join(path)).is_ok_and(|file| file.file_type().is_symlink()) {
            found.push(format!("{}: a symlink, which not every checkout can have", path.display()));
        }
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with("LICENSE-")
            && path.starts_with("crates")
            && fs::read(root.join(path)).ok() != Some(fs::read(root.join(name))?)
        {
            found.push(format!("{}: differs from the one at the root", path.display()));
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thing_that_a_package_can_lack_is_found() {
        let whole = Package {
            name: "milena-wire".into(),
            description: Some("Kafka's primitive encodings".into()),
            keywords: 2,
            categories: 1,
            license: Some("MIT".into()),
            ..Package::default()
        };
        let list = "LICENSE-APACHE\nLICENSE-MIT\nREADME.md\nsrc/lib.rs\n";
        assert_eq!(lacking(&whole, list), [""; 0]);
        assert_eq!(lacking(&whole, "LICENSE-MIT\nREADME.md\n"), ["milena-wire has no LICENSE-APACHE"]);
        assert_eq!(lacking(&Package { keywords: 6, ..whole.clone() }, list).len(), 1);
        assert_eq!(lacking(&Package { description: None, ..whole.clone() }, list).len(), 1);
        assert_eq!(lacking(&Package { name: "milena-schema".into(), ..whole }, list), ["milena-schema has no spec"]);
    }
}
