package milena.oracle;

import java.io.File;
import java.io.IOException;
import java.lang.reflect.Modifier;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

import org.apache.kafka.common.protocol.ApiMessage;

/** The generated message classes of the class path. */
final class Classes {
    /** By the name of the schema, such as {@code FetchRequest}. */
    static Map<String, Class<?>> messages() throws IOException {
        Map<String, Class<?>> found = new TreeMap<>();
        for (String path : System.getProperty("java.class.path").split(File.pathSeparator)) {
            if (!new File(path).getName().startsWith("kafka")) {
                continue;
            }
            try (ZipFile jar = new ZipFile(path)) {
                for (ZipEntry entry : Collections.list(jar.entries())) {
                    String name = entry.getName();
                    boolean generated = name.contains("/generated/") || name.contains("/common/message/")
                        || name.contains("/common/metadata/");
                    if (generated && name.endsWith(".class") && !name.contains("$") && !name.contains("JsonConverter")) {
                        Class<?> type = load(name.substring(0, name.length() - 6).replace('/', '.'));
                        if (type != null) {
                            found.put(schemaName(type), type);
                        }
                    }
                }
            }
        }
        return found;
    }

    private static Class<?> load(String name) {
        try {
            Class<?> type = Class.forName(name);
            boolean message = ApiMessage.class.isAssignableFrom(type) && !Modifier.isAbstract(type.getModifiers());
            return message && type.getField("SCHEMAS") != null ? type : null;
        } catch (ReflectiveOperationException | LinkageError e) {
            return null;
        }
    }

    private static String schemaName(Class<?> type) {
        String name = type.getSimpleName();
        boolean suffixed = name.endsWith("RequestData") || name.endsWith("ResponseData") || name.endsWith("HeaderData");
        return suffixed ? name.substring(0, name.length() - 4) : name;
    }

    static short lowest(Class<?> type) {
        return bound(type, "LOWEST_SUPPORTED_VERSION");
    }

    static short highest(Class<?> type) {
        return bound(type, "HIGHEST_SUPPORTED_VERSION");
    }

    private static short bound(Class<?> type, String name) {
        try {
            return type.getField(name).getShort(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private Classes() {}
}
