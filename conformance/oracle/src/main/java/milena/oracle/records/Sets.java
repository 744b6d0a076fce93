package milena.oracle.records;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Consumer;

import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.KRaftVersionRecord;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.SnapshotFooterRecord;
import org.apache.kafka.common.message.SnapshotHeaderRecord;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.record.TimestampType;

/** Record sets written by Kafka's own builder, by name. */
final class Sets {
    static final String[] CODECS = {"none", "gzip", "snappy", "lz4", "zstd"};
    private static final String[] SHAPES = {"one", "few", "edges", "headers", "many"};
    private static final long NOW = 1_700_000_000_000L;

    private final long seed;
    private final Map<String, byte[]> sets = new LinkedHashMap<>();
    private SplittableRandom random;

    private Sets(long seed) {
        this.seed = seed;
    }

    static Map<String, byte[]> legacy(long seed) {
        Sets sets = new Sets(seed);
        for (int magic = 0; magic <= 1; magic++) {
            for (String codec : List.of(CODECS).subList(0, 4)) {
                sets.legacy(magic, codec);
            }
        }
        for (int i = 0; i < 20; i++) {
            String name = "v0+v1/mixed/" + i;
            sets.start(name);
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            long offset = sets.random.nextInt(1000);
            for (int batches = sets.random.nextInt(2, 5); batches > 0; batches--) {
                Batch batch = Batch.of(sets.random.nextInt(2), CODECS[sets.random.nextInt(4)]);
                batch.baseOffset = offset;
                sets.fill(batch, SHAPES[sets.random.nextInt(3)]);
                out.writeBytes(batch.bytes());
                offset += 1000;
            }
            sets.sets.put(name, out.toByteArray());
        }
        return sets.sets;
    }

    private void legacy(int magic, String codec) {
        String[] types = magic == 0 ? new String[] {"none"} : new String[] {"create", "logAppend"};
        for (String type : types) {
            for (String shape : new String[] {"one", "few", "edges", "many", "text", "noise"}) {
                for (long base : new long[] {0, 5_000_000_000L}) {
                    String name = "v" + magic + "/" + codec + "/" + type + "/" + shape + "/" + base;
                    start(name);
                    Batch batch = Batch.of(magic, codec);
                    batch.baseOffset = base;
                    if (type.equals("logAppend")) {
                        batch.timestampType = TimestampType.LOG_APPEND_TIME;
                        batch.logAppendTime = NOW + 7;
                    }
                    // Noise takes room in the repository.
                    boolean framed = codec.equals("snappy") || codec.equals("lz4");
                    if (!shape.equals("noise") || base == 0 && framed && !type.equals("logAppend")) {
                        sets.put(name, fill(batch, shape).bytes());
                    }
                }
            }
        }
    }

    static Map<String, byte[]> current(long seed) {
        Sets sets = new Sets(seed);
        for (String codec : CODECS) {
            for (String type : new String[] {"create", "logAppend"}) {
                for (String producer : new String[] {"none", "idempotent", "transactional"}) {
                    for (String shape : SHAPES) {
                        String name = String.join("/", "v2", codec, type, producer, shape);
                        sets.start(name);
                        sets.sets.put(name, sets.fill(sets.batch(codec, type, producer), shape).bytes());
                    }
                }
            }
            sets.special(codec);
        }
        sets.controls();
        sets.empty();
        for (int i = 0; i < 25; i++) {
            String name = "v2/several/" + i;
            sets.start(name);
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            long offset = sets.random.nextInt(1000);
            for (int batches = sets.random.nextInt(2, 5); batches > 0; batches--) {
                String producer = new String[] {"none", "idempotent", "transactional"}[sets.random.nextInt(3)];
                Batch batch = sets.batch(CODECS[sets.random.nextInt(5)], sets.random.nextBoolean() ? "create" : "logAppend",
                    producer);
                batch.baseOffset = offset;
                out.writeBytes(sets.fill(batch, SHAPES[sets.random.nextInt(4)]).bytes());
                offset += 1000;
            }
            sets.sets.put(name, out.toByteArray());
        }
        return sets.sets;
    }

