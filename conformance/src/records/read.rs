use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milena_records::{Batch, Batches, Control, Error, RecordRef, TimestampType};
use milena_wire::Bytes;
use serde_json::{Value, json};

/// Parts above this many bytes are given by length and checksum, as in the vectors.
const LONG: usize = 256;

/// What the strict reader makes of a set, in the form of the vectors; an `error` says kind and text.
pub fn read_set(bytes: &Bytes) -> Value {
    let mut batches = Batches::new(bytes.clone());
    let mut read = Vec::new();
    let mut walk_error = None;
    let mut ok = true;
    while ok {
        match batches.next() {
            None => break,
            Some(Ok(batch)) => {
                let json = read_batch(&batch);
                ok = json.get("error").is_none();
                read.push(json);
            }
            Some(Err(error)) => {
                ok = false;
                if error.kind() == milena_records::ErrorKind::Framing {
                    walk_error = Some(text_of(&error));
                } else {
                    read.push(json!({ "error": text_of(&error) }));
                }
            }
        }
    }
    let mut set = json!({ "ok": ok, "batches": read });
    if let Some(error) = walk_error {
        set["error"] = error.into();
    }
    if ok {
        set["partialTail"] = batches.partial().map_or(0, |partial| partial.size).into();
    }
    set
}

fn text_of(error: &Error) -> String {
    format!("{}: {error}", error.kind())
}

fn read_batch(batch: &Batch) -> Value {
    let mut json = json!({
        "magic": batch.magic(),
        "lastOffset": batch.last_offset(),
        "crc": batch.crc(),
        "crcValid": batch.check_crc().is_ok(),
        "codec": batch.codec().ok().map(|codec| codec.name()),
        "timestampType": match batch.timestamp_type() {
            TimestampType::None => "none",
            TimestampType::CreateTime => "create",
            TimestampType::LogAppendTime => "logAppend",
        },
        "maxTimestamp": batch.max_timestamp(),
        "sizeInBytes": batch.size_in_bytes(),
        "count": batch.count(),
    });
    if batch.magic() == 2 {
        json["baseOffset"] = batch.base_offset().into();
        json["nextOffset"] = batch.next_offset().into();
        json["partitionLeaderEpoch"] = batch.partition_leader_epoch().into();
        json["baseTimestamp"] = batch.base_timestamp().into();
        json["producerId"] = batch.producer_id().into();
        json["producerEpoch"] = batch.producer_epoch().into();
        json["baseSequence"] = batch.base_sequence().into();
        json["lastSequence"] = batch.last_sequence().into();
        json["isTransactional"] = batch.is_transactional().into();
        json["isControl"] = batch.is_control().into();
        json["deleteHorizon"] = batch.delete_horizon().into();
    }
    if let Err(error) = batch.check_crc() {
        json["error"] = text_of(&error).into();
        return json;
    }
    let mut records = Vec::new();
    for record in batch.records() {
        match record {
            Ok(record) => records.push(read_record(&record, batch.is_control())),
            Err(error) => {
                json["error"] = text_of(&error).into();
                break;
            }
        }
    }
    json["records"] = records.into();
    json
}

fn read_record(record: &RecordRef<'_>, control: bool) -> Value {
    let headers: Vec<Value> =
        record.headers().map(|header| json!([part(header.key_str().as_bytes()), header.value.map(part)])).collect();
    let mut json = json!({
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": record.key.map(part),
        "value": record.value.map(part),
        "headers": headers,
        "sequence": record.sequence(),
    });
    if control {
        json["control"] = match Control::parse(record) {
            Ok(control @ (Control::Abort { coordinator_epoch } | Control::Commit { coordinator_epoch })) => {
                json!({ "type": control.name(), "coordinatorEpoch": coordinator_epoch })
            }
            Ok(control) => json!({ "type": control.name() }),
            Err(error) => json!({ "error": text_of(&error) }),
        };
    }
    json
}

fn part(bytes: &[u8]) -> String {
    if bytes.len() <= LONG { STANDARD.encode(bytes) } else { format!("#{}:{:08x}", bytes.len(), crc32c::crc32c(bytes)) }
}
