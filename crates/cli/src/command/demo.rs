use std::io::Write as _;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use clap::Args;
use milena_broker::{Broker, BrokerConfig};
use milena_client::{Acks, Client, Codec, NewTopic, RangeOptions, Record, Start, Stop, Target};
use milena_messages::ApiKey;
use serde_json::json;

use crate::conversation::Conversation;
use crate::failure::{Failure, Result};
use crate::network::{Manner, block_on};
use crate::output::{Paint, short};

const EXAMPLES: &str = "Examples:
  milena demo                                      with a broker in this process
  milena demo --codec zstd
  milena demo --bootstrap localhost:9092           with a real cluster
  milena demo --json | jq -c '[.direction, .api, .version, .size]'

With --bootstrap, the topic is called milena-demo- and a number, and is deleted at the end.";

/// The first version of Produce whose records have headers (KIP-82).
const FIRST_WITH_HEADERS: i16 = 3;

/// Show what a client and a broker send each other, frame by frame
///
/// Starts a broker in this process, creates a topic, writes compressed records with keys and headers, and reads them back.
/// Prints every frame on the wire: direction, API, version, correlation id, size, and content. At the end it compares what
/// it read with what it wrote.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Demo {
    /// Use this cluster; one reachable broker is enough
    #[arg(long, short, value_name = "HOST:PORT", value_delimiter = ',')]
    bootstrap: Vec<String>,

    /// Compression of the batches: none, gzip, snappy, lz4 or zstd
    #[arg(long, value_name = "CODEC", default_value = "gzip")]
    codec: Codec,

    /// Print JSON: a line for each frame and a summary
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    manner: Manner,
}

impl Demo {
    pub(crate) fn run(self) -> Result {
        if self.bootstrap.is_empty() && self.manner.wants_tls() {
            return Err(Failure::usage("the broker of the demo does not support TLS")
                .hint("give a cluster with TLS by --bootstrap, or leave out the TLS options"));
        }
        block_on(self.play())
    }

    async fn play(self) -> Result {
        let started = Instant::now();
        let stage = Stage { json: self.json, conversation: Arc::new(Conversation::to_stdout(self.json)) };
        let (broker, bootstrap, topic) = match self.bootstrap.is_empty() {
            true => {
                let broker = Broker::start(BrokerConfig::default()).await.map_err(Failure::failed)?;
                let bootstrap = vec![broker.bootstrap()];
                stage.say(&format!("A broker runs in this process, on {}.", broker.bootstrap()))?;
                (Some(broker), bootstrap, "letters".to_owned())
            }
            false => {
                let since_1970 = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
                (None, self.bootstrap.clone(), format!("milena-demo-{}", since_1970.as_millis()))
            }
        };

        let config = self.manner.config(bootstrap, Some(stage.conversation.clone()))?;
        stage.act("Connect: which versions does the broker support?")?;
        let client = Client::connect(config).await?;
        let result = self.perform(&client, &topic, &stage).await;
        if broker.is_none() {
            // Also after an error: the topic may exist already.
            let deleted = self.clear(&client, &topic, &stage).await;
            result?;
            deleted?;
        } else {
            result?;
        }
        drop(client);
        if let Some(broker) = broker {
            broker.shutdown().await;
        }
        stage.end(started)
    }

    async fn perform(&self, client: &Client, topic: &str, stage: &Stage) -> Result {
        let versions = client.versions(Target::Any).await?;
        let partitions = if versions.of(ApiKey::CREATE_TOPICS).is_empty() {
            stage.act(&format!("Ask for the metadata of {topic}: a broker this old creates topics only this way"))?;
            let named = client.metadata(Some(&[topic])).await?;
            named.topic(topic).map_or(1, |topic| topic.partitions.len().max(1))
        } else {
            stage.act(&format!("Create the topic {topic}, and wait until it has leaders"))?;
            client.create_topic(NewTopic::new(topic, 2, 1)).await?.partitions.len()
        };
        let mut written = vec![Vec::new(); partitions];
        let headers = versions.of(ApiKey::PRODUCE).max() >= FIRST_WITH_HEADERS;
        if !headers {
            stage.act("This broker is older than the headers of records (0.11), so they are left out")?;
        }
        for (index, mut records) in [letters(), answers()].into_iter().enumerate() {
            let partition = index % partitions;
            if !headers {
                records.iter_mut().for_each(|record| record.headers.clear());
            }
            let what =
                format!("Write {} records to partition {partition}, compressed with {}", records.len(), self.codec);
            stage.act(&what)?;
            client.produce(topic, partition as i32, Acks::All, self.codec, records.clone()).await?;
            written[partition].append(&mut records);
        }

        let mut read = Vec::new();
        for partition in 0..partitions {
            stage.act(&format!("Read partition {partition} from its beginning to its end"))?;
            let options = RangeOptions::default();
            let mut reader = client.fetch_range(topic, partition as i32, Start::EARLIEST, Stop::End, options).await?;
            read.push(reader.read_all().await?);
        }
        if !self.json {
            stage.act("What was read")?;
            for (partition, records) in read.iter().enumerate() {
                for record in records {
                    stage.record(topic, partition, record)?;
                }
            }
        }
        for (written, read) in written.iter().zip(&read) {
            let same =
                written.iter().zip(read).all(|(a, b)| (&a.key, &a.value, &a.headers) == (&b.key, &b.value, &b.headers));
            if written.len() != read.len() || !same {
                return Err(Failure::failed("what was read is not what was written"));
            }
        }
        Ok(())
    }

