package milena.oracle;

import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;

/** What reflection finds out about one generated class: a message, or a struct inside of one. */
final class Shape {
    enum Kind { BOOL, INT8, INT16, INT32, INT64, UINT16, UINT32, FLOAT64, UUID, STRING, BYTES, BUFFER, RECORDS, STRUCT, ARRAY }

    /** One field of the class. */
    static final class Slot {
        final String name;
        final Kind kind;
        /** What an array holds; otherwise null. */
        final Kind element;
        /** The class of a struct, also of one inside an array; otherwise null. */
        final Class<?> struct;
        private final Field field;
        private final Method setter;

        private Slot(Class<?> owner, Field field) throws ReflectiveOperationException {
            this.field = field;
            field.setAccessible(true);
            name = field.getName();
            Method found = null;
            for (Method method : owner.getDeclaredMethods()) {
                if (method.getName().equalsIgnoreCase("set" + name) && method.getParameterCount() == 1) {
                    found = method;
                }
            }
            setter = found;
            Class<?> type = field.getType();
            if (Collection.class.isAssignableFrom(type)) {
                Class<?> item = type == List.class
                    ? (Class<?>) ((ParameterizedType) field.getGenericType()).getActualTypeArguments()[0]
                    : (Class<?>) ((ParameterizedType) type.getGenericSuperclass()).getActualTypeArguments()[0];
                kind = Kind.ARRAY;
                element = kind(item);
                struct = element == Kind.STRUCT ? item : null;
            } else {
                Kind plain = kind(type);
                if (plain == Kind.INT32 && refuses(owner, -1)) {
                    plain = Kind.UINT16;
                } else if (plain == Kind.INT64 && refuses(owner, -1L)) {
                    plain = Kind.UINT32;
                }
                kind = plain;
                element = null;
                struct = kind == Kind.STRUCT ? type : null;
            }
        }

        /** Java has no unsigned types: the setters of the next larger type check the range. */
        private boolean refuses(Class<?> owner, Object value) throws ReflectiveOperationException {
            try {
                setter.invoke(create(owner), value);
                return false;
            } catch (java.lang.reflect.InvocationTargetException e) {
                return true;
            }
        }

        private static Kind kind(Class<?> type) {
            if (type == boolean.class || type == Boolean.class) return Kind.BOOL;
            if (type == byte.class || type == Byte.class) return Kind.INT8;
            if (type == short.class || type == Short.class) return Kind.INT16;
            if (type == int.class || type == Integer.class) return Kind.INT32;
            if (type == long.class || type == Long.class) return Kind.INT64;
            if (type == double.class || type == Double.class) return Kind.FLOAT64;
            if (type == String.class) return Kind.STRING;
            if (type == byte[].class) return Kind.BYTES;
            if (type == java.nio.ByteBuffer.class) return Kind.BUFFER;
            if (type.getSimpleName().equals("Uuid")) return Kind.UUID;
            if (type.getSimpleName().equals("BaseRecords")) return Kind.RECORDS;
            if (Message.class.isAssignableFrom(type)) return Kind.STRUCT;
            throw new IllegalStateException("a field of type " + type);
        }

        Object get(Object owner) {
            try {
                return field.get(owner);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }

        void set(Object owner, Object value) {
            try {
                setter.invoke(owner, value);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(owner.getClass() + "." + name, e);
            }
        }

        /** A collection of the class that the field wants. */
        @SuppressWarnings("unchecked")
        Collection<Object> collection() {
            try {
                Class<?> type = field.getType();
                return type == List.class
                    ? new ArrayList<>()
                    : (Collection<Object>) type.getDeclaredConstructor().newInstance();
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(e);
            }
        }

        /** Whether it can be null in memory, and so may be null on the wire. */
        boolean reference() {
            return switch (kind) {
                case STRING, BYTES, BUFFER, RECORDS, STRUCT, ARRAY -> true;
                default -> false;
            };
        }
    }

    private static final Map<Class<?>, Shape> CACHE = new HashMap<>();

    final Class<?> type;
    final List<Slot> slots = new ArrayList<>();
    private final Schema[] schemas;
    private final Map<Short, Set<String>> present = new HashMap<>();
    private final Map<Short, Set<String>> tagged = new HashMap<>();
    private final Map<String, Boolean> nullable = new HashMap<>();

    static Shape of(Class<?> type) {
        Shape known = CACHE.get(type);
        if (known == null) {
            try {
                known = new Shape(type);
            } catch (ReflectiveOperationException e) {
                throw new IllegalStateException(type.toString(), e);
            }
            CACHE.put(type, known);
        }
        return known;
    }

    private Shape(Class<?> type) throws ReflectiveOperationException {
        this.type = type;
        schemas = (Schema[]) type.getField("SCHEMAS").get(null);
        for (Field field : type.getDeclaredFields()) {
            boolean bookkeeping = field.getName().startsWith("_")
                || field.getType() == int.class && (field.getName().equals("next") || field.getName().equals("prev"));
            if (!Modifier.isStatic(field.getModifiers()) && !bookkeeping) {
                slots.add(new Slot(type, field));
            }
        }
    }

    static Message create(Class<?> type) {
        try {
            return (Message) type.getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    Message create() {
        return create(type);
    }

    boolean exists(short version) {
        return version >= 0 && version < schemas.length && schemas[version] != null;
    }

    /** Whether the version has the field, tagged or not. */
    boolean has(Slot slot, short version) {
        return present.computeIfAbsent(version, this::names).contains(fold(slot.name));
    }

    boolean isTagged(Slot slot, short version) {
        has(slot, version);
        return tagged.get(version).contains(fold(slot.name));
    }

    private Set<String> names(short version) {
        Set<String> names = new HashSet<>();
        Set<String> tags = new HashSet<>();
        if (exists(version)) {
            for (BoundField field : schemas[version].fields()) {
                if (field.def.type instanceof TaggedFields section) {
                    for (org.apache.kafka.common.protocol.types.Field tag : tags(section)) {
                        names.add(fold(tag.name));
                        tags.add(fold(tag.name));
                    }
                } else {
                    names.add(fold(field.def.name));
                }
            }
        }
        tagged.put(version, tags);
        return names;
    }

    /** Older releases have the field, but no method for it. */
    @SuppressWarnings("unchecked")
    private static Collection<org.apache.kafka.common.protocol.types.Field> tags(TaggedFields section) {
        try {
            Field fields = TaggedFields.class.getDeclaredField("fields");
            fields.setAccessible(true);
            return ((Map<Integer, org.apache.kafka.common.protocol.types.Field>) fields.get(section)).values();
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    boolean flexible(short version) {
        for (BoundField field : schemas[version].fields()) {
            if (field.def.type instanceof TaggedFields) {
                return true;
            }
        }
        return false;
    }

    /** Whether the class writes null there; found out by trying. */
    boolean nullable(Slot slot, short version) {
        return nullable.computeIfAbsent(version + " " + slot.name, key -> {
            Message probe = blank(version);
            slot.set(probe, null);
            return Codec.write(probe, version).exception == null;
        });
    }

    /** Defaults, with empty records in place of null. */
    Message blank(short version) {
        Message blank = create();
        for (Slot slot : slots) {
            if (slot.kind == Kind.RECORDS && has(slot, version)) {
                slot.set(blank, Codec.records(new byte[0]));
            }
        }
        return blank;
    }

    /** Schemas write names with underscores, classes with capitals. */
    private static String fold(String name) {
        return name.replace("_", "").toLowerCase(Locale.ROOT);
    }
}
