package milena.oracle;

import java.lang.reflect.Array;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.HexFormat;

import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/** Reading and writing with Kafka's classes, and what they throw. */
final class Codec {
    /** Bytes, or the exception in their place. */
    static final class Written {
        final byte[] bytes;
        final String exception;

        private Written(byte[] bytes, String exception) {
            this.bytes = bytes;
            this.exception = exception;
        }

        String hex() {
            return Codec.hex(bytes);
        }
    }

    /** A message and the bytes behind it, or the exception in their place. */
    static final class Read {
        final Message message;
        final int leftover;
        final String exception;

        private Read(Message message, int leftover, String exception) {
            this.message = message;
            this.leftover = leftover;
            this.exception = exception;
        }
    }

    static Written write(Message message, short version) {
        try {
            ObjectSerializationCache cache = new ObjectSerializationCache();
            int size = message.size(cache, version);
            ByteBuffer buffer = ByteBuffer.allocate(size);
            message.write(new ByteBufferAccessor(buffer), cache, version);
            if (buffer.hasRemaining()) {
                throw new AssertionError("size() and write() disagree: " + message);
            }
            return new Written(buffer.array(), null);
        } catch (RuntimeException e) {
            return new Written(null, name(e));
        }
    }

    static Read read(Class<?> type, byte[] bytes, short version) {
        try {
            ByteBufferAccessor accessor = new ByteBufferAccessor(ByteBuffer.wrap(bytes));
            Message message = Shape.create(type);
            message.read(accessor, version);
            return new Read(message, accessor.remaining(), null);
        } catch (RuntimeException e) {
            return new Read(null, 0, name(e));
        }
    }

    private static String name(RuntimeException e) {
        return e.getClass().getSimpleName();
    }

    static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    /** Record batches around bytes; the classes have moved between releases. */
    static Object records(byte[] bytes) {
        try {
            return recordsClass("MemoryRecords").getMethod("readableRecords", ByteBuffer.class)
                .invoke(null, ByteBuffer.wrap(bytes));
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** One uncompressed batch of magic 2 with one record, written by Kafka. */
    static byte[] batch(long timestamp, byte[] key, byte[] value) {
        try {
            Class<?> simple = recordsClass("SimpleRecord");
            Object list = Array.newInstance(simple, 1);
            Array.set(list, 0, simple.getConstructor(long.class, byte[].class, byte[].class)
                .newInstance(timestamp, key, value));
            Object memory = null;
            for (Method method : recordsClass("MemoryRecords").getMethods()) {
                Class<?>[] types = method.getParameterTypes();
                if (method.getName().equals("withRecords") && types.length == 2 && types[1] == list.getClass()
                    && (types[0].getSimpleName().equals("Compression")
                        || types[0].getSimpleName().equals("CompressionType"))) {
                    Object none = types[0].getField("NONE").get(null);
                    memory = method.invoke(null, none, list);
                }
            }
            ByteBuffer buffer = (ByteBuffer) recordsClass("MemoryRecords").getMethod("buffer").invoke(memory);
            byte[] bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            return bytes;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    static byte[] content(Object records) {
        try {
            Method method = records.getClass().getMethod("buffer");
            ByteBuffer buffer = ((ByteBuffer) method.invoke(records)).duplicate();
            byte[] bytes = new byte[buffer.remaining()];
            buffer.get(bytes);
            return bytes;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Class<?> recordsClass(String name) throws ClassNotFoundException {
        try {
            return Class.forName("org.apache.kafka.common.record." + name);
        } catch (ClassNotFoundException e) {
            return Class.forName("org.apache.kafka.common.record.internal." + name);
        }
    }

    private Codec() {}
}