    private void special(String codec) {
        for (String shape : new String[] {"text", "noise"}) {
            put("v2/" + codec + "/" + shape, Batch.of(2, codec), shape, batch -> {});
        }
        put("v2/" + codec + "/horizon", Batch.of(2, codec), "few", batch -> batch.deleteHorizon = NOW - 86_400_000);
        put("v2/" + codec + "/horizon-late", Batch.of(2, codec), "edges", batch -> batch.deleteHorizon = NOW + 86_400_000);
        put("v2/" + codec + "/compacted", Batch.of(2, codec), "edges", batch -> {
            batch.baseOffset = 77;
            batch.lastOffset = 77_777;
        });
        put("v2/" + codec + "/last-offset-of-all", Batch.of(2, codec), "one",
            batch -> batch.baseOffset = Long.MAX_VALUE - 3);
        put("v2/" + codec + "/sequence-wraps", Batch.of(2, codec), "many", batch -> {
            batch.producerId = Long.MAX_VALUE;
            batch.producerEpoch = Short.MAX_VALUE;
            batch.baseSequence = Integer.MAX_VALUE - 3;
            batch.leaderEpoch = Integer.MAX_VALUE;
        });
        String name = "v2/" + codec + "/timestamps";
        start(name);
        Batch batch = Batch.of(2, codec);
        for (long timestamp : new long[] {-1, 0, NOW, Long.MAX_VALUE, 1, -1}) {
            batch.add(timestamp, null, bytes("t"));
        }
        sets.put(name, batch.bytes());
    }

    private void put(String name, Batch batch, String shape, Consumer<Batch> settings) {
        start(name);
        settings.accept(batch);
        sets.put(name, fill(batch, shape).bytes());
    }

    private void controls() {
        Map<String, Consumer<Object>> kinds = new LinkedHashMap<>();
        for (String type : new String[] {"ABORT", "COMMIT"}) {
            for (int epoch : new int[] {0, 7, Integer.MAX_VALUE}) {
                kinds.put(type + epoch, builder -> Kafka.call(builder, "appendEndTxnMarker", NOW,
                    Kafka.make("EndTransactionMarker", Kafka.constant("ControlRecordType", type), epoch)));
            }
        }
        LeaderChangeMessage.Voter voter = new LeaderChangeMessage.Voter().setVoterId(3);
        kinds.put("LEADER_CHANGE", builder -> Kafka.call(builder, "appendLeaderChangeMessage", NOW,
            new LeaderChangeMessage().setLeaderId(1).setVoters(List.of(voter)).setGrantingVoters(List.of(voter))));
        kinds.put("SNAPSHOT_HEADER", builder -> Kafka.call(builder, "appendSnapshotHeaderMessage", NOW,
            new SnapshotHeaderRecord().setLastContainedLogTimestamp(NOW)));
        kinds.put("SNAPSHOT_FOOTER", builder -> Kafka.call(builder, "appendSnapshotFooterMessage", NOW,
            new SnapshotFooterRecord()));
        kinds.put("KRAFT_VERSION", builder -> Kafka.call(builder, "appendKRaftVersionMessage", NOW,
            new KRaftVersionRecord().setKRaftVersion((short) 1)));
        kinds.put("KRAFT_VOTERS", builder -> Kafka.call(builder, "appendVotersMessage", NOW,
            new VotersRecord().setVoters(List.of(new VotersRecord.Voter().setVoterId(2)))));
        kinds.forEach((kind, append) -> {
            boolean marker = kind.startsWith("ABORT") || kind.startsWith("COMMIT");
            for (String codec : marker ? List.of("none") : List.of("none", "gzip", "zstd")) {
                Batch batch = Batch.of(2, codec);
                batch.baseOffset = 12;
                batch.control = true;
                batch.leaderEpoch = 4;
                batch.further = append;
                if (marker) {
                    batch.transactional = true;
                    batch.producerId = 4000;
                    batch.producerEpoch = 2;
                }
                sets.put("v2/" + codec + "/control/" + kind, batch.bytes());
            }
        });
        // Keys of versions and types to come, and values that are longer, too short, or null.
        String[][] raw = {
            {"00010000", "00000000000500000000"}, {"000000010203", "0001000000097777"}, {"00000007", "00"}, {"0000ffff", null},
            {"00000000", "0000"}, {"00000000", null}, {"00000001", "ffff00000001"}, {"00000002", null}, {"7fff0006", ""},
        };
        for (int i = 0; i < raw.length; i++) {
            Batch batch = Batch.of(2, "none");
            batch.producerId = 9;
            batch.producerEpoch = 0;
            batch.baseSequence = 5;
            batch.add(NOW, Corruptions.hex(raw[i][0]), raw[i][1] == null ? null : Corruptions.hex(raw[i][1]));
            // The builder would refuse most of these.
            byte[] bytes = batch.bytes();
            bytes[22] |= 0x20;
            sets.put("v2/none/control/raw/" + i, Corruptions.seal(bytes));
        }
    }

    private void empty() {
        for (TimestampType type : new TimestampType[] {TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME}) {
            for (int flags = 0; flags < 4; flags++) {
                ByteBuffer buffer = ByteBuffer.allocate(61);
                Kafka.callStatic("DefaultRecordBatch", "writeEmptyHeader", buffer, (byte) 2, 4000L, (short) 1, 17, 100L,
                    100L + flags * 10L, 3, type, NOW, (flags & 1) != 0, (flags & 2) != 0);
                sets.put("v2/empty/" + type.name + "/" + flags, buffer.array());
            }
        }
        sets.put("nothing", new byte[0]);
    }

