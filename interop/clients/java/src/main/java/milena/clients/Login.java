package milena.clients;

import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthenticationException;

/**
 * Logs in to brokers as alice, writes a record to a new topic, and reads it back.
 *
 * <p>{@code Login FOLDER 'EXPECTED ADDRESS PROTOCOL MECHANISM PASSWORD SECONDS'...}, as ../python/login.py has them. Exits
 * with 0 if everything was as expected.
 */
public final class Login {
    private static final String MODULES = "org.apache.kafka.common.security.";

    private Login() {}

    public static void main(String[] args) throws Exception {
        int failed = 0;
        for (int i = 1; i < args.length; i++) {
            String[] words = args[i].split(" ");
            String found = roundTrip(args[0], words[1], words[2], words[3], words[4], Integer.parseInt(words[5]));
            System.out.println(args[i] + ": " + found);
            failed += found.equals(words[0]) ? 0 : 1;
        }
        System.exit(failed == 0 ? 0 : 1);
    }

    private static String roundTrip(
            String folder, String address, String protocol, String mechanism, String password, int seconds)
            throws Exception {
        Properties settings = settings(folder, address, protocol, mechanism, password);
        String topic = "login-" + UUID.randomUUID();
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(settings)) {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
            do {
                producer.send(new ProducerRecord<>(topic, "hello")).get(20, TimeUnit.SECONDS);
                Thread.sleep(seconds > 0 ? 200 : 0);
            } while (System.nanoTime() < end);
        } catch (ExecutionException error) {
            return error.getCause() instanceof AuthenticationException ? "refused" : error.toString();
        } catch (AuthenticationException error) {
            return "refused";
        }
        settings.put("auto.offset.reset", "earliest");
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings)) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            for (int i = 0; i < 20; i++) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(1))) {
                    return record.value().equals("hello") ? "ok" : "read " + record.value();
                }
            }
        }
        return "read nothing";
    }

    private static Properties settings(
            String folder, String address, String protocol, String mechanism, String password) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", address);
        settings.put("security.protocol", protocol);
        for (String side : new String[] {"key", "value"}) {
            settings.put(side + ".serializer", "org.apache.kafka.common.serialization.StringSerializer");
            settings.put(side + ".deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        }
        if (!mechanism.equals("-")) {
            settings.put("sasl.mechanism", mechanism);
            settings.put("sasl.jaas.config", login(mechanism, password));
        }
        if (protocol.endsWith("SSL")) {
            settings.put("ssl.truststore.type", "PEM");
            settings.put("ssl.truststore.location", folder + "/ca.pem");
        }
        if (protocol.equals("SSL")) {
            settings.put("ssl.keystore.type", "PEM");
            settings.put("ssl.keystore.certificate.chain", read(folder + "/client.pem"));
            settings.put("ssl.keystore.key", read(folder + "/client.key"));
        }
        return settings;
    }

    private static String login(String mechanism, String password) {
        String user = " required username=\"alice\" password=\"" + password + "\";";
        return switch (mechanism) {
            case "PLAIN" -> MODULES + "plain.PlainLoginModule" + user;
            case "OAUTHBEARER" -> MODULES
                    + "oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=\"alice\";";
            default -> MODULES + "scram.ScramLoginModule" + user;
        };
    }

    private static String read(String path) throws Exception {
        return java.nio.file.Files.readString(java.nio.file.Path.of(path));
    }
}
