package milena.clients;

import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;

/**
 * Writes while brokers fail; prints what it knows of each write, as ../python/chaos.py does.
 *
 * <p>{@code Chaos BOOTSTRAP SECONDS CLIENTS PARTITIONS}
 */
public final class Chaos {
    private static final long PATIENCE_MS = 60_000;

    private static String bootstrap;
    private static int partitions;
    private static long end;

    private Chaos() {}

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        end = System.currentTimeMillis() + (long) (Double.parseDouble(args[1]) * 1000);
        partitions = Integer.parseInt(args[3]);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(args[2]); i++) {
            int number = i;
            Thread thread = new Thread(() -> {
                if (number % 2 == 0) plain(number);
                else transactional(number);
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) thread.join();
        System.exit(0);
    }

    private static boolean goesOn() {
        return System.currentTimeMillis() < end;
    }

    private static synchronized void say(String line) {
        System.out.println(line);
    }

    private static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException error) {
            throw new InterruptException(error);
        }
    }

    private static KafkaProducer<String, String> producer(String name, boolean transactional) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", bootstrap);
        settings.put("client.id", name);
        settings.put("acks", "all");
        settings.put("linger.ms", "2");
        settings.put("request.timeout.ms", "3000");
        settings.put("delivery.timeout.ms", "120000");
        settings.put("max.block.ms", "20000");
        settings.put("reconnect.backoff.max.ms", "500");
        settings.put("key.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        settings.put("value.serializer", "org.apache.kafka.common.serialization.StringSerializer");
        if (transactional) {
            settings.put("transactional.id", name);
            settings.put("transaction.timeout.ms", "30000");
        }
        return new KafkaProducer<>(settings);
    }

    private static void plain(int number) {
        String name = "java-" + number;
        KafkaProducer<String, String> producer = producer(name, false);
        for (int sent = 0; goesOn(); sent++) {
            String value = name + "-" + sent;
            try {
                producer.send(new ProducerRecord<>("plain", sent % partitions, null, value), (to, error) -> {
                    if (error == null) say("A " + to.topic() + " " + to.partition() + " " + to.offset() + " " + value);
                });
            } catch (KafkaException error) {
                // It did not leave.
            }
            pause(20);
        }
        producer.close(java.time.Duration.ofMillis(PATIENCE_MS));
    }

    private static void transactional(int number) {
        String name = "javatx-" + number;
        int transaction = 0;
        while (goesOn()) {
            KafkaProducer<String, String> producer = producer(name, true);
            try {
                producer.initTransactions();
                boolean lives = true;
                while (lives && goesOn()) {
                    lives = oneTransaction(producer, name, ++transaction);
                    pause(50);
                }
            } catch (KafkaException error) {
                // The next one begins again.
            }
            producer.close(java.time.Duration.ofSeconds(1));
        }
    }

    /** Writes and ends a transaction; false when the producer cannot go on. */
    private static boolean oneTransaction(KafkaProducer<String, String> producer, String name, int transaction) {
        StringBuilder values = new StringBuilder();
        producer.beginTransaction();
        try {
            for (int part = 0; part < 3; part++) {
                String value = name + "-" + transaction + "-" + part;
                values.append(' ').append(value);
                producer.send(new ProducerRecord<>("tx", (transaction + part) % partitions, null, value));
            }
            if (transaction % 4 == 0) {
                return ended(producer::abortTransaction, "X" + values);
            }
            return ended(producer::commitTransaction, "C" + values);
        } catch (ProducerFencedException | OutOfOrderSequenceException | AuthorizationException | TimeoutException error) {
            say("U" + values);
            return false;
        } catch (KafkaException error) {
            try {
                return ended(producer::abortTransaction, "X" + values);
            } catch (KafkaException second) {
                say("U" + values);
                return false;
            }
        }
    }

    /** Ends a transaction, again while that is of use. */
    private static boolean ended(Runnable call, String line) {
        while (true) {
            try {
                call.run();
                say(line);
                return true;
            } catch (TimeoutException error) {
                if (System.currentTimeMillis() > end + PATIENCE_MS) throw error;
            }
        }
    }
}