    async fn clear(&self, client: &Client, topic: &str, stage: &Stage) -> Result {
        if client.versions(Target::Any).await?.of(ApiKey::DELETE_TOPICS).is_empty() {
            return stage.act(&format!("The topic {topic} stays: a broker this old has no API to delete topics"));
        }
        stage.act(&format!("Delete the topic {topic}"))?;
        for outcome in client.delete_topics(&[topic]).await? {
            outcome.result?;
        }
        Ok(())
    }
}

fn letters() -> Vec<Record> {
    vec![
        Record::new("vienna", "Dear Milena, do letters arrive in the order they were sent?").with_header("lang", "en"),
        Record::new("vienna", "And is one that was never replied to still there?").with_header("lang", "en"),
        Record { key: Some("prague".into()), value: None, ..Record::default() }.with_header("why", "forget this one"),
    ]
}

fn answers() -> Vec<Record> {
    vec![
        Record::new("prague", "V každé přihrádce ano. A nic se neztratí.").with_header("lang", "cs"),
        Record::from_value("").with_header("why", "empty is not null"),
    ]
}

/// Where everything is printed.
struct Stage {
    json: bool,
    conversation: Arc<Conversation>,
}

impl Stage {
    /// A human-readable line.
    fn say(&self, text: &str) -> Result {
        // What the frames could not print, this cannot either.
        self.conversation.traffic()?;
        if !self.json {
            writeln!(std::io::stdout(), "{text}")?;
        }
        Ok(())
    }

    fn act(&self, title: &str) -> Result {
        self.say(&format!("\n{}", Paint::stdout().bold(title)))
    }

    fn record(&self, topic: &str, partition: usize, record: &Record) -> Result {
        let text = |bytes: &Option<bytes::Bytes>| match bytes {
            Some(bytes) => format!("{:?}", short(&String::from_utf8_lossy(bytes), 62)),
            None => "null".to_owned(),
        };
        let headers: Vec<String> = record
            .headers
            .iter()
            .map(|header| {
                format!(
                    "{}={}",
                    String::from_utf8_lossy(&header.key),
                    header.value.as_deref().map(String::from_utf8_lossy).unwrap_or_default()
                )
            })
            .collect();
        self.say(&format!(
            "  {topic}-{partition} @{}  {} => {}",
            record.offset,
            text(&record.key),
            text(&record.value)
        ))?;
        self.say(&format!("  {:1$}     {2}", "", topic.len() + 2, Paint::stdout().dim(&headers.join(", "))))
    }

    fn end(&self, started: Instant) -> Result {
        let traffic = self.conversation.traffic()?;
        let (records, millis) = (letters().len() + answers().len(), started.elapsed().as_millis());
        if self.json {
            let summary = json!({
                "records": records,
                "frames": traffic.frames,
                "bytesSent": traffic.bytes_sent,
                "bytesReceived": traffic.bytes_received,
                "milliseconds": millis as u64,
            });
            writeln!(std::io::stdout(), "{}", json!({ "summary": summary }))?;
            return Ok(());
        }
        self.say(&format!(
            "\n{} {records} records went out and came back whole: {} frames, {} bytes sent, {} received, {millis} ms.",
            Paint::stdout().color(Paint::GREEN, "Done."),
            traffic.frames,
            traffic.bytes_sent,
            traffic.bytes_received,
        ))
    }
}
