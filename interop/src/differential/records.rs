//! Batches in requests and responses, as JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use milena_records::{BatchBuilder, Batches, Codec, Record};
use serde_json::{Value, json};

/// The time of the first record. Long ago, as Kafka refuses times of the future.
pub(super) const EPOCH_MS: i64 = 1_700_000_000_000;

/// Turns `{"batch": {..}}` of a request into bytes, in base64.
pub(super) fn build(value: &mut Value) -> Result<(), String> {
    match value {
        Value::Object(fields) if fields.contains_key("batch") => {
            let bytes = batch(&fields["batch"]).map_err(|error| error.to_string())?;
            *value = STANDARD.encode(bytes).into();
        }
        Value::Object(fields) => fields.values_mut().try_for_each(build)?,
        Value::Array(list) => list.iter_mut().try_for_each(build)?,
        _ => {}
    }
    Ok(())
}

fn batch(spec: &Value) -> Result<Vec<u8>, milena_records::Error> {
    let number = |name: &str| spec[name].as_i64().unwrap_or(-1);
    let mut builder = BatchBuilder::new()
        .producer(number("producerId"), number("producerEpoch") as i16, number("baseSequence") as i32)
        .transactional(spec["transactional"].as_bool().unwrap_or(false))
        .codec(u8::try_from(number("codec")).ok().and_then(Codec::from_id).unwrap_or(Codec::None));
    for (value, n) in spec["values"].as_array().into_iter().flatten().zip(0..) {
        let mut record = Record::from_value(value.as_str().unwrap_or_default().to_owned());
        record.timestamp = EPOCH_MS + number("time") + n;
        builder.push(&record)?;
    }
    let mut bytes = builder.build()?.to_vec();
    if spec["corrupt"] == true {
        if let Some(last) = bytes.last_mut() {
            *last ^= 1;
        }
    }
    Ok(bytes)
}

/// Turns the records of a response into lists of batches.
pub(super) fn expand(value: &mut Value) -> Result<(), String> {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                match field {
                    Value::String(text) if key == "records" => {
                        let bytes = STANDARD.decode(&*text).map_err(|error| error.to_string())?;
                        *field = batches(bytes).map_err(|error| error.to_string())?;
                    }
                    field => expand(field)?,
                }
            }
        }
        Value::Array(list) => list.iter_mut().try_for_each(expand)?,
        _ => {}
    }
    Ok(())
}

fn batches(bytes: Vec<u8>) -> Result<Value, milena_records::Error> {
    let mut list = Vec::new();
    for batch in Batches::new(bytes.into()) {
        let batch = batch?;
        let control = batch.is_control();
        let mut records = Vec::new();
        for record in batch.records() {
            let record = record?;
            let text = |bytes: Option<&[u8]>| bytes.map(|bytes| STANDARD.encode(bytes));
            // The broker writes control records, at its own time.
            let time = if control { 0 } else { record.timestamp };
            records.push(json!([record.offset, time, text(record.key), text(record.value)]));
        }
        list.push(json!({
            "magic": batch.magic(),
            "baseOffset": batch.base_offset(),
            "lastOffset": batch.last_offset(),
            "partitionLeaderEpoch": batch.partition_leader_epoch(),
            "attributes": batch.attributes(),
            "producerId": batch.producer_id(),
            "producerEpoch": batch.producer_epoch(),
            "baseSequence": batch.base_sequence(),
            "content": records,
        }));
    }
    Ok(list.into())
}
