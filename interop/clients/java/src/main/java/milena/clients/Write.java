package milena.clients;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;

/**
 * Writes the records of standard input to partition 0 of each topic; prints topic and offset of each.
 *
 * <p>{@code Write BOOTSTRAP CODEC:TOPIC...}, with records as ../python/records.py describes them. Nothing is touched that
 * an older client lacks unless a record asks for it: 0.9 knows no timestamps, and headers came with 0.11.
 */
public final class Write {
    private static final int PATIENCE_SECONDS = 20;

    private Write() {}

    public static void main(String[] args) throws Exception {
        boolean timed = hasTimestamps();
        List<String> lines =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)).lines().toList();
        for (int i = 1; i < args.length; i++) {
            String[] target = args[i].split(":");
            KafkaProducer<byte[], byte[]> producer = producer(args[0], target[0]);
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (String line : lines) {
                sent.add(producer.send(record(target[1], line.split(" "), timed)));
            }
            for (Future<RecordMetadata> one : sent) {
                System.out.println(target[1] + " " + one.get(PATIENCE_SECONDS, TimeUnit.SECONDS).offset());
            }
            producer.close();
        }
    }

    private static KafkaProducer<byte[], byte[]> producer(String bootstrap, String codec) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("compression.type", codec);
        settings.put("acks", "1");
        // All in one request, so that a compressed batch holds several records.
        settings.put("linger.ms", "200");
        settings.put("batch.size", "500000");
        settings.put("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        return new KafkaProducer<>(settings);
    }

    private static ProducerRecord<byte[], byte[]> record(String topic, String[] words, boolean timed) {
        byte[] key = bytes(words[1]);
        byte[] value = bytes(words[2]);
        ProducerRecord<byte[], byte[]> record = timed
                ? new ProducerRecord<>(topic, 0, Long.valueOf(words[0]), key, value)
                : new ProducerRecord<>(topic, 0, key, value);
        for (int i = 3; i < words.length; i++) {
            String[] header = words[i].split("=");
            record.headers().add(new String(bytes(header[0]), StandardCharsets.UTF_8), bytes(header[1]));
        }
        return record;
    }

    private static boolean hasTimestamps() {
        try {
            ProducerRecord.class.getMethod("timestamp");
            return true;
        } catch (NoSuchMethodException tooOld) {
            return false;
        }
    }

    private static byte[] bytes(String word) {
        return word.equals("-") ? null : HexFormat.of().parseHex(word, 1, word.length());
    }
}
