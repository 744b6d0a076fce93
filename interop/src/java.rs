//! Programs on Apache Kafka's Java client, of any release.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::command::{JAVA, MAVEN};
use crate::error::{Context, Result};
use crate::{maven, place};

const PROJECT: &str = "interop/clients/java";

/// A command that runs a class of `interop/clients/java` with the jars of a release of the client.
pub(crate) fn java_client(class: &str, version: &str) -> Result<Command> {
    let classes = compiled()?;
    let name = format!("java-clients-{version}");
    let jars = maven::class_path(&format!("{PROJECT}/pom.xml"), &name, &[&format!("-Dkafka.version={version}")])?;
    let separator = if cfg!(windows) { ';' } else { ':' };
    let mut command = JAVA.command();
    command.args(["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]);
    command.args(["-Djava.net.preferIPv4Stack=true", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]);
    command.arg("-cp").arg(format!("{}{separator}{jars}", classes.display())).arg(format!("milena.clients.{class}"));
    Ok(command)
}

/// The folder of classes; compiled when a source is newer in any letter than what was compiled last.
fn compiled() -> Result<PathBuf> {
    let project = place::root().join(PROJECT);
    let sources = project.join("src/main/java/milena/clients");
    let pom = project.join("pom.xml");
    let mut files = vec![pom.clone()];
    for entry in fs::read_dir(&sources).on(&sources)? {
        files.push(entry.on(&sources)?.path());
    }
    files.sort();
    let mut wanted = String::new();
    for file in &files {
        wanted.push_str(&fs::read_to_string(file).on(file)?);
    }
    let build = place::cache().join("java-clients");
    let (classes, mark) = (build.join("classes"), build.join("sources"));
    if classes.is_dir() && fs::read_to_string(&mark).is_ok_and(|text| text == wanted) {
        return Ok(classes);
    }
    fs::create_dir_all(&build).on(&build)?;
    let mut command = MAVEN.command();
    command.args(["-q", "-B", "-f"]).arg(&pom).arg(format!("-Dclients.build={}", build.display())).arg("compile");
    MAVEN.run(&mut command, "compiling the Java clients")?;
    fs::write(&mark, wanted).on(&mark)?;
    Ok(classes)
}
