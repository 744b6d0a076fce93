//! Kafka's protocol as values.
//!
//!     cargo run -p milena-schema --example spec

use milena_schema::Spec;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let spec = Spec::kafka();
    let fetch = spec.message("FetchRequest")?;
    assert_eq!(fetch.versions.to_string(), "0-18");
    assert_eq!(fetch.root().fields[0].name, "ClusterId");
    Ok(())
}
