use clap::Args;
use milena_client::Target;
use milena_messages::ApiKey;
use milena_schema::{Api, Spec};
use serde_json::{Value, json};

use crate::failure::Result;
use crate::network::{Manner, block_on};
use crate::output;
use crate::table::Table;

const EXAMPLES: &str = "Examples:
  milena apis                                      all 95 of them
  milena apis Fetch ListOffsets                    some of them, by name or key
  milena apis --bootstrap localhost:9092           compare with the versions of a broker
  milena apis --json | jq '.[] | select(.key == 18)'

Columns: VERSIONS are those that milena knows, which are all that were ever released. FLEXIBLE are
those with compact lengths and tagged fields (KIP-482). IN 4.4 are those that the newest release
serves; `none` means that it dropped the API. SINCE is the first release with the API. With
--bootstrap, BROKER are the versions that the broker lists, and COMMON is the newest that both have.";

/// List the APIs of the protocol with their versions
///
/// Each request begins with the key of its API, a number, and the version of the layout that follows. This lists all APIs with
/// their versions, and which of these the newest Apache Kafka still serves; with --bootstrap, which a broker serves.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Apis {
    /// Only these APIs, by name or key
    #[arg(value_name = "API")]
    apis: Vec<String>,

    /// Compare with these brokers; the first that responds is asked
    #[arg(long, short, value_name = "HOST:PORT", value_delimiter = ',')]
    bootstrap: Vec<String>,

    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    manner: Manner,
}

impl Apis {
    pub(crate) fn run(self) -> Result {
        let spec = Spec::kafka();
        let apis = match self.apis.is_empty() {
            true => spec.apis.iter().collect(),
            false => self.apis.iter().map(|name| Ok(spec.api_named(name)?)).collect::<Result<Vec<&Api>>>()?,
        };
        if !self.bootstrap.is_empty() {
            return self.compare(apis);
        }
        if self.json {
            return output::print_json(&apis.into_iter().map(to_json).collect());
        }
        output::print(&table(spec, apis))
    }

    /// The versions of milena beside those of a broker.
    fn compare(self, apis: Vec<&Api>) -> Result {
        let theirs = block_on(async {
            let client = self.manner.connect(self.bootstrap.clone()).await?;
            Ok(client.versions(Target::Any).await?)
        })?;
        // A broker may have APIs that are in no known release.
        let unknown = theirs.iter().filter(|(key, _)| self.apis.is_empty() && key.name().is_none());
        let rows = apis.iter().map(|api| ApiKey(api.key)).chain(unknown.map(|(key, _)| key));
        let rows = rows.map(|key| (key, theirs.of(key), theirs.pick(key).ok()));
        if self.json {
            let json = rows.map(|(key, broker, common)| {
                json!({
                    "key": key.0,
                    "name": key.name(),
                    "versions": key.versions().to_string(),
                    "broker": broker.to_string(),
                    "common": common,
                })
            });
            return output::print_json(&json.collect());
        }
        let mut table = Table::new(&[">KEY", "NAME", "VERSIONS", "BROKER", "COMMON"]);
        for (key, broker, common) in rows {
            table.row(vec![
                key.0.to_string(),
                key.name().unwrap_or("?").to_owned(),
                key.versions().to_string(),
                broker.to_string(),
                common.map_or("none".to_owned(), |version| version.to_string()),
            ]);
        }
        output::print(&table.render())
    }
}

fn table(spec: &Spec, apis: Vec<&Api>) -> String {
    let newest = spec.releases.last().map_or("", |release| release.name.as_str());
    let mut table = Table::new(&[">KEY", "NAME", "VERSIONS", "FLEXIBLE", &format!("IN {newest}"), "SINCE"]);
    for api in apis {
        table.row(vec![
            api.key.to_string(),
            api.name.clone(),
            api.versions.to_string(),
            api.flexible.intersect(api.versions).to_string(),
            ApiKey(api.key).newest_kafka_versions().to_string(),
            since(api).to_owned(),
        ]);
    }
    table.render()
}

/// The first release with an API.
fn since(api: &Api) -> &str {
    api.added.first().map_or("", |since| since.release.as_str())
}

fn to_json(api: &Api) -> Value {
    json!({
        "key": api.key,
        "name": api.name,
        "versions": api.versions.to_string(),
        "flexible": api.flexible.intersect(api.versions).to_string(),
        "newestKafka": ApiKey(api.key).newest_kafka_versions().to_string(),
        "unstable": ApiKey(api.key).unstable_versions().to_string(),
        "listeners": api.listeners,
        "added": api.added.iter().map(|since| (since.versions.to_string(), json!(since.release))).collect::<Value>(),
        "dropped": api.dropped.iter().map(|since| (since.versions.to_string(), json!(since.release))).collect::<Value>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_fits_80_columns() {
        let spec = Spec::kafka();
        let table = table(spec, spec.apis.iter().collect());
        assert_eq!(table.lines().count(), 96);
        for line in table.lines() {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }
}
