package milena.oracle.records;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;

/** Damaged and odd record sets, by name. Those named {@code +crc} have a checksum that fits the damage. */
final class Corruptions {
    private static final Object[][] FIELDS_2 = {
        {"baseOffset", 0, 8}, {"size", 8, 4}, {"leaderEpoch", 12, 4}, {"magic", 16, 1}, {"crc", 17, 4}, {"attributes", 21, 2},
        {"lastOffsetDelta", 23, 4}, {"baseTimestamp", 27, 8}, {"maxTimestamp", 35, 8}, {"producerId", 43, 8},
        {"producerEpoch", 51, 2}, {"baseSequence", 53, 4}, {"count", 57, 4},
    };
    private static final Object[][] FIELDS_1 = {
        {"offset", 0, 8}, {"size", 8, 4}, {"crc", 12, 4}, {"magic", 16, 1}, {"attributes", 17, 1}, {"timestamp", 18, 8},
        {"key", 26, 4}, {"value", 30, 4},
    };
    private static final int[] SIZES = {
        0, 1, 13, 14, 21, 22, 48, 49, -1, Integer.MIN_VALUE, Integer.MAX_VALUE, Integer.MAX_VALUE - 11, Integer.MAX_VALUE - 12,
    };
    /**
     * Insides of a batch of magic 2 that says to have one record: what is odd about them, and their bytes in hex. A star
     * stands for the length of what follows, up to the bar.
     */
    private static final String[][] INSIDES = {
        {"plain", "*000000 026b 0276 00"},
        {"length one more", "12000000 026b 0276 00"},
        {"length one less", "0e000000 026b 0276 00"},
        {"length 0", "00000000 026b 0276 00"},
        {"length -1", "01000000 026b 0276 00"},
        {"length least", "ffffffff0f000000 026b 0276 00"},
        {"length huge", "feffffff0f000000 026b 0276 00"},
        {"length of six bytes", "908080808000000000 026b 0276 00"},
        {"length not minimal", "9000000000 026b 0276 00"},
        {"length of five bytes", "9080808000000000 026b 0276 00"},
        {"length with spare bits", "9080808070000000 026b 0276 00"},
        {"attributes", "*7f0000 026b 0276 00"},
        {"timestamp delta not minimal", "*00 8280808000 00 01 0276 00"},
        {"timestamp delta least", "*00 ffffffffffffffffff01 00 01 0276 00"},
        {"timestamp delta with spare bits", "*00 ffffffffffffffffff7f 00 01 0276 00"},
        {"timestamp delta of eleven bytes", "*00 ffffffffffffffffffff01 00 01 0276 00"},
        {"offset delta negative", "*000001 026b 0276 00"},
        {"offset delta large", "*000010 026b 0276 00"},
        {"offset delta least", "*0000 ffffffff0f 026b 0276 00"},
        {"offset delta with spare bits", "*0000 ffffffff7f 026b 0276 00"},
        {"offset delta of six bytes", "*0000 ffffffffff00 026b 0276 00"},
        {"key length -1", "*000000 01 0276 00"},
        {"key length -7", "*000000 0d 0276 00"},
        {"key length least", "*000000 ffffffff0f 0276 00"},
        {"key to the end", "*000000 086b 0276 00"},
        {"key longer than the record", "*000000 126b 0276 00"},
        {"key length huge", "*000000 feffffff0f 6b 0276 00"},
        {"value length -7", "*000000 026b 0d 00"},
        {"value longer than the record", "*000000 026b 1076 00"},
        {"value length huge", "*000000 026b feffffff0f 76 00"},
        {"no header count", "*000000 026b 0276"},
        {"header count -1", "*000000 026b 0276 01"},
        {"header count least", "*000000 026b 0276 ffffffff0f"},
        {"header count huge", "*000000 026b 0276 feffffff0f"},
        {"header count above the bytes", "*000000 026b 0276 0a"},
        {"a header that is not there", "*000000 026b 0276 02"},
        {"a header too many", "*000000 026b 0276 02 0261 0262 04"},
        {"a header too few", "*000000 026b 0276 04 0261 0262"},
        {"one header", "*000000 026b 0276 02 0261 0262"},
        {"header without value", "*000000 026b 0276 02 0261 01"},
        {"header value -7", "*000000 026b 0276 02 0261 0d"},
        {"header key -1", "*000000 026b 0276 02 01 0262"},
        {"header key -7", "*000000 026b 0276 02 0d 0262"},
        {"header key empty", "*000000 026b 0276 02 00 0262"},
        {"header key huge", "*000000 026b 0276 02 feffffff0f 61 0262"},
        {"header value huge", "*000000 026b 0276 02 0261 feffffff0f 62"},
        {"header key not text", "*000000 026b 0276 02 04ff80 0262"},
        {"header key a surrogate", "*000000 026b 0276 02 06eda080 0262"},
        {"header key overlong", "*000000 026b 0276 02 04c0af 0262"},
        {"header key cut off", "*000000 026b 0276 02 04e282 01"},
        {"left over in the record", "*000000 026b 0276 00 0000"},
        {"a byte behind", "*000000 026b 0276 00|00"},
        {"a record behind", "*000000 026b 0276 00|10000000 026b 0276 00"},
        {"nothing", "*"},
        {"no bytes", ""},
        {"cut in the length", "90"},
        {"cut in the attributes", "10"},
        {"cut in the timestamp", "100080"},
        {"cut in the key", "10000000 02"},
        {"cut in the value", "10000000 026b 02"},
    };

