package milena.oracle;

import java.lang.reflect.InvocationTargetException;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.BinaryNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.types.RawTaggedField;

/** The JSON of Kafka's converters, with the two things put back that they leave out. */
final class Json {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    private static final Map<Class<?>, Boolean> CONVERTERS = new HashMap<>();

    /**
     * What {@code XJsonConverter.write(data, version, true)} gives, with the content of records in base64 and with
     * unknown tagged fields as {@code _unknownTaggedFields}.
     */
    static ObjectNode of(Message message, short version) {
        if (!hasConverter(message.getClass())) {
            return own(message, version);
        }
        try {
            Class<?> converter = Class.forName(message.getClass().getName() + "JsonConverter");
            ObjectNode node = (ObjectNode) converter.getMethod("write", message.getClass(), short.class, boolean.class)
                .invoke(null, message, version, true);
            complete(message, version, node);
            return node;
        } catch (InvocationTargetException e) {
            throw new IllegalStateException(e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** What {@code XJsonConverter.read} makes of it. */
    static Message read(Class<?> type, String text, short version) {
        try {
            JsonNode node = new ObjectMapper().readTree(text);
            return (Message) Class.forName(type.getName() + "JsonConverter").getMethod("read", JsonNode.class, short.class)
                .invoke(null, node, version);
        } catch (InvocationTargetException e) {
            throw (RuntimeException) e.getCause();
        } catch (JsonProcessingException e) {
            throw new IllegalArgumentException(text, e);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Kafka Streams ships its message without a converter. */
    static boolean hasConverter(Class<?> type) {
        return CONVERTERS.computeIfAbsent(type, key -> {
            try {
                Class.forName(type.getName() + "JsonConverter");
                return true;
            } catch (ClassNotFoundException e) {
                return false;
            }
        });
    }

    private static void complete(Message message, short version, ObjectNode node) {
        for (Shape.Slot slot : Shape.of(message.getClass()).slots) {
            Object value = slot.get(message);
            JsonNode json = node.get(slot.name);
            if (value == null || json == null) {
                continue;
            }
            if (slot.kind == Shape.Kind.RECORDS) {
                node.set(slot.name, BinaryNode.valueOf(Codec.content(value)));
            } else if (slot.kind == Shape.Kind.STRUCT) {
                complete((Message) value, version, (ObjectNode) json);
            } else if (slot.element == Shape.Kind.STRUCT) {
                Iterator<JsonNode> items = json.iterator();
                for (Object item : (Collection<?>) value) {
                    complete((Message) item, version, (ObjectNode) items.next());
                }
            }
        }
        unknown(message, node);
    }

    private static void unknown(Message message, ObjectNode node) {
        if (!message.unknownTaggedFields().isEmpty()) {
            ArrayNode array = node.putArray("_unknownTaggedFields");
            for (RawTaggedField field : message.unknownTaggedFields()) {
                array.addObject().put("tag", field.tag()).put("data", field.data());
            }
        }
    }

    /** The form of the converters for a class that has none. */
    private static ObjectNode own(Message message, short version) {
        ObjectNode node = NODES.objectNode();
        Shape shape = Shape.of(message.getClass());
        for (Shape.Slot slot : shape.slots) {
            if (!shape.has(slot, version)) {
                continue;
            }
            if (shape.isTagged(slot, version)) {
                throw new IllegalStateException("tagged fields have no form here: " + shape.type);
            }
            Object value = slot.get(message);
            if (slot.kind == Shape.Kind.ARRAY && value != null) {
                ArrayNode array = node.putArray(slot.name);
                for (Object item : (Collection<?>) value) {
                    array.add(plain(item, version));
                }
            } else {
                node.set(slot.name, plain(value, version));
            }
        }
        unknown(message, node);
        return node;
    }

    private static JsonNode plain(Object value, short version) {
        if (value == null) return NODES.nullNode();
        if (value instanceof Boolean bool) return NODES.booleanNode(bool);
        if (value instanceof Number number) return NODES.numberNode(number.longValue());
        if (value instanceof byte[] bytes) return BinaryNode.valueOf(bytes);
        if (value instanceof ByteBuffer buffer) return BinaryNode.valueOf(Values.bytes(buffer));
        if (value instanceof Message message) return own(message, version);
        return NODES.textNode(value.toString());
    }

    private Json() {}
}
