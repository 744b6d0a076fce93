package milena.oracle.records;

import java.io.IOException;
import java.io.OutputStream;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.zip.GZIPOutputStream;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * Writes and reads record sets with the classes of the release on the class path.
 *
 * <p>Arguments: {@code --release R --out FILE --seed N --magic legacy|current} for sets and corruptions of its own, or
 * {@code --release R --out FILE --read FILE [--kind ours]} for the sets of a file of lines with a name, a tab and hex.
 */
public final class Main {
    public static void main(String[] args) throws IOException {
        Map<String, String> options = new HashMap<>();
        for (int i = 0; i + 1 < args.length; i += 2) {
            options.put(args[i], args[i + 1]);
        }
        Map<String, Map<String, byte[]>> kinds = new LinkedHashMap<>();
        if (options.containsKey("--read")) {
            Map<String, byte[]> read = new LinkedHashMap<>();
            for (String line : Files.readAllLines(Path.of(options.get("--read")))) {
                String[] words = line.split("\t", -1);
                read.put(words[0], Corruptions.hex(words[1]));
            }
            kinds.put(options.getOrDefault("--kind", "reread"), read);
        } else {
            long seed = Long.parseLong(options.get("--seed"));
            boolean legacy = options.get("--magic").equals("legacy");
            kinds.put("set", legacy ? Sets.legacy(seed) : Sets.current(seed));
            kinds.put("corruption", legacy ? Corruptions.legacy(seed) : Corruptions.current(seed));
        }
        try (OutputStream file = Files.newOutputStream(Path.of(options.get("--out")));
             OutputStream zipped = new GZIPOutputStream(file, 1 << 16) {
                 {
                     def.setLevel(9);
                 }
             };
             Writer out = new OutputStreamWriter(zipped, StandardCharsets.UTF_8)) {
            for (Map.Entry<String, Map<String, byte[]>> kind : kinds.entrySet()) {
                for (Map.Entry<String, byte[]> set : kind.getValue().entrySet()) {
                    ObjectNode node = JsonNodeFactory.instance.objectNode();
                    node.put("kind", kind.getKey()).put("release", options.get("--release")).put("name", set.getKey());
                    node.put("hex", HexFormat.of().formatHex(set.getValue()));
                    Reading.of(set.getValue(), node);
                    out.write(node.toString());
                    out.write('\n');
                }
            }
        }
    }

    private Main() {}
}
