package milena.clients;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.GroupListing;
import org.apache.kafka.clients.admin.ListGroupsOptions;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.ShareGroupDescription;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/**
 * What Kafka's own share consumer and admin client see of share groups (KIP-932): {@code Share BOOTSTRAP}.
 *
 * <p>Prints a line for each thing that it did, without names and times. Two brokers that behave alike give the same text.
 */
public final class Share {
    private static final int PATIENCE_MS = 30_000;

    private final String bootstrap;
    private final String run = "share-" + UUID.randomUUID().toString().substring(0, 8);
    private final Admin admin;

    private Share(String bootstrap) {
        this.bootstrap = bootstrap;
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        this.admin = Admin.create(settings);
    }

    public static void main(String[] args) throws Exception {
        if (args.length != 1) {
            System.err.println("usage: Share BOOTSTRAP");
            System.exit(2);
        }
        Share share = new Share(args[0]);
        try {
            share.all();
        } finally {
            share.admin.close(Duration.ofSeconds(5));
        }
    }

    private void all() throws Exception {
        acceptedRecordsAreDone();
        releasedRecordsComeAgain();
        rejectedRecordsAreGone();
        aClosedConsumerGivesBack();
        twoConsumersShareAPartition();
        aRecordLimitIsExact();
        renewedLocksGoOn();
        abortedTransactionsAreLeftOut();
        operators();
    }

    private void say(String what, Object value) {
        System.out.println(what + ": " + String.valueOf(value).replace(run, "NAME"));
    }

    private <T> T get(KafkaFuture<T> future) throws Exception {
        return future.get(PATIENCE_MS, TimeUnit.MILLISECONDS);
    }

    private Object failure(KafkaFuture<?> future) throws Exception {
        try {
            return "no error, " + get(future);
        } catch (ExecutionException error) {
            return error.getCause().getClass().getSimpleName() + ": " + error.getCause().getMessage();
        }
    }

    private String topic(String name, int partitions) throws Exception {
        String topic = run + "-" + name;
        get(admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all());
        configure(topic, "share.auto.offset.reset", "earliest");
        return topic;
    }

    /** Groups have the name of their topic. */
    private void configure(String group, String name, String value) throws Exception {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        AlterConfigOp set = new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
        get(admin.incrementalAlterConfigs(Map.of(resource, Collections.singletonList(set))).all());
    }

    private Properties settings() {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        return settings;
    }

