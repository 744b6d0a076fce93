use clap::Args;
use milena_client::{Error, FoundOffset, Isolation, OffsetSpec};
use serde_json::{Value, json};

use super::topic::{Numbers, Partitions, TopicName, no_leader, numbers};
use crate::failure::{Failure, Result};
use crate::network::{Network, block_on};
use crate::output;
use crate::table::Table;
use crate::time;

const EXAMPLES: &str = "Examples:
  milena offsets letters                           oldest and next offset of each partition
  milena offsets letters --at 2024-05-01T12:00:00Z
  milena offsets letters --at -1h                  an hour ago
  milena offsets letters --partition 0-2 --json

Times: 2024-05-01, 2024-05-01T12:30:59.250Z, with a zone such as +02:00, now, -90s, -30m, -1h, -2d,
-1w (so long ago), or @ and milliseconds since 1970. Without a zone a time is UTC.";

/// Show the offsets of the partitions of a topic
///
/// EARLIEST is the offset of the oldest record, LATEST the offset that the next record will get, and RECORDS the difference,
/// which is more than can be read if a log was compacted or has transactions. With --at, also shows the first record at or
/// after a time. Names partitions whose offsets cannot be looked up, and then exits with 1.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Offsets {
    #[command(flatten)]
    topic: TopicName,

    /// Only these partitions: numbers and ranges, such as 0,4-7
    #[arg(long, short, value_name = "N", value_delimiter = ',', value_parser = numbers, allow_hyphen_values = true)]
    partition: Vec<Numbers>,

    /// Look up the first record at or after this time
    #[arg(long, value_name = "TIME", value_parser = time::parse, allow_hyphen_values = true)]
    at: Option<i64>,

    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    network: Network,
}

/// What was found of a partition.
struct Row {
    partition: i32,
    found: Result<Found>,
}

#[derive(Clone, Copy)]
struct Found {
    earliest: i64,
    latest: i64,
    at: Option<FoundOffset>,
}

impl Offsets {
    pub(crate) fn run(self) -> Result {
        let rows = block_on(self.look_up())?;
        match self.json {
            true => output::print_json(&rows.iter().map(|row| self.to_json(row)).collect())?,
            false => output::print(&self.table(&rows))?,
        }
        Failure::several(rows.into_iter().filter_map(|row| row.found.err()).collect())
    }

    fn table(&self, rows: &[Row]) -> String {
        let mut titles = vec![">PARTITION", ">EARLIEST", ">LATEST", ">RECORDS"];
        if self.at.is_some() {
            titles.extend([">AT", "TIMESTAMP"]);
        }
        let mut table = Table::new(&titles);
        for row in rows {
            let mut cells = vec![row.partition.to_string()];
            match &row.found {
                Ok(found) => {
                    cells.extend([found.earliest, found.latest, found.latest - found.earliest].map(|n| n.to_string()));
                    if self.at.is_some() {
                        cells.push(found.at.map_or("none".to_owned(), |at| at.offset.to_string()));
                        cells.push(found.at.and_then(|at| at.timestamp).map(time::format).unwrap_or_default());
                    }
                }
                Err(_) => cells.resize(titles.len().min(5), "-".to_owned()),
            }
            table.row(cells);
        }
        table.render()
    }

    fn to_json(&self, row: &Row) -> Value {
        let found = row.found.as_ref().ok();
        let mut json = json!({
            "topic": self.topic.as_str(),
            "partition": row.partition,
            "earliest": found.map(|found| found.earliest),
            "latest": found.map(|found| found.latest),
        });
        if let Value::Object(map) = &mut json {
            if self.at.is_some() {
                let at = found.and_then(|found| found.at);
                map.insert("at".to_owned(), json!(at.map(|at| at.offset)));
                map.insert("timestamp".to_owned(), json!(at.and_then(|at| at.timestamp)));
            }
            if let Err(failure) = &row.found {
                map.insert("error".to_owned(), json!(failure.message()));
            }
        }
        json
    }

    async fn look_up(&self) -> Result<Vec<Row>> {
        let client = self.network.connect().await?;
        let topic = self.topic.as_str();
        let partitions = Partitions::look_up(&client, topic, &self.partition).await?;
        let specs: Vec<OffsetSpec> =
            [OffsetSpec::Earliest, OffsetSpec::Latest].into_iter().chain(self.at.map(OffsetSpec::Timestamp)).collect();
        // A leader was waited for above.
        let (without, with): (Vec<i32>, Vec<i32>) =
            partitions.wanted.iter().partition(|partition| partitions.leaderless.contains(partition));
        let wanted: Vec<(&str, i32, OffsetSpec)> =
            with.iter().flat_map(|partition| specs.iter().map(|spec| (topic, *partition, *spec))).collect();
        let listed = client.list_offsets(&wanted, Isolation::ReadUncommitted).await;
        let found = with.iter().zip(listed.chunks(specs.len())).map(|(partition, offsets)| {
            let found = Found::new(offsets);
            let preface = || format!("{topic}-{partition}: ");
            (*partition, found.map_err(|error| Failure::from(error).preface(preface())))
        });
        let failed = without.iter().map(|partition| (*partition, Err(no_leader(topic, *partition))));
        let mut rows: Vec<Row> = found.chain(failed).map(|(partition, found)| Row { partition, found }).collect();
        rows.sort_by_key(|row| row.partition);
        Ok(rows)
    }
}

impl Found {
    /// The offsets of a partition, in the order in which they are asked for.
    fn new(offsets: &[Result<Option<FoundOffset>, Error>]) -> Result<Self, Error> {
        let mut offsets = offsets.iter().cloned();
        let mut next = || offsets.next().transpose().map(Option::flatten);
        let end = |found: Option<FoundOffset>| found.map_or(0, |found| found.offset);
        Ok(Self { earliest: end(next()?), latest: end(next()?), at: next()? })
    }
}
