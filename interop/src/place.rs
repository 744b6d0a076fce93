use std::path::{Path, PathBuf};

/// The checkout.
pub(crate) fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// Where things that take long to fetch are kept between runs: a folder of ours in Cargo's target folder.
pub(crate) fn cache() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    // A relative CARGO_TARGET_DIR counts from where cargo was called; from the checkout is close enough for a cache.
    root().join(target).join("interop")
}
