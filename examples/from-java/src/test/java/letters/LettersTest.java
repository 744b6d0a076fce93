package letters;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.serialization.StringSerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests against `milena broker`. MILENA is the path of the binary, when it is not on the PATH. */
class LettersTest {
    private Process process;
    private String bootstrap;
    private String control;

    @BeforeEach
    void start() throws IOException {
        String binary = System.getenv().getOrDefault("MILENA", "milena");
        process = new ProcessBuilder(binary, "broker", "--port", "0", "--nodes", "3", "--topic", "letters:1",
                        "--control", "127.0.0.1:0")
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        // The line comes when everything is in place: the bootstrap servers, a space, and the URL of the control port.
        String[] ready = new BufferedReader(new InputStreamReader(process.getInputStream())).readLine().split(" ");
        bootstrap = ready[0];
        control = ready[1];
    }

    @AfterEach
    void stop() {
        process.destroy();
    }

    private String call(String method, String path, String body) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(control + path))
                .method(method, HttpRequest.BodyPublishers.ofString(body))
                .build();
        HttpResponse<String> response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        assertTrue(response.statusCode() < 300, response.body());
        return response.body();
    }

    private KafkaProducer<String, String> producer(Map<String, Object> more) {
        Map<String, Object> config = new java.util.HashMap<>(more);
        config.put("bootstrap.servers", bootstrap);
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }

    private long send(KafkaProducer<String, String> producer, String letter) throws Exception {
        return producer.send(new ProducerRecord<>("letters", letter)).get().offset();
    }

    @Test
    void aProducerRetriesWhatALeaderCannotDo() throws Exception {
        call("POST", "/faults", "{\"rule\":\"produce@1-2: error NOT_LEADER_OR_FOLLOWER\"}");
        try (KafkaProducer<String, String> producer = producer(Map.of())) {
            assertEquals(0, send(producer, "Dear Franz"));
        }
        assertTrue(call("GET", "/faults/0", "").contains("\"fired\":2"));
    }

    @Test
    void aRefusedWriteIsAnException() throws Exception {
        call("POST", "/faults", "{\"rule\":\"produce: error TOPIC_AUTHORIZATION_FAILED\"}");
        try (KafkaProducer<String, String> producer = producer(Map.of())) {
            ExecutionException error = assertThrows(ExecutionException.class, () -> send(producer, "Dear Max"));
            assertInstanceOf(TopicAuthorizationException.class, error.getCause());
        }
    }

    @Test
    void aTransactionGoesOnWhenItsCoordinatorMoves() throws Exception {
        try (KafkaProducer<String, String> producer = producer(Map.of("transactional.id", "writer"))) {
            producer.initTransactions();
            for (int node = 1; node <= 3; node++) {
                producer.beginTransaction();
                send(producer, "letter " + node);
                call("POST", "/transactions/writer/coordinator", "{\"node\":" + node + "}");
                producer.commitTransaction();
            }
        }
        assertTrue(call("GET", "/transactions/writer", "").contains("\"state\":\"CompleteCommit\""));
        // Three records, and a marker after each.
        assertTrue(call("GET", "/topics/letters", "").contains("\"lastStableOffset\":6"));
    }

    @Test
    void aSecondProducerFencesTheFirst() {
        try (KafkaProducer<String, String> first = producer(Map.of("transactional.id", "writer"));
                KafkaProducer<String, String> second = producer(Map.of("transactional.id", "writer"))) {
            first.initTransactions();
            second.initTransactions();
            first.beginTransaction();
            first.send(new ProducerRecord<>("letters", "Dear Milena"));
            assertThrows(ApiException.class, first::commitTransaction);
        }
    }
}
