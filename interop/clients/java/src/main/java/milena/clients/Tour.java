package milena.clients;

import static milena.clients.Steps.same;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;

/**
 * As many APIs as Apache Kafka's own client has: records, groups, transactions; {@link Administration} has the rest.
 *
 * <p>{@code Tour BOOTSTRAP}. Compiled against the newest client, it runs with the jars of any from 0.10: what such a client
 * lacks is skipped. Exits with 0 if all round trips were right.
 */
public final class Tour {
    private static final int PATIENCE_MS = 30_000;

    private final String bootstrap;
    private final String run = UUID.randomUUID().toString().substring(0, 8);
    private final String topic = "tour-java-" + run;
    private final String other = topic + "-other";
    private final String group = topic + "-group";
    private final Steps steps = new Steps();
    private final List<String> sent = new ArrayList<>();

    private Tour(String bootstrap) {
        this.bootstrap = bootstrap;
    }

    public static void main(String[] args) {
        if (args.length != 1) {
            System.err.println("usage: Tour BOOTSTRAP");
            System.exit(2);
        }
        new Tour(args[0]).tour();
    }

    private void tour() {
        boolean administered = has("org.apache.kafka.clients.admin.Admin");
        Administration admin = administered ? new Administration(bootstrap, steps, topic, other, group) : null;
        if (administered) {
            admin.before();
        }
        for (String codec : Arrays.asList("none", "gzip", "snappy", "lz4", "zstd")) {
            steps.step("produce with " + codec, () -> produce(codec, "all", false));
        }
        steps.step("produce with acks 1", () -> produce("gzip", "1", false));
        steps.step("produce without an answer", () -> produce("none", "0", false));
        steps.step("produce idempotently", () -> produce("lz4", "all", true));
        steps.step("read all", () -> readAll("read_uncommitted"));
        steps.step("offsets by time", this::times);
        steps.step("group", () -> read(group, new HashMap<>()));
        steps.step("group with cooperative assignment", () -> {
            needs("org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
            Map<String, Object> more = new HashMap<>();
            more.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
            more.put("group.instance.id", "one");
            return read(group + "-coop", more);
        });
        steps.step("group of the new protocol", () -> {
            needs("org.apache.kafka.clients.consumer.GroupProtocol");
            return read(group + "-new", Collections.singletonMap("group.protocol", "consumer"));
        });
        steps.step("transactions", this::transactions);
        if (administered) {
            steps.step("share group", () -> Sharing.read(bootstrap, topic, group + "-share"));
            admin.after();
        }
        steps.end();
    }

    private static boolean has(String name) {
        try {
            Class.forName(name, false, Tour.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException tooOld) {
            return false;
        }
    }

    private static void needs(String name) {
        if (!has(name)) {
            throw new Steps.TooOld("this client has no " + name);
        }
    }

    private KafkaProducer<byte[], byte[]> producer(Map<String, Object> more) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("client.id", "tour-java");
        settings.put("linger.ms", "50");
        settings.put("max.block.ms", String.valueOf(PATIENCE_MS));
        settings.put("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        settings.putAll(more);
        return new KafkaProducer<>(settings);
    }

    private KafkaConsumer<byte[], byte[]> consumer(Map<String, Object> more) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("client.id", "tour-java");
        settings.put("enable.auto.commit", "false");
        settings.put("auto.offset.reset", "earliest");
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        settings.putAll(more);
        return new KafkaConsumer<>(settings);
    }

    private Object produce(String codec, String acks, boolean idempotent) throws Exception {
        if (codec.equals("zstd")) {
            needs("org.apache.kafka.common.errors.UnsupportedCompressionTypeException");
        }
        boolean timeless = !has("org.apache.kafka.common.header.Headers");
        if (idempotent && timeless) {
            throw new Steps.TooOld("this client is not idempotent");
        }
        Map<String, Object> settings = new HashMap<>();
        settings.put("compression.type", codec);
        settings.put("acks", acks);
        if (!timeless) {
            settings.put("enable.idempotence", String.valueOf(idempotent));
        }
        KafkaProducer<byte[], byte[]> producer = producer(settings);
        List<Future<RecordMetadata>> futures = new ArrayList<>();
        List<String> values = new ArrayList<>();
        for (int n = 0; n < 8; n++) {
            StringBuilder value = new StringBuilder();
            for (int i = 0; i < 20; i++) {
                value.append(codec).append(' ').append(acks).append(' ').append(idempotent).append(' ').append(n).append(' ');
            }
            byte[] key = n % 2 == 0 ? ("k" + n).getBytes(StandardCharsets.UTF_8) : null;
            ProducerRecord<byte[], byte[]> record = new ProducerRecord<>(
                    other, 0, System.currentTimeMillis(), key, value.toString().getBytes(StandardCharsets.UTF_8));
            values.add(value.toString());
            futures.add(producer.send(record));
        }
        for (Future<RecordMetadata> future : futures) {
            future.get(PATIENCE_MS, TimeUnit.MILLISECONDS);
        }
        producer.close();
        sent.addAll(values);
        return null;
    }

    /** Polls as the client at hand does: with a number until 3.9, with a duration since 2.0. */
    private static ConsumerRecords<byte[], byte[]> poll(KafkaConsumer<byte[], byte[]> consumer) throws Exception {
        try {
            return consumer.poll(java.time.Duration.ofMillis(300));
        } catch (NoSuchMethodError old) {
            @SuppressWarnings("unchecked")
            ConsumerRecords<byte[], byte[]> records = (ConsumerRecords<byte[], byte[]>)
                    KafkaConsumer.class.getMethod("poll", long.class).invoke(consumer, 300L);
            return records;
        }
    }

    private static List<String> collect(KafkaConsumer<byte[], byte[]> consumer, Collection<String> wanted) throws Exception {
        List<String> found = new ArrayList<>();
        long end = System.currentTimeMillis() + PATIENCE_MS;
        while (!new HashSet<>(found).containsAll(wanted) && System.currentTimeMillis() < end) {
            for (ConsumerRecord<byte[], byte[]> record : poll(consumer)) {
                found.add(new String(record.value(), StandardCharsets.UTF_8));
            }
        }
        return found;
    }

    private Object readAll(String isolation) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        if (has("org.apache.kafka.common.header.Headers")) {
            settings.put("isolation.level", isolation);
        }
        KafkaConsumer<byte[], byte[]> consumer = consumer(settings);
        TopicPartition partition = new TopicPartition(other, 0);
        consumer.assign(Collections.singletonList(partition));
        consumer.seek(partition, 0);
        List<String> found = collect(consumer, sent);
        consumer.close();
        Collections.sort(found);
        List<String> wanted = new ArrayList<>(sent);
        Collections.sort(wanted);
        same(found, wanted);
        return found.size() + " records";
    }

