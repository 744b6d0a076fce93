//! What `cargo metadata` says of the packages.

use std::path::Path;

use serde_json::Value;

use crate::Result;
use crate::process::{cargo, output};

/// One package.
#[derive(Clone, Debug, Default)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) license: Option<String>,
    /// `None` for a package of the workspace, or one beside it.
    pub(crate) source: Option<String>,
    pub(crate) rust_version: Option<String>,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) features: Vec<String>,
    pub(crate) description: Option<String>,
    /// How many.
    pub(crate) keywords: usize,
    /// How many.
    pub(crate) categories: usize,
    /// Whether it may go to a registry.
    pub(crate) published: bool,
}

/// One line of a manifest's dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// What a dependency is needed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Dev,
}

/// The members of the workspace, from their manifests alone: nothing is fetched.
pub(crate) fn members(root: &Path) -> Result<Vec<Package>> {
    packages(&output(cargo(root).args(["metadata", "--format-version=1", "--no-deps"]))?)
}

/// Every package that a build for this machine can use, members included.
pub(crate) fn all(root: &Path) -> Result<Vec<Package>> {
    // Without the filter, crates for other systems would be fetched just to be looked at.
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = output(std::process::Command::new(rustc).arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).ok_or("rustc does not name its host")?;
    packages(&output(cargo(root).args(["metadata", "--format-version=1", "--filter-platform", host]))?)
}

fn packages(json: &str) -> Result<Vec<Package>> {
    let metadata: Value = serde_json::from_str(json)?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let packages = metadata["packages"].as_array().ok_or("cargo metadata without packages")?;
    // With dependencies resolved, packages that only other platforms use are listed but not resolved.
    let resolved: Option<Vec<&str>> = metadata["resolve"]["nodes"]
        .as_array()
        .map(|nodes| nodes.iter().filter_map(|node| node["id"].as_str()).collect());
    let used = |package: &&Value| {
        resolved.as_ref().is_none_or(|ids| package["id"].as_str().is_some_and(|id| ids.contains(&id)))
    };
    let read = |package: &Value| -> Option<Package> {
        let dependencies = package["dependencies"].as_array()?.iter().map(|dependency| {
            let kind = match dependency["kind"].as_str() {
                Some("dev") => Kind::Dev,
                Some("build") => Kind::Build,
                _ => Kind::Normal,
            };
            Some(Dependency { name: text(&dependency["name"])?, kind })
        });
        Some(Package {
            name: text(&package["name"])?,
            version: text(&package["version"])?,
            license: text(&package["license"]),
            source: text(&package["source"]),
            rust_version: text(&package["rust_version"]),
            dependencies: dependencies.collect::<Option<_>>()?,
            features: package["features"].as_object()?.keys().cloned().collect(),
            description: text(&package["description"]),
            keywords: package["keywords"].as_array()?.len(),
            categories: package["categories"].as_array()?.len(),
            published: package["publish"].is_null(),
        })
    };
    let packages = packages.iter().filter(used).map(read).collect::<Option<_>>();
    Ok(packages.ok_or("cargo metadata in an unknown form")?)
}
