use bytes::Bytes;
use milena::legacy::{
    Message, MessageSet, decode_consumer_metadata_response, decode_fetch_response, decode_list_offset_response,
    decode_message_set, decode_metadata_response, decode_offset_commit_response, decode_offset_fetch_response,
    decode_offset_response, decode_produce_response,
};
use milena::records::{Codec, ErrorKind};

const LIMIT: usize = 1 << 20;

/// A run of entries of any magic, read in both modes, converted and rewritten.
pub fn records_read(data: &[u8]) {
    milena_records::fuzz::read(data);
}

/// A script of records, written in every format and read back.
pub fn records_write(data: &[u8]) {
    milena_records::fuzz::write(data);
}

/// Through each codec and back.
pub fn codecs(data: &[u8]) {
    milena_records::fuzz::codec(data);
}

/// A gzip payload.
pub fn codec_gzip(data: &[u8]) {
    payload(Codec::Gzip, data);
}

/// A snappy payload.
pub fn codec_snappy(data: &[u8]) {
    payload(Codec::Snappy, data);
}

/// An LZ4 payload.
pub fn codec_lz4(data: &[u8]) {
    payload(Codec::Lz4, data);
}

/// A zstd payload.
pub fn codec_zstd(data: &[u8]) {
    payload(Codec::Zstd, data);
}

/// The limit is kept to the byte, and the payload does no harm inside of a batch either, which is also read by the
/// tolerant mode.
fn payload(codec: Codec, data: &[u8]) {
    for magic in 0..=2 {
        let Ok(read) = codec.decompress_message(data, LIMIT, magic) else { continue };
        assert!(read.len() <= LIMIT);
        assert_eq!(codec.decompress_message(data, read.len(), magic).as_ref(), Ok(&read), "the limit is just enough");
        if let Some(less) = read.len().checked_sub(1) {
            let error = codec.decompress_message(data, less, magic).expect_err("one byte more than the limit");
            assert_eq!(error.kind(), ErrorKind::LimitExceeded, "{error}");
        }
    }
    records_read(&batch(codec, data));
}

/// A batch that says it has a thousand records in this payload.
fn batch(codec: Codec, payload: &[u8]) -> Vec<u8> {
    let mut batch = Vec::with_capacity(61 + payload.len());
    batch.extend(0i64.to_be_bytes());
    batch.extend((49 + payload.len() as i32).to_be_bytes());
    batch.extend([0, 0, 0, 0, 2, 0, 0, 0, 0, 0, codec.id()]);
    batch.extend(999i32.to_be_bytes());
    batch.extend([0; 16]);
    batch.extend([0xff; 14]);
    batch.extend(1000i32.to_be_bytes());
    batch.extend(payload);
    batch
}

/// Responses and message sets as kafka-python's old client reads them.
pub fn legacy(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    let _ = decode_produce_response(bytes.clone());
    let _ = decode_fetch_response(bytes.clone());
    let _ = decode_offset_response(bytes.clone());
    let _ = decode_list_offset_response(bytes.clone());
    let _ = decode_metadata_response(bytes.clone());
    let _ = decode_consumer_metadata_response(bytes.clone());
    let _ = decode_offset_commit_response(bytes.clone());
    let _ = decode_offset_fetch_response(bytes.clone());
    let _ = decode_message_set(bytes.clone());
    for item in MessageSet::decode(bytes.clone(), None).unwrap_or_default() {
        if let Some(message) = item.message.message() {
            let _ = (message.validate_crc(), message.decompress());
        }
    }
    if let Ok(message) = Message::decode(bytes) {
        let again = message.encode_with_crc().expect("it was read");
        let again = Message::decode(again).expect("it was written");
        let parts =
            |message: &Message| (message.attributes(), message.timestamp(), message.crc(), message.value().cloned());
        assert_eq!(parts(&again), parts(&message));
    }
}
