use bytes::Bytes;

use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::options::ReadOptions;
use crate::read::batch::{Batch, TimestampType};
use crate::read::batches::Batches;
use crate::write::builder::BatchBuilder;
use crate::write::message_set::MessageSetBuilder;

/// Rewrites batches for a reader who knows formats up to `magic` only, as a broker did for old consumers.
///
/// Offsets, timestamps and codecs stay; headers, sequences and, in magic 0, timestamps are lost. Batches that are old
/// enough pass unchanged, control batches are left out, and so is an entry that is cut off at the end.
///
/// # Errors
/// What reading gives, the first of it; zstd, which old formats do not have; a magic other than 0 to 2.
pub fn down_convert(bytes: Bytes, magic: i8, options: ReadOptions) -> Result<Bytes> {
    convert(bytes, magic, options, |batch| batch.magic() <= magic)
}

/// Rewrites old entries in the format `magic`, as a broker does with what old producers send.
///
/// A compressed set becomes one batch with the same codec; messages that follow each other become one batch as long as
/// their offsets ascend and their timestamps are of one kind. Batches that are new enough pass unchanged, and an entry
/// that is cut off at the end is left out.
///
/// # Errors
/// What reading gives, the first of it; a magic other than 0 to 2.
pub fn up_convert(bytes: Bytes, magic: i8, options: ReadOptions) -> Result<Bytes> {
    convert(bytes, magic, options, |batch| batch.magic() >= magic)
}

fn convert(bytes: Bytes, magic: i8, options: ReadOptions, keep: impl Fn(&Batch) -> bool) -> Result<Bytes> {
    if !(0..=2).contains(&magic) {
        return Err(Error::invalid(format!("magic {magic}, there are 0, 1 and 2")));
    }
    let mut out = Vec::new();
    let mut run: Option<Run> = None;
    let mut changed = false;
    let mut walk = Batches::with_options(bytes.clone(), options);
    for batch in walk.by_ref() {
        let batch = batch?;
        if !keep(&batch) {
            changed = true;
            if batch.is_control() && magic < 2 {
                continue;
            }
            let single = batch.magic() < 2 && !batch.is_compressed();
            if single {
                if let Some(run) = run.as_mut().filter(|run| run.takes(&batch)) {
                    run.append(&batch)?;
                    continue;
                }
            }
            finish(&mut run, &mut out)?;
            if let Some(mut next) = Run::new(&batch, magic)? {
                next.append(&batch)?;
                run = Some(next);
            }
            if !single {
                finish(&mut run, &mut out)?;
            }
        } else {
            finish(&mut run, &mut out)?;
            out.extend_from_slice(batch.bytes());
        }
    }
    finish(&mut run, &mut out)?;
    Ok(if changed { out.into() } else { bytes.slice(..walk.position()) })
}

fn finish(run: &mut Option<Run>, out: &mut Vec<u8>) -> Result<()> {
    if let Some(run) = run.take() {
        out.extend_from_slice(&match run.target {
            Target::Batch(builder) => builder.build()?,
            Target::Set(builder) => builder.build()?,
        });
    }
    Ok(())
}

enum Target {
    Batch(BatchBuilder),
    Set(MessageSetBuilder),
}

/// What entries are being collected into.
struct Run {
    target: Target,
    base_offset: i64,
    timestamps: (TimestampType, Option<i64>),
}

/// The kind of timestamps, and the one there is with LogAppendTime.
fn timestamps(batch: &Batch) -> (TimestampType, Option<i64>) {
    let kind = batch.timestamp_type();
    (kind, (kind == TimestampType::LogAppendTime).then(|| batch.max_timestamp()))
}

impl Run {
    /// `None` for a batch without records.
    fn new(batch: &Batch, magic: i8) -> Result<Option<Self>> {
        let codec = batch.codec()?;
        if codec == Codec::Zstd && magic < 2 {
            return Err(Error::invalid("zstd needs magic 2").in_field("attributes").in_batch(batch.place()));
        }
        let Some(first) = batch.records().next().transpose()? else {
            return Ok(None);
        };
        let base_offset = if batch.magic() == 2 { batch.base_offset() } else { first.offset };
        let timestamps = timestamps(batch);
        let target = if magic == 2 {
            let builder = BatchBuilder::new().base_offset(base_offset).codec(codec);
            Target::Batch(match timestamps.1 {
                Some(timestamp) => builder.log_append_time(timestamp),
                None => builder,
            })
        } else {
            let builder = MessageSetBuilder::new(magic)?.base_offset(base_offset).codec(codec);
            Target::Set(match timestamps.1 {
                Some(timestamp) => builder.log_append_time(timestamp),
                None => builder,
            })
        };
        Ok(Some(Self { target, base_offset, timestamps }))
    }

    /// Whether a message that stands for itself may join those before it.
    fn takes(&self, batch: &Batch) -> bool {
        let next_offset = match &self.target {
            Target::Batch(builder) => builder.next_offset(),
            Target::Set(builder) => builder.next_offset(),
        };
        let offset = batch.base_offset();
        let near = offset.checked_sub(self.base_offset).is_some_and(|delta| delta < i32::MAX.into());
        timestamps(batch) == self.timestamps && offset >= next_offset && near
    }

    fn append(&mut self, batch: &Batch) -> Result<()> {
        for (index, record) in batch.records().enumerate() {
            let record = record?;
            let appended = match &mut self.target {
                Target::Batch(builder) => builder.push_at_offset(&record),
                // Old formats lack headers, and they are dropped.
                Target::Set(builder) => builder.append(record.offset, &record),
            };
            appended.map_err(|error| error.in_record(index).in_batch(batch.place()))?;
        }
        Ok(())
    }
}
