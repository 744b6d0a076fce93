package milena.clients;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * What the client does when a broker refuses requests, which {@code milena tap --fault} does in its place.
 *
 * <p>With {@code --list} prints the scenarios, each with its rules, between tabs. Else takes the address of the cluster, then
 * {@code NAME=ADDRESS} of the tap for each scenario.
 */
public final class Faults {
    private static final List<String> RECORDS =
        IntStream.range(0, 20).mapToObj(i -> "letter " + i).collect(Collectors.toList());

    /** Rules by scenario, and what the client has to make of them. */
    private record Scenario(String kind, String wanted, String... rules) {}

    private static final Map<String, Scenario> SCENARIOS = new LinkedHashMap<>();

    static {
        String all = "20 records, each once";
        SCENARIOS.put("produce-retriable", new Scenario("produce", "written once",
            "produce@1-2: error NOT_LEADER_OR_FOLLOWER"));
        SCENARIOS.put("produce-fatal", new Scenario("produce", "TopicAuthorizationException",
            "produce: error TOPIC_AUTHORIZATION_FAILED"));
        SCENARIOS.put("fetch-retriable", new Scenario("read", all, "fetch@2-6: error NOT_LEADER_OR_FOLLOWER"));
        SCENARIOS.put("fetch-fatal", new Scenario("read", "TopicAuthorizationException [letters]",
            "fetch@2+: error TOPIC_AUTHORIZATION_FAILED"));
        SCENARIOS.put("fetch-session", new Scenario("read", all,
            "fetch@2: error FETCH_SESSION_ID_NOT_FOUND", "fetch@3: error INVALID_FETCH_SESSION_EPOCH",
            "fetch@4: error FETCH_SESSION_TOPIC_ID_ERROR"));
        SCENARIOS.put("metadata-retriable", new Scenario("read", all, "metadata@1-3: error LEADER_NOT_AVAILABLE"));
        SCENARIOS.put("metadata-fatal", new Scenario("read", "TopicAuthorizationException [letters]",
            "metadata: error TOPIC_AUTHORIZATION_FAILED"));
        SCENARIOS.put("metadata-produce", new Scenario("produce", "TopicAuthorizationException",
            "metadata: error TOPIC_AUTHORIZATION_FAILED"));
        SCENARIOS.put("coordinator-retriable", new Scenario("group", all,
            "findcoordinator@1-2: error COORDINATOR_NOT_AVAILABLE", "offsetfetch@1: error NOT_COORDINATOR",
            "joingroup@1: error COORDINATOR_LOAD_IN_PROGRESS"));
        SCENARIOS.put("coordinator-fatal", new Scenario("group", "GroupAuthorizationException",
            "findcoordinator: error GROUP_AUTHORIZATION_FAILED"));
        SCENARIOS.put("join-unknown-member", new Scenario("group", all,
            "joingroup@1: error UNKNOWN_MEMBER_ID", "heartbeat@1: error REBALANCE_IN_PROGRESS"));
        SCENARIOS.put("join-fatal", new Scenario("group", "InconsistentGroupProtocolException",
            "joingroup: error INCONSISTENT_GROUP_PROTOCOL"));
        SCENARIOS.put("offsets-of-a-group", new Scenario("group", "GroupAuthorizationException",
            "offsetfetch: error GROUP_AUTHORIZATION_FAILED"));
        SCENARIOS.put("offsets-of-a-partition", new Scenario("group", "TopicAuthorizationException [letters]",
            "offsetfetch: error TOPIC_AUTHORIZATION_FAILED"));
        SCENARIOS.put("describe-group", new Scenario("describe", "GroupIdNotFoundException",
            "describegroups: error GROUP_ID_NOT_FOUND", "consumergroupdescribe: error GROUP_ID_NOT_FOUND"));
    }

