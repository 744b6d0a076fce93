package milena.oracle;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.SplittableRandom;

import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.types.RawTaggedField;

/** Values for messages, the same ones for the same seed. */
final class Values {
    enum Style {
        /** Every field has a value, short, and most likely not its default. */
        FULL,
        /** Nulls, empties, the ends of every range, long texts, unknown tags. */
        EDGES,
        /** Anything. */
        MIXED
    }

    private static final String[] TEXTS = {
        "", "a", "milena", "žluťoučký kůň", "多語言", "🦀\u0000\u00ff", "-", "topic.with-dashes_1", "\"\\\n\t/", "\ufeff\u2028", "null",
    };

    private final SplittableRandom random;
    private final Style style;
    private final short version;

    Values(long seed, Style style, short version) {
        this.random = new SplittableRandom(seed);
        this.style = style;
        this.version = version;
    }

    /** Seeds one pair of message and version, so that it does not depend on what else is written. */
    static long seed(long seed, String name, int version, int purpose) {
        long hash = 0xcbf29ce484222325L;
        for (byte b : (seed + " " + name + " " + version + " " + purpose).getBytes(StandardCharsets.UTF_8)) {
            hash = (hash ^ (b & 0xff)) * 0x100000001b3L;
        }
        return hash;
    }

    Message message(Class<?> type) {
        return struct(type, 0);
    }

    private Message struct(Class<?> type, int depth) {
        Shape shape = Shape.of(type);
        Message message = shape.blank(version);
        for (Shape.Slot slot : shape.slots) {
            if (!shape.has(slot, version)) {
                continue;
            }
            if (shape.isTagged(slot, version) && style != Style.FULL && random.nextInt(3) == 0) {
                continue;
            }
            if (slot.reference() && style != Style.FULL && random.nextInt(style == Style.EDGES ? 2 : 5) == 0
                && shape.nullable(slot, version)) {
                slot.set(message, null);
                continue;
            }
            slot.set(message, slot.kind == Shape.Kind.ARRAY ? array(slot, depth) : value(slot.kind, slot.struct, depth));
        }
        if (shape.flexible(version) && random.nextInt(style == Style.EDGES ? 2 : 4) == 0) {
            unknown(message);
        }
        return message;
    }

    private Object array(Shape.Slot slot, int depth) {
        int most = depth == 0 ? 3 : 2;
        int size = switch (style) {
            case FULL -> depth == 0 ? 2 : 1;
            case EDGES -> random.nextInt(depth == 0 ? 2 : 3);
            case MIXED -> random.nextInt(most + 1);
        };
        if (style == Style.EDGES && slot.element != Shape.Kind.STRUCT && random.nextInt(40) == 0) {
            size = 127 + random.nextInt(3);
        }
        Collection<Object> items = slot.collection();
        for (int i = 0; i < size; i++) {
            items.add(value(slot.element, slot.struct, depth + 1));
        }
        return items;
    }

    private Object value(Shape.Kind kind, Class<?> struct, int depth) {
        return switch (kind) {
            case BOOL -> random.nextBoolean();
            case INT8 -> (byte) number(Byte.MIN_VALUE, Byte.MAX_VALUE);
            case INT16 -> (short) number(Short.MIN_VALUE, Short.MAX_VALUE);
            case INT32 -> (int) number(Integer.MIN_VALUE, Integer.MAX_VALUE);
            case INT64 -> number(Long.MIN_VALUE, Long.MAX_VALUE);
            case UINT16 -> (int) number(0, 0xffff);
            case UINT32 -> number(0, 0xffffffffL);
            case FLOAT64 -> decimal();
            case UUID -> uuid();
            case STRING -> text();
            case BYTES -> octets();
            case BUFFER -> ByteBuffer.wrap(octets());
            case RECORDS -> Codec.records(batches());
            case STRUCT -> struct(struct, depth + 1);
            case ARRAY -> throw new IllegalStateException("an array of arrays");
        };
    }

