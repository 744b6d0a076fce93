package milena.oracle.refusal;

import java.io.OutputStreamWriter;
import java.io.Writer;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.zip.GZIPOutputStream;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.requests.AbstractRequest;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.FetchResponse;

/**
 * Writes the responses by which one release of Kafka refuses requests: those of {@code getErrorResponse}.
 *
 * <p>Arguments: {@code --release R --requests FILE --codes N,N... --out FILE}. The file of requests has lines of API key,
 * version, and one or more bodies in hex; the first that Kafka's class reads is taken. Pairs that the release does not have
 * are left out.
 */
public final class Main {
    public static void main(String[] args) throws Exception {
        Map<String, String> options = new HashMap<>();
        for (int i = 0; i + 1 < args.length; i += 2) {
            options.put(args[i], args[i + 1]);
        }
        try (Writer out = new OutputStreamWriter(
                new GZIPOutputStream(Files.newOutputStream(Path.of(options.get("--out")))), StandardCharsets.UTF_8)) {
            for (String line : Files.readAllLines(Path.of(options.get("--requests")))) {
                String[] words = line.split(" ", -1);
                for (String code : options.get("--codes").split(",")) {
                    ObjectNode node = JsonNodeFactory.instance.objectNode();
                    node.put("release", options.get("--release"));
                    if (refuse(words, Short.parseShort(code), node)) {
                        out.write(node.toString());
                        out.write('\n');
                    }
                }
            }
            for (Errors error : Errors.values()) {
                if (error != Errors.NONE) {
                    partition(error.code(), options.get("--release"), out);
                }
            }
        }
    }

    /** Whether the release has the API and version. */
    private static boolean refuse(String[] words, short code, ObjectNode node) throws Exception {
        short key = Short.parseShort(words[0]);
        short version = Short.parseShort(words[1]);
        if (!ApiKeys.hasId(key) || !ApiKeys.forId(key).isVersionSupported(version)) {
            return false;
        }
        ApiKeys api = ApiKeys.forId(key);
        node.put("kind", "whole").put("api", key).put("version", version).put("code", code);
        String problem = "";
        for (int i = 2; i < words.length; i++) {
            try {
                AbstractRequest request = parse(api, version, HexFormat.of().parseHex(words[i]));
                AbstractResponse response = request.getErrorResponse(0, Errors.forCode(code).exception());
                // As in KIP-511.
                boolean oldest = api == ApiKeys.API_VERSIONS && code == Errors.UNSUPPORTED_VERSION.code();
                String hex = write((Message) response.data(), oldest ? 0 : version);
                node.put("request", words[i]).put("response", hex);
                return true;
            } catch (RuntimeException e) {
                problem += e + "; ";
            }
        }
        node.put("request", words[2]).put("exception", problem);
        return true;
    }

    private static AbstractRequest parse(ApiKeys api, short version, byte[] body) throws Exception {
        for (Method method : AbstractRequest.class.getMethods()) {
            if (method.getName().equals("parseRequest") && method.getParameterCount() == 3) {
                ByteBuffer buffer = ByteBuffer.wrap(body);
                boolean plain = method.getParameterTypes()[2] == ByteBuffer.class;
                try {
                    Object parsed = method.invoke(null, api, version, plain ? buffer : new ByteBufferAccessor(buffer));
                    return parsed instanceof AbstractRequest ? (AbstractRequest) parsed
                        : (AbstractRequest) parsed.getClass().getField("request").get(parsed);
                } catch (InvocationTargetException e) {
                    throw e.getCause() instanceof RuntimeException ? (RuntimeException) e.getCause() : e;
                }
            }
        }
        throw new IllegalStateException("parseRequest is missing");
    }

    private static String write(Message message, int version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(message.size(cache, (short) version));
        message.write(new ByteBufferAccessor(buffer), cache, (short) version);
        return HexFormat.of().formatHex(buffer.array());
    }

    /** What a broker puts into a Fetch response for one partition that failed. */
    private static void partition(short code, String release, Writer out) throws Exception {
        FetchResponseData data = new FetchResponseData();
        FetchResponseData.FetchableTopicResponse topic = new FetchResponseData.FetchableTopicResponse().setTopic("letters");
        topic.partitions().add(FetchResponse.partitionResponse(3, Errors.forCode(code)));
        data.responses().add(topic);
        ObjectNode node = JsonNodeFactory.instance.objectNode();
        node.put("release", release).put("kind", "fetchPartition").put("api", ApiKeys.FETCH.id).put("version", 12);
        node.put("code", code).put("response", write(data, 12));
        out.write(node.toString());
        out.write('\n');
    }

    private Main() {}
}
