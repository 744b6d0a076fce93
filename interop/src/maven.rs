use std::fs;
use std::path::Path;

use crate::command::MAVEN;
use crate::error::{Context, Error, Result};
use crate::place;

/// The class path of what the file `pom` of the checkout names, with `more` for Maven, such as the version of an artifact.
///
/// Maven runs once, and its output is kept under `name`, until the pom changes or a jar is gone.
pub(crate) fn class_path(pom: &str, name: &str, more: &[&str]) -> Result<String> {
    let pom = place::root().join(pom);
    let pom_text = fs::read_to_string(&pom).on(&pom)?;
    let folder = place::cache().join(name);
    let kept_pom = folder.join("pom.xml");
    let kept_path = folder.join("class-path");
    if fs::read_to_string(&kept_pom).is_ok_and(|text| text == pom_text) {
        if let Ok(path) = fs::read_to_string(&kept_path) {
            if is_whole(&path) {
                return Ok(path);
            }
        }
    }

    fs::create_dir_all(&folder).on(&folder)?;
    let fresh = folder.join(format!("class-path.{}", std::process::id()));
    let mut command = MAVEN.command();
    command.args(["-q", "-B", "-f"]).arg(&pom).args(["dependency:build-classpath", "-DincludeScope=runtime"]);
    command.args(more).arg(format!("-Dmdep.outputFile={}", fresh.display()));
    MAVEN.run(&mut command, "fetching Apache Kafka with Maven")?;
    let path = fs::read_to_string(&fresh).on(&fresh)?.trim().to_owned();
    fs::remove_file(&fresh).on(&fresh)?;
    if !is_whole(&path) {
        return Err(Error::Other("Maven named jars of Apache Kafka that are not there".into()));
    }
    // The pom last: it says that the class path beside it is whole.
    fs::write(&kept_path, &path).on(&kept_path)?;
    fs::write(&kept_pom, pom_text).on(&kept_pom)?;
    Ok(path)
}

fn is_whole(class_path: &str) -> bool {
    !class_path.is_empty() && std::env::split_paths(class_path).all(|jar| Path::new(&jar).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_path_with_a_lost_jar_is_not_whole() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let lost = Path::new(env!("CARGO_MANIFEST_DIR")).join("lost.jar");
        let join = |paths: &[&Path]| std::env::join_paths(paths).unwrap().into_string().unwrap();
        assert!(is_whole(&join(&[&here])));
        assert!(!is_whole(&join(&[&here, &lost])));
        assert!(!is_whole(""));
    }
}