    private Batch batch(String codec, String type, String producer) {
        Batch batch = Batch.of(2, codec);
        batch.baseOffset = random.nextBoolean() ? 0 : random.nextLong(1L << random.nextInt(1, 62));
        batch.leaderEpoch = random.nextBoolean() ? -1 : random.nextInt(1000);
        if (type.equals("logAppend")) {
            batch.timestampType = TimestampType.LOG_APPEND_TIME;
            batch.logAppendTime = NOW + random.nextInt(1000);
        }
        if (!producer.equals("none")) {
            batch.producerId = random.nextLong(1L << 40);
            batch.producerEpoch = (short) random.nextInt(100);
            batch.baseSequence = random.nextInt(1_000_000);
            batch.transactional = producer.equals("transactional");
        }
        return batch;
    }

    private void start(String name) {
        random = new SplittableRandom(seed(seed, name));
    }

    private Batch fill(Batch batch, String shape) {
        switch (shape) {
            case "one" -> batch.add(NOW, null, bytes("v"));
            case "few" -> {
                for (int i = 0; i < 3; i++) {
                    batch.add(NOW + i, bytes("key" + i), bytes("value" + i));
                }
            }
            case "edges" -> edges(batch);
            case "headers" -> headers(batch);
            case "many" -> {
                for (int i = random.nextInt(20, 60); i > 0; i--) {
                    batch.add(NOW + random.nextInt(100_000), part(20), part(200));
                }
            }
            case "text" -> {
                // Several blocks of LZ4 (64 KiB) and xerial's snappy (32 KiB), and a value over their borders.
                for (int i = 0; i < 30; i++) {
                    byte[] line = ("Le " + random.nextInt(100) + " août, milena écrit " + i + ". ").getBytes(StandardCharsets.UTF_8);
                    byte[] value = new byte[random.nextInt(1, 20_000)];
                    for (int at = 0; at < value.length; at++) {
                        value[at] = line[at % line.length];
                    }
                    batch.add(NOW + i, bytes("k" + i), value);
                }
            }
            default -> {
                // Nothing that a codec could make smaller.
                byte[] value = new byte[batch.magic == 2 && batch.codec.equals("lz4") ? 70_000 : 33_000];
                random.nextBytes(value);
                batch.add(NOW, null, value);
                batch.add(NOW, value.length > 0 ? new byte[0] : null, bytes("end"));
            }
        }
        return batch;
    }

    private void edges(Batch batch) {
        byte[][] parts = {null, {}, {0}, bytes("x"), new byte[63], new byte[64], bytes("\u00e9\ud83e\udd80")};
        for (byte[] key : parts) {
            for (byte[] value : new byte[][] {null, {}, bytes("v")}) {
                batch.add(NOW + random.nextInt(-5000, 5000), key, value);
            }
        }
        batch.add(NOW, null, new byte[8191 - 20]);
        batch.add(0, new byte[129], new byte[300]);
        if (batch.magic == 2 || batch.codec.equals("none")) {
            long offset = batch.entries.get(batch.entries.size() - 1).offset();
            batch.entries.add(new Batch.Entry(offset + 70, NOW, bytes("gap"), null));
            batch.entries.add(new Batch.Entry(offset + 10_000, -1, null, bytes("gap")));
        }
    }

    private void headers(Batch batch) {
        Header a = new RecordHeader("a", bytes("1"));
        batch.add(NOW, null, null, a);
        batch.add(NOW, bytes("k"), bytes("v"), a, a, new RecordHeader("a", (byte[]) null), new RecordHeader("", new byte[0]));
        batch.add(NOW, new byte[0], bytes("v"), new RecordHeader("žluť", bytes("kůň")), new RecordHeader("b", new byte[400]));
        Header[] lots = new Header[70];
        for (int i = 0; i < lots.length; i++) {
            lots[i] = new RecordHeader("h" + i % 9, part(12));
        }
        batch.add(NOW - 1, null, bytes("many"), lots);
        batch.add(NOW, null, bytes("none"));
    }

    private byte[] part(int most) {
        if (random.nextInt(12) == 0) {
            return null;
        }
        byte[] bytes = new byte[random.nextInt(most)];
        for (int i = 0; i < bytes.length; i++) {
            bytes[i] = (byte) random.nextInt('a', 'g');
        }
        return bytes;
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** So that no set depends on what else there is. */
    static long seed(long seed, String name) {
        long hash = 0xcbf29ce484222325L;
        for (byte b : bytes(seed + " " + name)) {
            hash = (hash ^ (b & 0xff)) * 0x100000001b3L;
        }
        return hash;
    }
}
