package milena.oracle.errors;

import java.io.File;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Prints which releases of Apache Kafka have which error code, from the classes of each release: CODE, NAME, first release,
 * last release, and whether the exception of the last one is retriable and asks for new metadata.
 *
 * <p>Arguments in the order of the releases: RELEASE=JAR[:JAR...].
 */
public final class Main {
    private static final class Row {
        String first;
        String last;
        String flags;
    }

    private final Map<Short, Map<String, Row>> table = new TreeMap<>();

    public static void main(String[] args) throws Exception {
        Main main = new Main();
        for (String arg : args) {
            int cut = arg.indexOf('=');
            List<URL> urls = new ArrayList<>();
            for (String path : arg.substring(cut + 1).split(File.pathSeparator)) {
                urls.add(new File(path).toURI().toURL());
            }
            // Only the jars of this release: no class of the release that this program runs with.
            ClassLoader platform = ClassLoader.getPlatformClassLoader();
            try (URLClassLoader loader = new URLClassLoader(urls.toArray(new URL[0]), platform)) {
                main.read(arg.substring(0, cut), loader);
            }
        }
        main.table.forEach((code, names) -> names.forEach((name, row) ->
                System.out.println(code + "\t" + name + "\t" + row.first + "\t" + row.last + "\t" + row.flags)));
    }

    private void read(String release, ClassLoader loader) throws Exception {
        Class<?> retriable = find(loader, "errors.RetriableException");
        Class<?> refresh = find(loader, "errors.RefreshRetriableException");
        if (refresh == null) {
            refresh = find(loader, "errors.InvalidMetadataException");
        }
        Class<?> errors = find(loader, "protocol.Errors");
        if (errors == null) {
            // Before kafka-clients the codes were values of a Scala object, each with a getter of its name.
            Class<?> mapping = loader.loadClass("kafka.common.ErrorMapping$");
            Object object = mapping.getField("MODULE$").get(null);
            for (Method method : mapping.getMethods()) {
                if (method.getParameterCount() == 0 && method.getReturnType() == short.class) {
                    add((Short) method.invoke(object), method.getName(), release, "-\t-");
                }
            }
            return;
        }
        for (Object error : errors.getEnumConstants()) {
            Object exception = errors.getMethod("exception").invoke(error);
            String flags = (retriable.isInstance(exception) ? "retriable" : "-") + "\t"
                    + (refresh.isInstance(exception) ? "refresh" : "-");
            add((Short) errors.getMethod("code").invoke(error), ((Enum<?>) error).name(), release, flags);
        }
    }

    private void add(short code, String name, String release, String flags) {
        Row row = table.computeIfAbsent(code, key -> new LinkedHashMap<>()).computeIfAbsent(name, key -> new Row());
        row.first = row.first == null ? release : row.first;
        row.last = release;
        row.flags = flags;
    }

    private static Class<?> find(ClassLoader loader, String name) {
        try {
            return loader.loadClass("org.apache.kafka.common." + name);
        } catch (ClassNotFoundException absent) {
            return null;
        }
    }

    private Main() {
    }
}