    private Object times() {
        KafkaConsumer<byte[], byte[]> consumer = consumer(Collections.emptyMap());
        TopicPartition partition = new TopicPartition(other, 0);
        long found = consumer.offsetsForTimes(Collections.singletonMap(partition, 1L)).get(partition).offset();
        long start = consumer.beginningOffsets(Collections.singletonList(partition)).get(partition);
        long end = consumer.endOffsets(Collections.singletonList(partition)).get(partition);
        consumer.partitionsFor(other);
        consumer.listTopics();
        consumer.close();
        return same(Arrays.asList(found, start, end), Arrays.asList(0L, 0L, (long) sent.size()));
    }

    private Object read(String name, Map<String, Object> more) throws Exception {
        KafkaProducer<byte[], byte[]> producer = producer(Collections.emptyMap());
        Collection<String> wanted = new TreeSet<>();
        for (int n = 0; n < 20; n++) {
            String value = name + " " + n;
            wanted.add(value);
            producer.send(new ProducerRecord<>(topic, 0, null, value.getBytes(StandardCharsets.UTF_8)));
        }
        producer.close();
        Map<String, Object> settings = new HashMap<>(more);
        settings.put("group.id", name);
        if (!more.containsKey("group.protocol")) {
            settings.put("heartbeat.interval.ms", "500");
        }
        KafkaConsumer<byte[], byte[]> consumer = consumer(settings);
        consumer.subscribe(Collections.singletonList(topic));
        List<String> found = collect(consumer, wanted);
        consumer.commitSync();
        for (int n = 0; n < 5; n++) {
            poll(consumer);
        }
        long committed = 0;
        for (TopicPartition partition : consumer.assignment()) {
            committed += consumer.position(partition);
        }
        consumer.close();
        same(new HashSet<>(found).containsAll(wanted), true);
        return found.size() + " records, up to " + committed + " in all";
    }

    private Object transactions() throws Exception {
        needs("org.apache.kafka.common.errors.ProducerFencedException");
        KafkaProducer<byte[], byte[]> producer = producer(Collections.singletonMap("transactional.id", topic));
        producer.initTransactions();
        KafkaConsumer<byte[], byte[]> consumer = consumer(Collections.singletonMap("group.id", group));
        consumer.subscribe(Collections.singletonList(topic));
        long end = System.currentTimeMillis() + PATIENCE_MS;
        while (consumer.assignment().isEmpty() && System.currentTimeMillis() < end) {
            poll(consumer);
        }
        for (String value : Arrays.asList("kept", "thrown away", "kept too")) {
            producer.beginTransaction();
            producer.send(new ProducerRecord<>(other, 0, null, value.getBytes(StandardCharsets.UTF_8)))
                    .get(PATIENCE_MS, TimeUnit.MILLISECONDS);
            if (value.equals("thrown away")) {
                producer.abortTransaction();
                continue;
            }
            producer.sendOffsetsToTransaction(
                    Collections.singletonMap(new TopicPartition(topic, 0), new OffsetAndMetadata(1)),
                    consumer.groupMetadata());
            producer.commitTransaction();
            sent.add(value);
        }
        producer.close();
        consumer.close();
        return readAll("read_committed");
    }
}
