package milena.oracle.records;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.TimestampType;

/** A batch to be written by Kafka's builder, with all that can be set. */
final class Batch {
    /** One record; an offset of its own, so that there can be gaps. */
    record Entry(long offset, long timestamp, byte[] key, byte[] value, Header... headers) {}

    byte magic = 2;
    String codec = "none";
    TimestampType timestampType = TimestampType.CREATE_TIME;
    long logAppendTime = -1;
    long baseOffset;
    int leaderEpoch = -1;
    long producerId = -1;
    short producerEpoch = -1;
    int baseSequence = -1;
    boolean transactional;
    boolean control;
    long deleteHorizon = -1;
    long lastOffset = -1;
    final List<Entry> entries = new ArrayList<>();
    /** What the builder is to append besides. */
    Consumer<Object> further = builder -> {};

    static Batch of(int magic, String codec) {
        Batch batch = new Batch();
        batch.magic = (byte) magic;
        batch.codec = codec;
        return batch;
    }

    Batch add(long timestamp, byte[] key, byte[] value, Header... headers) {
        long offset = entries.isEmpty() ? baseOffset : entries.get(entries.size() - 1).offset() + 1;
        entries.add(new Entry(offset, timestamp, key, value, headers));
        return this;
    }

    byte[] bytes() {
        ByteBuffer start = ByteBuffer.allocate(1024);
        Object out = Kafka.make("ByteBufferOutputStream", start);
        Object builder = Kafka.make("MemoryRecordsBuilder", out, magic, compression(codec), timestampType, baseOffset,
            logAppendTime, producerId, producerEpoch, baseSequence, transactional, control, leaderEpoch, Integer.MAX_VALUE,
            deleteHorizon);
        for (Entry entry : entries) {
            Kafka.call(builder, "appendWithOffset", entry.offset(), entry.timestamp(), entry.key(), entry.value(),
                entry.headers());
        }
        further.accept(builder);
        if (lastOffset >= 0) {
            Kafka.call(builder, "overrideLastOffset", lastOffset);
        }
        Object records = Kafka.call(builder, "build");
        return content((ByteBuffer) Kafka.call(records, "buffer"));
    }

    static Object compression(String codec) {
        return Kafka.call(Kafka.callStatic("Compression", "of", codec), "build");
    }

    static byte[] content(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }
}
