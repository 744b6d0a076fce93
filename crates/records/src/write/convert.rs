use bytes::Bytes;

use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::layout::{CODEC_BITS, LOG_OVERHEAD, SIZE, put_i16, put_i32, put_u32, v2};
use crate::options::ReadOptions;
use crate::read::batch::{Batch, TimestampType, crc_of};
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
    known(magic)?;
    convert(bytes, options, |batch| match batch.magic() <= magic {
        true => Ok(Plan::Keep),
        false if batch.is_control() && magic < 2 => Ok(Plan::Drop),
        false => Ok(Plan::Rebuild { magic, codec: batch.codec()? }),
    })
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
    known(magic)?;
    convert(bytes, options, |batch| match batch.magic() >= magic {
        true => Ok(Plan::Keep),
        false => Ok(Plan::Rebuild { magic, codec: batch.codec()? }),
    })
}

/// Compresses batches with another codec, or with none, and changes nothing else.
///
/// A batch of magic 2 keeps its header and the bytes of its records; only codec, size and checksum change. Control batches
/// stay as they are, because Kafka never compresses them. In magic 0 and 1, messages that follow each other become one
/// compressed set, and without a codec each message of a set becomes an entry. What has the codec already passes
/// unchanged, and an entry that is cut off at the end is left out.
///
/// ```
/// use milena_records::{Batches, Codec, ReadOptions, Record, encode, recompress};
///
/// let sent = encode(&[Record::new("k", "v".repeat(1000))], Codec::Gzip)?;
/// let stored = recompress(sent, Codec::Lz4, ReadOptions::default())?;
/// let batch = Batches::new(stored).next().unwrap()?;
/// assert_eq!(batch.codec()?, Codec::Lz4);
/// assert_eq!(batch.records().next().unwrap()?.value.unwrap().len(), 1000);
/// # Ok::<(), milena_records::Error>(())
/// ```
///
/// # Errors
/// What reading gives, the first of it; a codec that this build lacks; zstd in magic 0 and 1.
pub fn recompress(bytes: Bytes, codec: Codec, options: ReadOptions) -> Result<Bytes> {
    convert(bytes, options, |batch| match (batch.magic(), batch.codec()? == codec || batch.is_control()) {
        (_, true) => Ok(Plan::Keep),
        (2, false) => Ok(Plan::Write(with_codec(batch, codec)?)),
        (magic, false) => Ok(Plan::Rebuild { magic, codec }),
    })
}

/// A batch of magic 2 with its records in another compression.
fn with_codec(batch: &Batch, codec: Codec) -> Result<Vec<u8>> {
    let mut out = batch.bytes()[..v2::HEADER].to_vec();
    let size =
        |out: &[u8]| i32::try_from(out.len() - LOG_OVERHEAD).map_err(|_| Error::invalid("a batch of more than 2 GiB"));
    codec.compress_into(batch.uncompressed()?, None, 2, &mut out).map_err(|error| error.in_batch(batch.place()))?;
    let size = size(&out)?;
    put_i32(&mut out, SIZE, size);
    let attributes = batch.attributes() & !CODEC_BITS | i16::from(codec.id());
    put_i16(&mut out, v2::ATTRIBUTES, attributes);
    let crc = crc_of(&out);
    put_u32(&mut out, v2::CRC, crc);
    Ok(out)
}

fn known(magic: i8) -> Result<()> {
    if (0..=2).contains(&magic) {
        Ok(())
    } else {
        Err(Error::invalid(format!("magic {magic} is unknown; expected 0, 1 or 2")))
    }
}

/// What becomes of an entry.
enum Plan {
    Keep,
    Drop,
    Write(Vec<u8>),
    Rebuild { magic: i8, codec: Codec },
}

fn convert(bytes: Bytes, options: ReadOptions, plan: impl Fn(&Batch) -> Result<Plan>) -> Result<Bytes> {
    let mut out = Vec::new();
    let mut run: Option<Run> = None;
    let mut changed = false;
    let mut walk = Batches::with_options(bytes.clone(), options);
    for batch in walk.by_ref() {
        let batch = batch?;
        let plan = plan(&batch)?;
        changed |= !matches!(plan, Plan::Keep);
        if let Plan::Rebuild { magic, codec } = plan {
            let single = batch.magic() < 2 && !batch.is_compressed();
            if single {
                if let Some(run) = run.as_mut().filter(|run| run.takes(&batch)) {
                    run.append(&batch)?;
                    continue;
                }
            }
            finish(&mut run, &mut out)?;
            if let Some(mut next) = Run::new(&batch, magic, codec)? {
                next.append(&batch)?;
                run = Some(next);
            }
            if !single {
                finish(&mut run, &mut out)?;
            }
        } else {
            match plan {
                Plan::Drop => continue,
                Plan::Write(bytes) => {
                    finish(&mut run, &mut out)?;
                    out.extend_from_slice(&bytes);
                }
                Plan::Keep | Plan::Rebuild { .. } => {
                    finish(&mut run, &mut out)?;
                    out.extend_from_slice(batch.bytes());
                }
            }
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
    fn new(batch: &Batch, magic: i8, codec: Codec) -> Result<Option<Self>> {
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