    private long number(long low, long high) {
        int pick = style == Style.FULL ? 9 : random.nextInt(style == Style.EDGES ? 6 : 10);
        return switch (pick) {
            case 0 -> 0;
            case 1 -> 1;
            case 2 -> Math.max(low, -1);
            case 3, 4 -> low;
            case 5 -> high;
            case 6 -> high >> 1;
            default -> {
                // Small numbers now and then: as counts and ids they are what traffic has.
                if (random.nextInt(3) == 0) {
                    yield random.nextInt(100) + 2;
                }
                long bits = random.nextLong();
                yield high == Long.MAX_VALUE ? bits : low + Math.floorMod(bits, high - low + 1);
            }
        };
    }

    private double decimal() {
        double[] edges = {
            0.0, -0.0, 1.0, -1.5, Double.MAX_VALUE, Double.MIN_VALUE, Double.NaN, Double.POSITIVE_INFINITY,
            Double.NEGATIVE_INFINITY, 0.1, 1e21, 1234567890123456789.0,
        };
        return style == Style.EDGES ? edges[random.nextInt(edges.length)] : random.nextDouble() * 1e6;
    }

    private Uuid uuid() {
        if (style != Style.FULL && random.nextInt(3) == 0) {
            return random.nextBoolean() ? Uuid.ZERO_UUID : new Uuid(-1L, -1L);
        }
        return new Uuid(random.nextLong(), random.nextLong());
    }

    private String text() {
        if (style == Style.FULL) {
            return TEXTS[1 + random.nextInt(7)] + random.nextInt(1000);
        }
        if (random.nextInt(12) == 0) {
            // Around the length where a compact length takes a second byte.
            return (random.nextBoolean() ? "x" : "é").repeat(random.nextInt(4) == 0 ? 300 : 61 + random.nextInt(68));
        }
        return TEXTS[random.nextInt(TEXTS.length)];
    }

    private byte[] octets() {
        int size = switch (style) {
            case FULL -> 1 + random.nextInt(8);
            case EDGES -> random.nextInt(8) == 0 ? 126 + random.nextInt(4) : random.nextInt(2);
            case MIXED -> random.nextInt(20);
        };
        byte[] bytes = new byte[size];
        for (int i = 0; i < size; i++) {
            bytes[i] = (byte) random.nextInt();
        }
        return bytes;
    }

    private byte[] batches() {
        if (style == Style.EDGES && random.nextBoolean()) {
            return new byte[0];
        }
        return Codec.batch(random.nextInt(1 << 30), random.nextBoolean() ? null : octets(), octets());
    }

    private void unknown(Message message) {
        int tag = 1000;
        int count = 1 + random.nextInt(style == Style.EDGES ? 3 : 1);
        for (int i = 0; i < count; i++) {
            tag += 1 + random.nextInt(i == 2 ? 1 << 30 : 300);
            message.unknownTaggedFields().add(new RawTaggedField(tag, octets()));
        }
    }

    /** Fills a field with something that is not its default. */
    void other(Shape shape, Shape.Slot slot, Message message) {
        Object before = slot.get(message);
        if (slot.kind == Shape.Kind.ARRAY) {
            Collection<Object> items = slot.collection();
            items.add(slot.struct == null ? value(slot.element, null, 1) : Shape.of(slot.struct).blank(version));
            slot.set(message, items);
        } else if (slot.kind == Shape.Kind.STRUCT) {
            Shape inner = Shape.of(slot.struct);
            Message struct = inner.blank(version);
            for (Shape.Slot field : inner.slots) {
                if (inner.has(field, version)) {
                    new Values(random.nextLong(), Style.FULL, version).other(inner, field, struct);
                    break;
                }
            }
            slot.set(message, struct);
        } else {
            for (int i = 0; i < 100; i++) {
                Object value = slot.kind == Shape.Kind.BOOL ? !(Boolean) before : value(slot.kind, null, 1);
                if (slot.kind == Shape.Kind.RECORDS || !same(value, before)) {
                    slot.set(message, value);
                    return;
                }
            }
            throw new IllegalStateException("no other value for " + shape.type + "." + slot.name);
        }
    }

    private static boolean same(Object a, Object b) {
        return a instanceof byte[] x && b instanceof byte[] y ? java.util.Arrays.equals(x, y) : a.equals(b);
    }

    static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }
}
