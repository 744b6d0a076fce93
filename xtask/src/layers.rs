//! Which crate may use which: the table of ARCHITECTURE.md, enforced.

use std::path::Path;

use crate::Result;
use crate::workspace::{Dependency, Kind, Package, members};

/// Crates of others that a crate may use.
enum Others {
    /// These and no more.
    Only(&'static [&'static str]),
    Any,
}

struct Layer {
    /// A crate may use in tests what is not above it.
    height: u8,
    name: &'static str,
    /// Crates of ours; `None` for an edge, which may use all that is no edge.
    ours: Option<&'static [&'static str]>,
    others: Others,
}

const WIRE: &str = "milena-wire";
const SCHEMA: &str = "milena-schema";
const MESSAGES: &str = "milena-messages";
const RECORDS: &str = "milena-records";
const CONNECTION: &str = "milena-connection";
const LEGACY: &str = "milena-legacy";
const STORAGE: &str = "milena-storage";
const FAULT: &str = "milena-fault";
const INSPECT: &str = "milena-inspect";
const TRANSPORT: &str = "milena-transport";
/// Below the shells: no sockets, no runtime, and no C on wasm.
pub(crate) const BELOW_THE_SHELLS: [&str; 9] =
    [WIRE, SCHEMA, MESSAGES, RECORDS, CONNECTION, FAULT, STORAGE, LEGACY, INSPECT];

const SHELL: u8 = 4;

const LAYERS: &[Layer] = &[
    Layer {
        height: 0,
        name: WIRE,
        ours: Some(&[]),
        others: Others::Only(&["bytes", "bytestring", "smallvec", "thiserror"]),
    },
    Layer { height: 1, name: MESSAGES, ours: Some(&[WIRE]), others: Others::Only(&[]) },
    Layer {
        height: 1,
        name: RECORDS,
        ours: Some(&[WIRE]),
        others: Others::Only(&[
            "bytes",
            "crc32c",
            "crc32fast",
            "flate2",
            "lz4_flex",
            "ruzstd",
            "smallvec",
            "snap",
            "thiserror",
            "zstd",
        ]),
    },
    Layer {
        height: 1,
        name: SCHEMA,
        // Messages are behind a feature, for conversions of typed values alone: the codecs stay independent.
        ours: Some(&[MESSAGES, WIRE]),
        others: Others::Only(&["base64", "bytes", "serde_json", "thiserror"]),
    },
    Layer { height: 2, name: CONNECTION, ours: Some(&[MESSAGES, WIRE]), others: Others::Only(&["bytes", "thiserror"]) },
    Layer {
        height: 2,
        name: FAULT,
        ours: Some(&[CONNECTION, MESSAGES, SCHEMA, WIRE]),
        others: Others::Only(&["bytes", "serde_json"]),
    },
    Layer {
        height: 2,
        // crc32c: snapshots of producers have a checksum of their own.
        name: STORAGE,
        ours: Some(&[MESSAGES, RECORDS, WIRE]),
        others: Others::Only(&["bytes", "crc32c"]),
    },
    Layer {
        height: 3,
        name: INSPECT,
        ours: Some(&[CONNECTION, MESSAGES, RECORDS, SCHEMA, STORAGE, WIRE]),
        others: Others::Only(&["base64", "bytes", "serde_json", "thiserror"]),
    },
    Layer {
        height: 3,
        name: LEGACY,
        ours: Some(&[CONNECTION, MESSAGES, RECORDS, WIRE]),
        others: Others::Only(&["bytes", "crc32fast"]),
    },
    Layer { height: 3, name: TRANSPORT, ours: Some(&[WIRE]), others: Others::Any },
    Layer {
        height: SHELL,
        name: "milena-client",
        ours: Some(&[CONNECTION, MESSAGES, RECORDS, TRANSPORT, WIRE]),
        others: Others::Any,
    },
    Layer {
        height: SHELL,
        name: "milena-broker",
        ours: Some(&[CONNECTION, FAULT, MESSAGES, RECORDS, SCHEMA, STORAGE, TRANSPORT, WIRE]),
        others: Others::Any,
    },
    Layer {
        height: SHELL,
        name: "milena-tap",
        ours: Some(&[CONNECTION, FAULT, INSPECT, MESSAGES, RECORDS, SCHEMA, TRANSPORT, WIRE]),
        others: Others::Any,
    },
    edge("milena"),
    edge("milena-cli"),
    edge("milena-python"),
    edge("milena-conformance"),
    edge("milena-interop"),
    edge("xtask"),
];

/// The one edge that others stand on: it is what users see, and so do these.
const FACADE: &str = "milena";
const OVER_THE_FACADE: [&str; 2] = ["milena-cli", "milena-python"];

/// What runs the generator may not need what it generates.
const GENERATOR: (&str, &[&str]) = ("xtask", &[SCHEMA, WIRE]);

const fn edge(name: &'static str) -> Layer {
    Layer { height: 5, name, ours: None, others: Others::Any }
}

/// Prints the table as it is, or what breaks it.
pub(crate) fn run(root: &Path) -> Result<()> {
    let packages = members(root)?;
    let broken = violations(&packages);
    if !broken.is_empty() {
        return Err(broken.join("\n       ").into());
    }
    for package in &packages {
        let uses: Vec<&str> = normal(package).filter(|name| layer(name).is_some()).collect();
        println!("{:<20} uses {}", package.name, if uses.is_empty() { "none of ours".into() } else { uses.join(", ") });
    }
    Ok(())
}