    private final Map<String, byte[]> found = new LinkedHashMap<>();
    private final long seed;
    private SplittableRandom random;

    private Corruptions(long seed) {
        this.seed = seed;
    }

    static Map<String, byte[]> current(long seed) {
        Corruptions all = new Corruptions(seed);
        for (String codec : Sets.CODECS) {
            all.random = new SplittableRandom(Sets.seed(seed, "corrupt v2 " + codec));
            byte[] base = small(2, codec).bytes();
            String name = "v2/" + codec + "/";
            all.fields(name, base, FIELDS_2, 21);
            all.sizes(name, base);
            all.cuts(name, base, codec.equals("none") || codec.equals("lz4"));
            for (int id = 0; id < 8; id++) {
                byte[] other = base.clone();
                other[22] = (byte) (other[22] & ~7 | id);
                all.add(name + "codec " + id + " +crc", seal(other));
            }
            for (int count : new int[] {-1, 0, 1, 2, 4, 5, 1000, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
                byte[] other = base.clone();
                ByteBuffer.wrap(other).putInt(57, count);
                all.add(name + "count " + count + " +crc", seal(other));
            }
            for (int delta : new int[] {-1, 0, 1, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
                byte[] other = base.clone();
                ByteBuffer.wrap(other).putInt(23, delta);
                all.add(name + "last offset delta " + delta + " +crc", seal(other));
            }
            for (String[] inside : INSIDES) {
                byte[] payload = compress(codec, 2, inside(inside[1]));
                all.add(name + "record: " + inside[0] + " +crc", batch(base, payload, 1));
            }
            all.payloads(name, base, codec);
        }
        return all.found;
    }

    static Map<String, byte[]> legacy(long seed) {
        Corruptions all = new Corruptions(seed);
        for (int magic = 0; magic <= 1; magic++) {
            for (String codec : new String[] {"none", "gzip", "snappy", "lz4"}) {
                all.random = new SplittableRandom(Sets.seed(seed, "corrupt v" + magic + " " + codec));
                byte[] base = small(magic, codec).bytes();
                String name = "v" + magic + "/" + codec + "/";
                all.fields(name, base, FIELDS_1, 16);
                all.sizes(name, base);
                all.cuts(name, base, codec.equals("none") || codec.equals("gzip"));
                for (int attributes = 0; attributes < 16; attributes++) {
                    byte[] other = base.clone();
                    other[17] = (byte) attributes;
                    all.add(name + "attributes " + attributes + " +crc", seal(other));
                }
                int key = magic == 0 ? 18 : 26;
                for (int length : new int[] {-1, -7, 0, 1, 1000, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
                    for (int at : new int[] {key, key + 4}) {
                        byte[] other = small(magic, codec).bytes();
                        ByteBuffer.wrap(other).putInt(at, length);
                        all.add(name + "int at " + at + " is " + length + " +crc", seal(other));
                    }
                }
                byte[] longer = Arrays.copyOf(base, base.length + 5);
                if (!codec.equals("none")) {
                    ByteBuffer.wrap(longer).putInt(8, longer.length - 12);
                    all.add(name + "bytes behind the value +crc", seal(longer));
                    all.wrappers(name, magic, codec);
                    all.payloads(name, base, codec);
                }
            }
        }
        return all.found;
    }

    private static Batch small(int magic, String codec) {
        Batch batch = Batch.of(magic, codec);
        batch.baseOffset = 1000;
        batch.add(1_700_000_000_000L, Sets.bytes("k"), Sets.bytes("value one"));
        batch.add(1_700_000_000_005L, null, Sets.bytes("value two, value two, value two"));
        batch.add(1_700_000_000_003L, Sets.bytes("key"), null);
        return batch;
    }

    /** Flips bits of each field, once as they are and once with the right checksum. */
    private void fields(String name, byte[] base, Object[][] fields, int sealed) {
        for (Object[] field : fields) {
            int at = (Integer) field[1];
            int width = (Integer) field[2];
            for (int i = 0; i < Math.min(width * 2, 5); i++) {
                int bit = random.nextInt(width * 8);
                byte[] other = base.clone();
                other[at + bit / 8] ^= (byte) (0x80 >> bit % 8);
                String what = name + field[0] + " bit " + bit;
                add(what, other);
                if (at >= sealed) {
                    add(what + " +crc", seal(other));
                }
            }
        }
        for (int i = 0; i < 12; i++) {
            int from = base[16] == 2 ? 61 : sealed;
            int bit = random.nextInt(from * 8, base.length * 8);
            byte[] other = base.clone();
            other[bit / 8] ^= (byte) (0x80 >> bit % 8);
            add(name + "bit " + bit, other);
            add(name + "bit " + bit + " +crc", seal(other));
        }
        for (int magic : new int[] {-1, 0, 1, 2, 3, 127}) {
            byte[] other = base.clone();
            other[16] = (byte) magic;
            add(name + "magic " + magic, other);
            if (magic >= 0 && magic <= 2) {
                add(name + "magic " + magic + " +crc", seal(other));
            }
        }
    }

    private void sizes(String name, byte[] base) {
        for (int size : SIZES) {
            byte[] other = base.clone();
            ByteBuffer.wrap(other).putInt(8, size);
            add(name + "size " + size, other);
        }
        for (int more : new int[] {-1, 1}) {
            byte[] other = join(base, base);
            ByteBuffer.wrap(other).putInt(8, ByteBuffer.wrap(base).getInt(8) + more);
            add(name + "size off by " + more, other);
        }
    }

    private void cuts(String name, byte[] base, boolean everywhere) {
        byte[] two = join(base, base);
        for (int length = 0; length < base.length; length++) {
            boolean place = length < 19 || length == 60 || length == 61 || length == 62 || length == base.length - 1;
            if (place && everywhere || random.nextInt(12) == 0) {
                add(name + "cut at " + length, Arrays.copyOf(base, length));
                add(name + "second cut at " + length, Arrays.copyOf(two, base.length + length));
            }
        }
        add(name + "zeros behind", Arrays.copyOf(base, base.length + 30));
        add(name + "few zeros behind", Arrays.copyOf(base, base.length + 11));
        byte[] spoiled = join(join(base, base), base);
        spoiled[2 * base.length - 1] ^= 1;
        add(name + "second of three spoiled", spoiled);
    }

    /** Damages what is compressed. */
    private void payloads(String name, byte[] base, String codec) {
        boolean current = base[16] == 2;
        int at = current ? 61 : base[16] == 0 ? 26 : 34;
        byte[] payload = Arrays.copyOfRange(base, at, base.length);
        Map<String, byte[]> odd = new LinkedHashMap<>();
        odd.put("cut by 1", Arrays.copyOf(payload, payload.length - 1));
        odd.put("cut by 4", Arrays.copyOf(payload, payload.length - 4));
        odd.put("cut by 9", Arrays.copyOf(payload, payload.length - 9));
        odd.put("cut in half", Arrays.copyOf(payload, payload.length / 2));
        odd.put("of 5 bytes", Arrays.copyOf(payload, 5));
        odd.put("empty", new byte[0]);
        odd.put("twice", join(payload, payload));
        odd.put("and a stray byte", join(payload, new byte[] {7}));
        odd.put("and stray bytes", join(payload, Sets.bytes("\u0001stray bytes")));
        odd.put("and zeros", Arrays.copyOf(payload, payload.length + 8));
        byte[] garbage = new byte[40];
        random.nextBytes(garbage);
        odd.put("garbage", garbage);
        odd.put("zeros", new byte[40]);
        if (!codec.equals("none")) {
            // Its beginning is told by the codec's own header: most damage is there.
            for (int i = 0; i < 24; i++) {
                byte[] other = payload.clone();
                int bit = random.nextInt(Math.min(payload.length, i < 16 ? 24 : payload.length) * 8);
                other[bit / 8] ^= (byte) (0x80 >> bit % 8);
                odd.put("bit " + bit, other);
            }
        }
        odd.forEach((what, bytes) -> {
            byte[] sealed = current ? batch(base, bytes, 3) : wrapper(base, bytes);
            add(name + "payload " + what + " +crc", sealed);
        });
    }

    /** What can be odd about a compressed set of magic 0 or 1. */
    private void wrappers(String name, int magic, String codec) {
        byte[] base = small(magic, codec).bytes();
        for (long offset : new long[] {0, 1, 2, 3, 999, 1001, 1002, -1, Long.MAX_VALUE, Long.MIN_VALUE}) {
            byte[] other = base.clone();
            ByteBuffer.wrap(other).putLong(0, offset);
            add(name + "wrapper at " + offset, other);
        }
        Batch plain = small(magic, "none");
        if (magic == 1) {
            plain.baseOffset = 0;
            for (int i = 0; i < plain.entries.size(); i++) {
                Batch.Entry entry = plain.entries.get(i);
                plain.entries.set(i, new Batch.Entry(i, entry.timestamp(), entry.key(), entry.value()));
            }
        }
        byte[] inner = plain.bytes();
        int size = ByteBuffer.wrap(inner).getInt(8) + 12;
        Map<String, byte[]> odd = new LinkedHashMap<>();
        odd.put("empty", new byte[0]);
        odd.put("cut in the last", Arrays.copyOf(inner, inner.length - 1));
        odd.put("cut in the first", Arrays.copyOf(inner, size - 1));
        odd.put("cut in the head", Arrays.copyOf(inner, 10));
        odd.put("and 11 zeros", Arrays.copyOf(inner, inner.length + 11));
        odd.put("and 12 zeros", Arrays.copyOf(inner, inner.length + 12));
        odd.put("bad checksum", change(inner, 12, 1));
        odd.put("bad second checksum", change(inner, size + 12, 1));
        odd.put("of the other magic", seal(change(inner, 16, 1)));
        odd.put("of magic 2", seal(change(inner, 16, magic == 0 ? 2 : 3), false));
        odd.put("of magic 9", seal(change(inner, 16, 8)));
        odd.put("nested compression", seal(change(inner, 17, 1)));
        odd.put("with log append time", seal(change(inner, 17, 8)));
        odd.put("size 13", change(inner, 11, inner[11] ^ 13));
        odd.put("size 14", change(inner, 11, inner[11] ^ 14));
        odd.put("size negative", change(inner, 8, 0xff));
        int key = magic == 0 ? 18 : 26;
        odd.put("key length negative", seal(change(inner, key, 0x80)));
        odd.put("key length huge", seal(change(inner, key, 0x40)));
        odd.put("value length negative", seal(change(inner, key + 5, 0x80)));
        odd.put("value length huge", seal(change(inner, key + 5, 0x40)));
        odd.put("offsets descending", change(change(inner, 7, 6), size + 7, 2));
        odd.put("once more", join(inner, inner));
        odd.forEach((what, bytes) -> {
            add(name + "inner " + what + " +crc", wrapper(base, compress(codec, magic, bytes)));
            byte[] late = wrapper(base, compress(codec, magic, bytes)).clone();
            late[17] |= 8;
            if (magic == 1 && codec.equals("gzip")) {
                add(name + "log append time, inner " + what + " +crc", seal(late));
            }
        });
        int at = magic == 0 ? 18 : 26;
        byte[] none = Arrays.copyOf(base, at + 8);
        ByteBuffer.wrap(none).putInt(8, none.length - 12).putInt(at, -1).putInt(at + 4, -1);
        add(name + "wrapper without value +crc", seal(none));
        byte[] keyed = Arrays.copyOf(base, base.length + 3);
        System.arraycopy(base, at + 4, keyed, at + 7, base.length - at - 4);
        ByteBuffer.wrap(keyed).putInt(8, keyed.length - 12).putInt(at, 3);
        add(name + "wrapper with a key +crc", seal(keyed));
    }

    private static byte[] change(byte[] bytes, int at, int bits) {
        byte[] other = bytes.clone();
        other[at] ^= (byte) bits;
        return other;
    }

    /** A batch with the header of another. */
    private static byte[] batch(byte[] base, byte[] payload, int count) {
        byte[] batch = join(Arrays.copyOf(base, 61), payload);
        ByteBuffer.wrap(batch).putInt(8, batch.length - 12).putInt(23, count - 1).putInt(57, count);
        return seal(batch);
    }

    private static byte[] wrapper(byte[] base, byte[] value) {
        int at = base[16] == 0 ? 22 : 30;
        byte[] wrapper = join(Arrays.copyOf(base, at + 4), value);
        ByteBuffer.wrap(wrapper).putInt(8, wrapper.length - 12).putInt(at, value.length);
        return seal(wrapper);
    }

    private static byte[] compress(String codec, int magic, byte[] bytes) {
        if (codec.equals("none")) {
            return bytes;
        }
        Object out = Kafka.make("ByteBufferOutputStream", ByteBuffer.allocate(256));
        try (OutputStream compressed = (OutputStream) Kafka.call(Batch.compression(codec), "wrapForOutput", out, (byte) magic)) {
            compressed.write(bytes);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return Batch.content(((ByteBuffer) Kafka.call(out, "buffer")).duplicate().flip());
    }

    private static byte[] inside(String text) {
        if (!text.startsWith("*")) {
            return hex(text);
        }
        String[] parts = text.substring(1).split("\\|", -1);
        byte[] record = hex(parts[0]);
        byte[] behind = parts.length > 1 ? hex(parts[1]) : new byte[0];
        return join(join(new byte[] {(byte) (record.length << 1)}, record), behind);
    }

    /** The first entry with the checksum that it should have. */
    static byte[] seal(byte[] bytes) {
        return seal(bytes, bytes[16] == 2);
    }

    private static byte[] seal(byte[] bytes, boolean current) {
        byte[] sealed = bytes.clone();
        int end = Math.min(bytes.length, ByteBuffer.wrap(bytes).getInt(8) + 12);
        java.util.zip.Checksum crc = current ? new CRC32C() : new CRC32();
        int from = current ? 21 : 16;
        if (end > from) {
            crc.update(bytes, from, end - from);
            ByteBuffer.wrap(sealed).putInt(current ? 17 : 12, (int) crc.getValue());
        }
        return sealed;
    }

    private static byte[] join(byte[] a, byte[] b) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        out.writeBytes(a);
        out.writeBytes(b);
        return out.toByteArray();
    }

    static byte[] hex(String text) {
        return HexFormat.of().parseHex(text.replace(" ", ""));
    }

    private void add(String name, byte[] bytes) {
        found.putIfAbsent(name, bytes);
    }
}
