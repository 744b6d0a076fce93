package milena.oracle;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.io.Writer;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** One JSON object per line. */
final class Lines {
    private final Writer out;
    private final String release;
    private ObjectNode line;

    Lines(Writer out, String release) {
        this.out = out;
        this.release = release;
    }

    ObjectNode begin(String kind) {
        line = JsonNodeFactory.instance.objectNode();
        line.put("kind", kind).put("release", release);
        return line;
    }

    void end() {
        try {
            out.write(line.toString());
            out.write('\n');
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
