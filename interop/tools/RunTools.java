import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

import org.apache.kafka.common.utils.internals.Exit;

/**
 * Runs Kafka's command line tools one after the other in this one process, against one broker.
 *
 * <p>Arguments: HOST:PORT, then the file of commands. A line is {@code kafka-NAME arguments}; text after {@code <<<} is the
 * tool's input, with a comma for the end of a line. What a tool prints follows its line, then its exit code; what differs from
 * one run to the next is replaced by a word.
 */
public final class RunTools {
    private static final String PACKAGE = "org.apache.kafka.tools.";

    private static final PrintStream NOWHERE = new PrintStream(PrintStream.nullOutputStream());

    private static final Map<String, String> CLASSES = new HashMap<>();

    static {
        CLASSES.put("kafka-topics", "TopicCommand");
        CLASSES.put("kafka-configs", "ConfigCommand");
        CLASSES.put("kafka-acls", "AclCommand");
        CLASSES.put("kafka-consumer-groups", "consumer.group.ConsumerGroupCommand");
        CLASSES.put("kafka-share-groups", "consumer.group.ShareGroupCommand");
        CLASSES.put("kafka-streams-groups", "streams.StreamsGroupCommand");
        CLASSES.put("kafka-groups", "GroupsCommand");
        CLASSES.put("kafka-console-producer", "ConsoleProducer");
        CLASSES.put("kafka-console-consumer", "consumer.ConsoleConsumer");
        CLASSES.put("kafka-console-share-consumer", "consumer.ConsoleShareConsumer");
        CLASSES.put("kafka-get-offsets", "GetOffsetShell");
        CLASSES.put("kafka-transactions", "TransactionsCommand");
        CLASSES.put("kafka-log-dirs", "LogDirsCommand");
        CLASSES.put("kafka-delete-records", "DeleteRecordsCommand");
        CLASSES.put("kafka-leader-election", "LeaderElectionCommand");
        CLASSES.put("kafka-reassign-partitions", "reassign.ReassignPartitionsCommand");
        CLASSES.put("kafka-features", "FeatureCommand");
        CLASSES.put("kafka-metadata-quorum", "MetadataQuorumCommand");
        CLASSES.put("kafka-cluster", "ClusterTool");
        CLASSES.put("kafka-client-metrics", "ClientMetricsCommand");
        CLASSES.put("kafka-broker-api-versions", "BrokerApiVersionsCommand");
        CLASSES.put("kafka-delegation-tokens", "DelegationTokenCommand");
        CLASSES.put("kafka-verifiable-producer", "VerifiableProducer");
    }

    /** How long a tool may take. */
    private static final long PATIENCE_MS = 40_000;

    /** Ends a tool. Many catch it, and end once more with another code. */
    private static final class Ended extends Error {
        private Ended() {
            super(null, null, false, false);
        }
    }

    /** What a tool ended with first. */
    private static volatile Integer code;

    public static void main(String[] arguments) throws Exception {
        String bootstrap = arguments[0];
        PrintStream out = System.out;
        PrintStream err = System.err;
        Exit.Procedure end = (code, message) -> {
            if (RunTools.code == null) {
                if (message != null) {
                    System.out.println(message);
                }
                RunTools.code = code;
                System.setOut(NOWHERE);
                System.setErr(NOWHERE);
            }
            throw new Ended();
        };
        Exit.setExitProcedure(end);
        Exit.setHaltProcedure(end);
        for (String line : Files.readAllLines(Path.of(arguments[1]))) {
            if (line.isBlank() || line.startsWith("#")) {
                continue;
            }
            ByteArrayOutputStream printed = new ByteArrayOutputStream();
            PrintStream both = new PrintStream(printed, true, StandardCharsets.UTF_8);
            System.setOut(both);
            System.setErr(both);
            RunTools.code = null;
            Thread tool = new Thread(() -> run(line, bootstrap), "tool");
            tool.setDaemon(true);
            tool.start();
            tool.join(PATIENCE_MS);
            String outcome = tool.isAlive() ? "does not end" : "exit " + RunTools.code;
            System.setOut(out);
            System.setErr(err);
            out.println("$ " + line);
            for (String text : printed.toString(StandardCharsets.UTF_8).split("\n")) {
                // Lines of a stack trace, and of a logger that is not there, are no concern of a broker.
                if (!text.startsWith("\tat ") && !text.startsWith("SLF4J")) {
                    out.println(plain(text, bootstrap));
                }
            }
            out.println(outcome);
            out.flush();
        }
        out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static void run(String line, String bootstrap) {
        String[] parts = line.split(" <<< ", 2);
        String input = parts.length > 1 ? parts[1].replace(",", "\n") + "\n" : "";
        System.setIn(new ByteArrayInputStream(input.getBytes(StandardCharsets.UTF_8)));
        List<String> words = new ArrayList<>(Arrays.asList(parts[0].trim().split(" +")));
        String tool = words.remove(0);
        if (tool.equals("kafka-cluster")) {
            words.add(1, "--bootstrap-server");
            words.add(2, bootstrap);
        } else {
            words.add(0, "--bootstrap-server");
            words.add(1, bootstrap);
        }
        try {
            Class.forName(PACKAGE + CLASSES.get(tool)).getMethod("main", String[].class)
                .invoke(null, (Object) words.toArray(new String[0]));
        } catch (InvocationTargetException thrown) {
            if (!(thrown.getCause() instanceof Ended)) {
                System.out.println(thrown.getCause());
                code = code == null ? 1 : code;
            }
        } catch (ReflectiveOperationException none) {
            throw new IllegalStateException(none);
        }
        code = code == null ? 0 : code;
    }

    /** The text without what differs between two runs. */
    private static String plain(String text, String bootstrap) {
        return text.replace(bootstrap, "BOOTSTRAP")
            .replaceAll("127\\.0\\.0\\.1:\\d+", "BOOTSTRAP")
            .replaceAll("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UUID")
            .replaceAll("(?<![A-Za-z0-9_-])[A-Za-z0-9_-]{22}(?![A-Za-z0-9_-])", "UUID")
            .replaceAll("(?<![0-9])1[0-9]{12}(?![0-9])", "TIME")
            .replaceAll("\\d{4}-\\d\\d-\\d\\d[T ]\\d\\d:\\d\\d:\\d\\d(,\\d+|\\.\\d+)?", "TIME")
            // Kafka's metadata log and its epochs, ids of producers, ports, and the lowest versions: milena serves older ones too.
            .replaceAll("Epoch: \\d+", "Epoch: N")
            .replaceAll("^(\\d+\\s+UUID\\s+)\\d+", "$1N")
            .replaceAll("^\\d+\\s+0\\s+-1\\s", "PRODUCER 0 -1 ")
            .replaceAll("127\\.0\\.0\\.1\\s+\\d+", "127.0.0.1 PORT")
            .replaceAll(": (\\d+ to )?(\\d+) \\[usable", ": to $2 [usable")
            .replaceAll("[ \t]+", " ")
            .strip();
    }
}
