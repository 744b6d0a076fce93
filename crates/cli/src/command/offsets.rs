use clap::Args;
use milena_client::{Client, FoundOffset, Isolation, OffsetSpec};
use serde_json::{Value, json};

use super::position::partitions_of;
use crate::failure::Result;
use crate::network::{Network, block_on};
use crate::output;
use crate::table::Table;
use crate::time;

const EXAMPLES: &str = "Examples:
  milena offsets --topic letters                   oldest and next offset of each partition
  milena offsets --topic letters --at 2024-05-01T12:00:00Z
  milena offsets --topic letters --partition 0 --json";

/// Show which offsets the partitions of a topic have
///
/// EARLIEST is the oldest record that is still there, LATEST the offset that the next record will get, and RECORDS what
/// lies between, which is more than can be read where a log was compacted or has transactions. With --at, also the first
/// record at or after a time.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Offsets {
    /// The topic
    #[arg(long, short, value_name = "TOPIC")]
    topic: String,

    /// Only this partition; several with commas
    #[arg(long, short, value_name = "N", value_delimiter = ',')]
    partition: Vec<i32>,

    /// Look up the first record at or after this time: 2024-05-01T12:00:00Z, or @ and milliseconds
    #[arg(long, value_name = "TIME", value_parser = at)]
    at: Option<i64>,

    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    network: Network,
}

fn at(text: &str) -> Result<i64, String> {
    time::parse(text).ok_or_else(|| "a time is 2024-05-01T12:00:00Z, or @ and milliseconds since 1970".to_owned())
}

struct Row {
    partition: i32,
    earliest: i64,
    latest: i64,
    at: Option<FoundOffset>,
}

impl Offsets {
    pub(crate) fn run(self) -> Result {
        let rows = block_on(async {
            let client = self.network.connect().await?;
            let partitions = partitions_of(&client, &self.topic, &self.partition).await?;
            self.look_up(&client, &partitions).await
        })?;
        if self.json {
            return output::print_json(&rows.iter().map(|row| self.to_json(row)).collect());
        }
        let mut titles = vec![">PARTITION", ">EARLIEST", ">LATEST", ">RECORDS"];
        if self.at.is_some() {
            titles.extend([">AT", "TIMESTAMP"]);
        }
        let mut table = Table::new(&titles);
        for row in rows {
            let mut cells: Vec<String> = [row.partition.into(), row.earliest, row.latest, row.latest - row.earliest]
                .map(|n: i64| n.to_string())
                .into();
            if self.at.is_some() {
                cells.push(row.at.map_or("none".to_owned(), |found| found.offset.to_string()));
                cells.push(row.at.and_then(|found| found.timestamp).map(time::format).unwrap_or_default());
            }
            table.row(cells);
        }
        output::print(&table.render())
    }

    async fn look_up(&self, client: &Client, partitions: &[i32]) -> Result<Vec<Row>> {
        let list = async |spec: OffsetSpec| {
            let wanted: Vec<_> = partitions.iter().map(|partition| (self.topic.as_str(), *partition, spec)).collect();
            client.list_offsets(&wanted, Isolation::ReadUncommitted).await
        };
        let earliest = list(OffsetSpec::Earliest).await?;
        let latest = list(OffsetSpec::Latest).await?;
        let at = match self.at {
            Some(time) => list(OffsetSpec::Timestamp(time)).await?,
            None => vec![None; partitions.len()],
        };
        let offset = |found: Option<FoundOffset>| found.map_or(0, |found| found.offset);
        let ends = earliest.into_iter().map(offset).zip(latest.into_iter().map(offset));
        let rows = partitions.iter().zip(ends).zip(at);
        Ok(rows
            .map(|((partition, (earliest, latest)), at)| Row { partition: *partition, earliest, latest, at })
            .collect())
    }

    fn to_json(&self, row: &Row) -> Value {
        let mut json = json!({
            "topic": self.topic,
            "partition": row.partition,
            "earliest": row.earliest,
            "latest": row.latest,
        });
        if let (Some(_), Value::Object(map)) = (self.at, &mut json) {
            map.insert("at".to_owned(), json!(row.at.map(|found| found.offset)));
            map.insert("timestamp".to_owned(), json!(row.at.and_then(|found| found.timestamp)));
        }
        json
    }
}