    public static void main(String[] args) throws Exception {
        if (args[0].equals("--list")) {
            SCENARIOS.forEach((name, scenario) -> System.out.println(name + "\t" + String.join("\t", scenario.rules())));
            return;
        }
        String topic = "letters";
        try (Admin admin = Admin.create(properties(args[0]))) {
            admin.createTopics(List.of(new NewTopic(topic, 2, (short) 1))).all().get();
        }
        try (KafkaProducer<String, String> producer = producer(args[0])) {
            for (int i = 0; i < RECORDS.size(); i++) {
                producer.send(new ProducerRecord<>(topic, i % 2, null, RECORDS.get(i))).get();
            }
        }
        Steps steps = new Steps();
        for (int i = 1; i < args.length; i++) {
            String name = args[i].substring(0, args[i].indexOf('='));
            String address = args[i].substring(args[i].indexOf('=') + 1);
            Scenario scenario = SCENARIOS.get(name);
            steps.step(name, () -> {
                long begin = System.nanoTime();
                String found = switch (scenario.kind()) {
                    case "produce" -> produce(address, args[0], "written-" + name);
                    case "read" -> read(address, topic, null);
                    case "group" -> read(address, topic, "readers-" + name);
                    default -> describe(address);
                };
                Steps.same(found, scenario.wanted());
                return found + ", " + (System.nanoTime() - begin) / 1_000_000 + " ms";
            });
        }
        steps.end();
    }

    private static Properties properties(String address) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", address);
        properties.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        properties.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        properties.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        properties.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        properties.put("auto.offset.reset", "earliest");
        properties.put("heartbeat.interval.ms", "300");
        properties.put("request.timeout.ms", "20000");
        properties.put("default.api.timeout.ms", "20000");
        return properties;
    }

    private static KafkaProducer<String, String> producer(String address) {
        return new KafkaProducer<>(properties(address));
    }

    private static String name(Throwable error) {
        return error.getClass().getSimpleName();
    }

    /** Writes one record through the tap, and counts by way of the cluster how often it is there. */
    private static String produce(String address, String cluster, String topic) throws Exception {
        try (Admin admin = Admin.create(properties(cluster))) {
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
        }
        try (KafkaProducer<String, String> producer = producer(address)) {
            producer.send(new ProducerRecord<>(topic, "value")).get(30, TimeUnit.SECONDS);
        } catch (ExecutionException error) {
            return name(error.getCause());
        }
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(properties(cluster))) {
            TopicPartition partition = new TopicPartition(topic, 0);
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            return end == 1 ? "written once" : end + " records";
        }
    }

    /** Reads all records, as a member of a group or alone. */
    private static String read(String address, String topic, String group) {
        Properties properties = properties(address);
        if (group != null) {
            properties.put("group.id", group);
        }
        List<String> found = new ArrayList<>();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(properties)) {
            if (group == null) {
                consumer.assign(List.of(new TopicPartition(topic, 0), new TopicPartition(topic, 1)));
            } else {
                consumer.subscribe(List.of(topic));
            }
            // Goes on for a while after the last one, so that faults and repeated records have time to show.
            long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
            for (int empty = 0; System.nanoTime() < until && (found.size() < RECORDS.size() || empty < 4);) {
                int before = found.size();
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
                    found.add(record.value());
                }
                empty = found.size() == before ? empty + 1 : 0;
            }
        } catch (org.apache.kafka.common.errors.TopicAuthorizationException error) {
            return name(error) + " " + error.unauthorizedTopics();
        } catch (org.apache.kafka.common.KafkaException error) {
            return name(error);
        }
        found.sort(null);
        List<String> wanted = new ArrayList<>(RECORDS);
        wanted.sort(null);
        return found.equals(wanted) ? "20 records, each once" : found.size() + " records: " + found;
    }

    private static String describe(String address) throws Exception {
        try (Admin admin = Admin.create(properties(address))) {
            return "described " + admin.describeConsumerGroups(List.of("readers")).all().get();
        } catch (ExecutionException error) {
            return name(error.getCause());
        }
    }

    private Faults() {}
}