fn layer(name: &str) -> Option<&'static Layer> {
    LAYERS.iter().find(|layer| layer.name == name)
}

fn normal(package: &Package) -> impl Iterator<Item = &str> {
    package.dependencies.iter().filter(|dependency| dependency.kind != Kind::Dev).map(|dependency| &*dependency.name)
}

/// Each dependency that the table does not allow, and each crate that it does not know.
fn violations(packages: &[Package]) -> Vec<String> {
    let mut broken = Vec::new();
    for package in packages {
        let Some(user) = layer(&package.name) else {
            broken.push(format!("{} stands in no layer: add it to xtask/src/layers.rs", package.name));
            continue;
        };
        for dependency in &package.dependencies {
            if let Some(why) = refusal(user, dependency) {
                broken.push(format!("{} may not use {}: {why}", package.name, dependency.name));
            }
        }
    }
    broken
}

fn refusal(user: &Layer, Dependency { name, kind }: &Dependency) -> Option<&'static str> {
    let used = layer(name);
    match (used, kind) {
        (None, Kind::Dev) => None,
        (Some(used), _) if used.ours.is_none() && !(used.name == FACADE && OVER_THE_FACADE.contains(&user.name)) => {
            Some("nothing uses an edge")
        }
        (Some(used), Kind::Dev) => (used.height > user.height).then_some("it is above, even in tests"),
        (Some(used), _) if user.name == GENERATOR.0 => {
            (!GENERATOR.1.contains(&used.name)).then_some("the generator has to work while it does not compile")
        }
        (Some(used), _) => user.ours.is_some_and(|ours| !ours.contains(&used.name)).then_some("the layers say so"),
        (None, _) => match user.others {
            Others::Only(names) => (!names.contains(&name.as_str())).then_some("this layer has a closed list"),
            Others::Any => None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, normal: &[&str], dev: &[&str]) -> Package {
        let list = |names: &[&str], kind| {
            names.iter().map(|name| Dependency { name: (*name).into(), kind }).collect::<Vec<_>>()
        };
        let dependencies = [list(normal, Kind::Normal), list(dev, Kind::Dev)].concat();
        Package { name: name.into(), dependencies, ..Package::default() }
    }

    #[test]
    fn the_workspace_keeps_to_its_layers() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let packages = members(root).unwrap();
        assert!(packages.len() >= 10, "cargo metadata lists the members");
        assert_eq!(violations(&packages), [""; 0]);
    }

    #[test]
    fn a_made_up_graph_that_is_right_passes() {
        let graph = [
            package(WIRE, &["bytes"], &["proptest"]),
            package(SCHEMA, &[WIRE, "serde_json"], &[MESSAGES]),
            package(CONNECTION, &[MESSAGES, WIRE], &["proptest", RECORDS]),
            package("milena-client", &[CONNECTION, RECORDS, "tokio"], &["milena-broker"]),
            package("milena", &["milena-client", "milena-broker", SCHEMA], &[]),
            package("milena-cli", &["milena", "clap"], &[]),
            package("xtask", &[SCHEMA, WIRE, "serde_json"], &[]),
        ];
        assert_eq!(violations(&graph), [""; 0]);
    }

    #[test]
    fn each_way_to_break_the_layers_is_found() {
        for (user, normal, dev, why) in [
            (WIRE, "tokio", "", "closed list"),
            (WIRE, SCHEMA, "", "layers say so"),
            (WIRE, "", MESSAGES, "above, even in tests"),
            (MESSAGES, RECORDS, "", "layers say so"),
            (MESSAGES, "serde", "", "closed list"),
            (RECORDS, MESSAGES, "", "layers say so"),
            (CONNECTION, "tokio", "", "closed list"),
            (CONNECTION, RECORDS, "", "layers say so"),
            (CONNECTION, "", "milena-client", "above, even in tests"),
            ("milena-client", "milena-broker", "", "layers say so"),
            ("milena-broker", "milena-client", "", "layers say so"),
            ("milena-broker", "milena-inspect", "", "layers say so"),
            ("milena-broker", "milena-cli", "", "nothing uses an edge"),
            ("milena-interop", "xtask", "", "nothing uses an edge"),
            ("milena-interop", "", "milena-conformance", "nothing uses an edge"),
            ("xtask", MESSAGES, "", "does not compile"),
        ] {
            let list = |name: &'static str| if name.is_empty() { vec![] } else { vec![name] };
            let broken = violations(&[package(user, &list(normal), &list(dev))]);
            assert_eq!(broken.len(), 1, "{user} uses {normal}{dev}");
            assert!(broken[0].contains(why), "{}", broken[0]);
        }
    }

    #[test]
    fn every_crate_below_the_shells_but_the_sockets_is_checked_for_wasm() {
        let below = LAYERS.iter().filter(|layer| layer.height < SHELL && layer.name != TRANSPORT);
        let mut below: Vec<&str> = below.map(|layer| layer.name).collect();
        let mut checked = BELOW_THE_SHELLS;
        below.sort_unstable();
        checked.sort_unstable();
        assert_eq!(checked[..], below);
    }

    #[test]
    fn a_crate_without_a_layer_is_found() {
        assert!(violations(&[package("milena-new", &[], &[])])[0].contains("stands in no layer"));
    }
}