    /** Each batch has that many records. */
    private void produce(String topic, int batches, int records) throws Exception {
        Properties settings = settings();
        settings.put("linger.ms", "2000");
        settings.put("enable.idempotence", "false");
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            for (int batch = 0; batch < batches; batch++) {
                for (int n = 0; n < records; n++) {
                    producer.send(new ProducerRecord<>(topic, 0, null, "r" + (batch * records + n)));
                }
                producer.flush();
            }
        }
    }

    private KafkaShareConsumer<String, String> consumer(String topic, String... more) {
        Properties settings = settings();
        settings.put("group.id", topic);
        settings.put("share.acknowledgement.mode", "explicit");
        for (int n = 0; n < more.length; n += 2) {
            settings.put(more[n], more[n + 1]);
        }
        KafkaShareConsumer<String, String> consumer = new KafkaShareConsumer<>(settings);
        consumer.subscribe(List.of(topic));
        return consumer;
    }

    private interface Verdict {
        AcknowledgeType on(ConsumerRecord<String, String> record);
    }

    /** Polls until so many records have come, and says what became of each. */
    private String read(KafkaShareConsumer<String, String> consumer, int count, Verdict verdict) {
        List<String> seen = new ArrayList<>();
        long end = System.currentTimeMillis() + PATIENCE_MS;
        while (seen.size() < count && System.currentTimeMillis() < end) {
            for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(300))) {
                AcknowledgeType type = verdict.on(record);
                consumer.acknowledge(record, type);
                seen.add(record.value() + "@" + record.offset() + "x" + record.deliveryCount().orElse((short) 0));
            }
            Map<?, ?> results = consumer.commitSync();
            results.forEach((partition, error) -> {
                if (String.valueOf(error).contains("Exception")) {
                    seen.add(String.valueOf(error));
                }
            });
        }
        return seen.toString();
    }

    private void offsets(String group) throws Exception {
        var specs = Map.of(group, new ListShareGroupOffsetsSpec());
        var all = get(admin.listShareGroupOffsets(specs).partitionsToOffsetInfo(group));
        Map<String, String> sorted = new TreeMap<>();
        all.forEach((partition, info) -> sorted.put(partition.toString(), String.valueOf(info)));
        say("offsets", sorted);
    }

    private void acceptedRecordsAreDone() throws Exception {
        String topic = topic("accept", 1);
        produce(topic, 2, 5);
        try (KafkaShareConsumer<String, String> consumer = consumer(topic)) {
            say("accepted", read(consumer, 10, record -> AcknowledgeType.ACCEPT));
            offsets(topic);
        }
        try (KafkaShareConsumer<String, String> consumer = consumer(topic)) {
            produce(topic, 1, 1);
            say("after another one", read(consumer, 1, record -> AcknowledgeType.ACCEPT));
        }
        offsets(topic);
    }

    private void releasedRecordsComeAgain() throws Exception {
        String topic = topic("release", 1);
        configure(topic, "share.delivery.count.limit", "3");
        produce(topic, 1, 4);
        try (KafkaShareConsumer<String, String> consumer = consumer(topic)) {
            // Two are released until they were delivered three times; then they are gone.
            say("released", read(consumer, 8, record -> record.offset() % 2 == 0 ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT));
        }
        offsets(topic);
    }

    private void rejectedRecordsAreGone() throws Exception {
        String topic = topic("reject", 1);
        produce(topic, 1, 4);
        try (KafkaShareConsumer<String, String> consumer = consumer(topic)) {
            say("rejected", read(consumer, 4, record -> record.offset() == 0 ? AcknowledgeType.ACCEPT : AcknowledgeType.REJECT));
        }
        offsets(topic);
    }

    private void aClosedConsumerGivesBack() throws Exception {
        String topic = topic("close", 1);
        produce(topic, 1, 3);
        try (KafkaShareConsumer<String, String> consumer = consumer(topic)) {
            int count = 0;
            long end = System.currentTimeMillis() + PATIENCE_MS;
            while (count < 3 && System.currentTimeMillis() < end) {
                count += consumer.poll(Duration.ofMillis(300)).count();
            }
            say("out when closed", count);
        }
        offsets(topic);
        try (KafkaShareConsumer<String, String> consumer = consumer(topic)) {
            say("given back", read(consumer, 3, record -> AcknowledgeType.ACCEPT));
        }
    }

    private void twoConsumersShareAPartition() throws Exception {
        String topic = topic("two", 1);
        produce(topic, 10, 2);
        try (KafkaShareConsumer<String, String> one = consumer(topic, "max.poll.records", "2");
                KafkaShareConsumer<String, String> two = consumer(topic, "max.poll.records", "2")) {
            Map<Long, Integer> seen = new TreeMap<>();
            long end = System.currentTimeMillis() + PATIENCE_MS;
            while (seen.size() < 20 && System.currentTimeMillis() < end) {
                for (KafkaShareConsumer<String, String> consumer : List.of(one, two)) {
                    for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
                        consumer.acknowledge(record, AcknowledgeType.ACCEPT);
                        seen.merge(record.offset(), 1, Integer::sum);
                    }
                    consumer.commitSync();
                }
            }
            say("shared", seen);
        }
        offsets(topic);
    }

    private void aRecordLimitIsExact() throws Exception {
        String topic = topic("limit", 1);
        produce(topic, 1, 7);
        String[] exact = {"max.poll.records", "3", "share.acquire.mode", "record_limit"};
        try (KafkaShareConsumer<String, String> consumer = consumer(topic, exact)) {
            List<Integer> sizes = new ArrayList<>();
            int count = 0;
            long end = System.currentTimeMillis() + PATIENCE_MS;
            while (count < 7 && System.currentTimeMillis() < end) {
                var records = consumer.poll(Duration.ofMillis(300));
                records.forEach(record -> consumer.acknowledge(record, AcknowledgeType.ACCEPT));
                consumer.commitSync();
                if (records.count() > 0) {
                    sizes.add(records.count());
                    count += records.count();
                }
            }
            say("sizes with a limit of 3", sizes);
        }
    }

    private void renewedLocksGoOn() throws Exception {
        String topic = topic("renew", 1);
        configure(topic, "share.record.lock.duration.ms", "15000");
        produce(topic, 1, 1);
        try (KafkaShareConsumer<String, String> consumer = consumer(topic)) {
            say("renewed", read(consumer, 1, record -> AcknowledgeType.RENEW));
            say("lock", consumer.acquisitionLockTimeoutMs());
            say("again", read(consumer, 1, record -> AcknowledgeType.ACCEPT));
        }
        offsets(topic);
    }

    private void abortedTransactionsAreLeftOut() throws Exception {
        String topic = topic("committed", 1);
        configure(topic, "share.isolation.level", "read_committed");
        Properties settings = settings();
        settings.put("transactional.id", topic);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            producer.initTransactions();
            for (String value : List.of("kept", "thrown away", "kept too")) {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(topic, 0, null, value)).get();
                if (value.equals("thrown away")) {
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
            }
        }
        try (KafkaShareConsumer<String, String> consumer = consumer(topic)) {
            say("committed", read(consumer, 2, record -> AcknowledgeType.ACCEPT));
        }
    }

    private void operators() throws Exception {
        String topic = topic("operators", 2);
        String group = topic;
        produce(topic, 1, 4);
        try (KafkaShareConsumer<String, String> consumer = consumer(topic)) {
            say("before", read(consumer, 4, record -> AcknowledgeType.ACCEPT));
            ShareGroupDescription described = get(admin.describeShareGroups(List.of(group)).all()).get(group);
            say("state", described.groupState());
            described.members().forEach(member -> say("assigned", new ArrayList<>(member.assignment().topicPartitions()).size()));
            TopicPartition first = new TopicPartition(topic, 0);
            say("alter with members", failure(admin.alterShareGroupOffsets(group, Map.of(first, 1L)).all()));
            say("delete with members", failure(admin.deleteShareGroups(List.of(group)).all()));
            say("delete offsets with members", failure(admin.deleteShareGroupOffsets(group, java.util.Set.of(topic)).all()));
        }
        Collection<GroupListing> groups = get(admin.listGroups(ListGroupsOptions.forShareGroups()).all());
        groups.stream().filter(one -> one.groupId().equals(group)).forEach(one -> say("listed", one));
        offsets(group);
        TopicPartition first = new TopicPartition(topic, 0);
        say("altered", failure(admin.alterShareGroupOffsets(group, Map.of(first, 2L)).all()));
        offsets(group);
        try (KafkaShareConsumer<String, String> consumer = consumer(topic)) {
            say("after it was altered", read(consumer, 2, record -> AcknowledgeType.ACCEPT));
        }
        say("unknown topic", failure(admin.alterShareGroupOffsets(group, Map.of(new TopicPartition(run + "-none", 0), 2L)).all()));
        say("unknown group", failure(admin.describeShareGroups(List.of(run + "-none")).all()));
        say("offsets deleted", failure(admin.deleteShareGroupOffsets(group, java.util.Set.of(topic)).all()));
        offsets(group);
        say("offsets deleted again", failure(admin.deleteShareGroupOffsets(group, java.util.Set.of(topic)).all()));
        say("deleted", failure(admin.deleteShareGroups(List.of(group)).all()));
        say("deleted again", failure(admin.deleteShareGroups(List.of(group)).all()));
        say("described", failure(admin.describeShareGroups(List.of(group)).all()));
    }
}
