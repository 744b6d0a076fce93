package milena.oracle;

import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.GZIPOutputStream;

import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;

/**
 * Writes the vectors of one release of Kafka, whose jars are on the class path.
 *
 * <p>Arguments: {@code --release R --seed N --wanted FILE --inputs FILE --out FILE [--newest]}. The file of wanted pairs
 * has lines of message and version, and where the release counts otherwise, the release's own version as third word. The
 * file of inputs has lines of message, version and hex or JSON. Pairs that the release does not have are passed over. The
 * newest release also tells its error codes, and what it does with inputs of versions that do not exist.
 */
public final class Main {
    public static void main(String[] args) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (int i = 0; i < args.length; i++) {
            options.put(args[i], i + 1 < args.length && !args[i + 1].startsWith("--") ? args[++i] : "");
        }
        String release = options.get("--release");
        long seed = Long.parseLong(options.get("--seed"));
        Map<String, Class<?>> classes = Classes.messages();
        Map<String, List<String>> inputs = new LinkedHashMap<>();
        for (String line : Files.readAllLines(Path.of(options.get("--inputs")))) {
            if (!line.isBlank() && !line.startsWith("#")) {
                String[] words = (line.strip() + " ").split("\\s+", 3);
                inputs.computeIfAbsent(words[0] + " " + words[1], key -> new ArrayList<>()).add(words[2].strip());
            }
        }
        int pairs = 0;
        try (OutputStream file = Files.newOutputStream(Path.of(options.get("--out")));
             OutputStream zipped = new GZIPOutputStream(file, 1 << 16) {
                 {
                     def.setLevel(9);
                 }
             };
             Writer out = new OutputStreamWriter(zipped, StandardCharsets.UTF_8)) {
            Lines lines = new Lines(out, release);
            for (String line : Files.readAllLines(Path.of(options.get("--wanted")))) {
                String[] words = line.strip().split("\\s+");
                Class<?> type = words.length < 2 ? null : classes.get(words[0]);
                if (type == null) {
                    continue;
                }
                short version = Short.parseShort(words[1]);
                short own = words.length > 2 ? Short.parseShort(words[2]) : version;
                if (own < Classes.lowest(type) || own > Classes.highest(type)) {
                    continue;
                }
                List<String> known = inputs.remove(words[0] + " " + version);
                Pair pair = new Pair(lines, type, words[0], version, own, seed);
                pair.write();
                pair.inputs(known == null ? List.of() : known);
                pairs++;
            }
            if (options.containsKey("--newest")) {
                // Versions that no release has.
                for (Map.Entry<String, List<String>> rest : inputs.entrySet()) {
                    String[] words = rest.getKey().split(" ");
                    short version = Short.parseShort(words[1]);
                    Class<?> type = classes.get(words[0]);
                    if (version < 0 || version > Classes.highest(type)) {
                        new Pair(lines, type, words[0], version, version, seed).inputs(rest.getValue());
                    }
                }
                for (Errors error : Errors.values()) {
                    lines.begin("error").put("code", error.code()).put("name", error.name())
                        .put("retriable", error.exception() instanceof RetriableException);
                    lines.end();
                }
            }
        }
        System.out.println(release + ": " + pairs + " pairs");
    }

    private Main() {}
}
