package milena.oracle.records;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.zip.CRC32C;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.TimestampType;

/** Reads records as a consumer does that checks checksums, and tells what it saw as JSON. */
final class Reading {
    /** Longer parts are told by their length and checksum. */
    private static final int LONG = 256;
    /** What the values of control records hold. */
    private static final Map<String, String> MESSAGES = Map.of("LEADER_CHANGE", "LeaderChangeMessage", "SNAPSHOT_HEADER",
        "SnapshotHeaderRecord", "SNAPSHOT_FOOTER", "SnapshotFooterRecord", "KRAFT_VERSION", "KRaftVersionRecord",
        "KRAFT_VOTERS", "VotersRecord");

    /** Puts the outcome into {@code node}: {@code ok}, {@code partialTail}, {@code error} and {@code batches}. */
    static void of(byte[] bytes, ObjectNode node) {
        Object records = Kafka.callStatic("MemoryRecords", "readableRecords", ByteBuffer.wrap(bytes));
        ArrayNode batches = JsonNodeFactory.instance.arrayNode();
        Throwable failure = null;
        boolean walking = true;
        try {
            Iterator<?> iterator = ((Iterable<?>) Kafka.call(records, "batches")).iterator();
            while (failure == null && iterator.hasNext()) {
                Object batch = iterator.next();
                walking = false;
                failure = batch(batch, batches.addObject());
                walking = true;
            }
        } catch (Exception | Error e) {
            if (!walking) {
                throw e;
            }
            failure = e;
            node.put("error", name(e));
        }
        node.put("ok", failure == null);
        if (failure == null) {
            node.put("partialTail", bytes.length - Kafka.number(records, "validBytes"));
        }
        node.set("batches", batches);
    }

    /** Gives what the consumer fails with. */
    private static Throwable batch(Object batch, ObjectNode node) {
        Throwable unreadable = header(batch, node);
        try {
            Kafka.call(batch, "ensureValid");
            if (unreadable != null) {
                throw new IllegalStateException("a valid batch without header", unreadable);
            }
            Object supplier = Kafka.constant("BufferSupplier", "NO_CACHING");
            ArrayNode records = node.putArray("records");
            boolean control = Kafka.flag(batch, "isControlBatch");
            Object iterator = Kafka.call(batch, "streamingIterator", supplier);
            try {
                while (((Iterator<?>) iterator).hasNext()) {
                    Object record = ((Iterator<?>) iterator).next();
                    Kafka.call(record, "ensureValid");
                    ObjectNode one = JsonNodeFactory.instance.objectNode();
                    record(record, control, one);
                    records.add(one);
                }
            } finally {
                Kafka.call(iterator, "close");
            }
            return null;
        } catch (Exception | Error e) {
            if (e instanceof IllegalStateException && e.getCause() == unreadable && unreadable != null) {
                throw e;
            }
            node.put("error", name(e));
            return e;
        }
    }

    /** What of the header can be read at all; the class of the exception that ended it. */
    private static Throwable header(Object batch, ObjectNode node) {
        ObjectNode head = JsonNodeFactory.instance.objectNode();
        try {
            int magic = (int) Kafka.number(batch, "magic");
            head.put("magic", magic);
            head.put("lastOffset", Kafka.number(batch, "lastOffset"));
            head.put("crc", Kafka.number(batch, "checksum"));
            head.put("crcValid", Kafka.flag(batch, "isValid"));
            head.put("codec", codec(batch));
            TimestampType type = (TimestampType) Kafka.call(batch, "timestampType");
            head.put("timestampType", switch (type) {
                case NO_TIMESTAMP_TYPE -> "none";
                case CREATE_TIME -> "create";
                case LOG_APPEND_TIME -> "logAppend";
            });
            head.put("maxTimestamp", Kafka.number(batch, "maxTimestamp"));
            head.put("sizeInBytes", Kafka.number(batch, "sizeInBytes"));
            Integer count = (Integer) Kafka.call(batch, "countOrNull");
            head.put("count", count);
            if (magic == 2) {
                head.put("baseOffset", Kafka.number(batch, "baseOffset"));
                head.put("nextOffset", Kafka.number(batch, "nextOffset"));
                head.put("partitionLeaderEpoch", Kafka.number(batch, "partitionLeaderEpoch"));
                head.put("baseTimestamp", Kafka.number(batch, "baseTimestamp"));
                head.put("producerId", Kafka.number(batch, "producerId"));
                head.put("producerEpoch", Kafka.number(batch, "producerEpoch"));
                head.put("baseSequence", Kafka.number(batch, "baseSequence"));
                head.put("lastSequence", Kafka.number(batch, "lastSequence"));
                head.put("isTransactional", Kafka.flag(batch, "isTransactional"));
                head.put("isControl", Kafka.flag(batch, "isControlBatch"));
                OptionalLong horizon = (OptionalLong) Kafka.call(batch, "deleteHorizonMs");
                head.put("deleteHorizon", horizon.isPresent() ? (Long) horizon.getAsLong() : null);
            }
        } catch (Exception | Error e) {
            return e;
        }
        node.setAll(head);
        return null;
    }

    private static String codec(Object batch) {
        try {
            return Kafka.call(batch, "compressionType").toString().toLowerCase(Locale.ROOT);
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    private static void record(Object record, boolean control, ObjectNode node) {
        node.put("offset", Kafka.number(record, "offset"));
        node.put("timestamp", Kafka.number(record, "timestamp"));
        ByteBuffer key = (ByteBuffer) Kafka.call(record, "key");
        node.put("key", text(key));
        node.put("value", text((ByteBuffer) Kafka.call(record, "value")));
        ArrayNode headers = node.putArray("headers");
        for (Header header : (Header[]) Kafka.call(record, "headers")) {
            byte[] value = header.value();
            headers.addArray().add(text(ByteBuffer.wrap(header.key().getBytes(StandardCharsets.UTF_8))))
                .add(value == null ? null : text(ByteBuffer.wrap(value)));
        }
        node.put("sequence", Kafka.number(record, "sequence"));
        if (control) {
            node.set("control", control(record, key));
        }
    }

    private static ObjectNode control(Object record, ByteBuffer key) {
        ObjectNode node = JsonNodeFactory.instance.objectNode();
        try {
            String type = Kafka.callStatic("ControlRecordType", "parse", key).toString();
            node.put("type", type);
            if (type.equals("ABORT") || type.equals("COMMIT")) {
                Object marker = Kafka.callStatic("EndTransactionMarker", "deserialize", record);
                node.put("coordinatorEpoch", Kafka.number(marker, "coordinatorEpoch"));
            } else if (MESSAGES.containsKey(type)) {
                Kafka.callStatic("ControlRecordUtils", "deserialize" + MESSAGES.get(type), record);
            }
            return node;
        } catch (Exception | Error e) {
            node.removeAll();
            return node.put("error", name(e));
        }
    }

    private static String text(ByteBuffer part) {
        if (part == null) {
            return null;
        }
        byte[] bytes = new byte[part.remaining()];
        part.duplicate().get(bytes);
        if (bytes.length <= LONG) {
            return Base64.getEncoder().encodeToString(bytes);
        }
        CRC32C crc = new CRC32C();
        crc.update(bytes);
        return String.format("#%d:%08x", bytes.length, crc.getValue());
    }

    static String name(Throwable e) {
        return e.getClass().getSimpleName();
    }

    private Reading() {}
}
