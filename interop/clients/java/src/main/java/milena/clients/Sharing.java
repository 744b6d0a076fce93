package milena.clients;

import static milena.clients.Steps.same;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;

/** Share groups (KIP-932), which came with 4.x: apart, so that older clients need not load this. */
final class Sharing {
    private Sharing() {}

    static Object read(String bootstrap, String topic, String group) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        try (Admin admin = Admin.create(settings)) {
            if (!admin.describeFeatures().featureMetadata().get(30, TimeUnit.SECONDS).finalizedFeatures().containsKey("share.version")) {
                throw new Steps.TooOld("the broker has no share groups");
            }
            ConfigResource resource = new ConfigResource(ConfigResource.Type.GROUP, group);
            AlterConfigOp early = new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET);
            admin.incrementalAlterConfigs(Map.of(resource, Collections.singletonList(early))).all().get(30, TimeUnit.SECONDS);
        }
        settings.put("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings)) {
            for (int n = 0; n < 10; n++) {
                producer.send(new ProducerRecord<>(topic, 0, null, ("shared " + n).getBytes(StandardCharsets.UTF_8)));
            }
        }
        settings.put("group.id", group);
        settings.put("share.acknowledgement.mode", "explicit");
        settings.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        settings.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        int accepted = 0;
        int released = 0;
        try (KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(settings)) {
            consumer.subscribe(Collections.singletonList(topic));
            long end = System.currentTimeMillis() + 30_000;
            while ((accepted < 10 || released == 0) && System.currentTimeMillis() < end) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(500))) {
                    // One goes back, to be delivered again.
                    boolean back = released == 0;
                    consumer.acknowledge(record, back ? AcknowledgeType.RELEASE : AcknowledgeType.ACCEPT);
                    if (back) {
                        released++;
                    } else {
                        accepted++;
                    }
                }
                consumer.commitSync();
            }
        }
        same(accepted >= 10 && released == 1, true);
        return accepted + " records";
    }
}
