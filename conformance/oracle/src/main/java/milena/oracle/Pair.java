package milena.oracle;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.types.RawTaggedField;

/** Everything that is written about one version of one message. */
final class Pair {
    /** Mutated inputs per pair. */
    private static final int MUTANTS = 16;
    private static final List<Values.Style> STYLES =
        List.of(Values.Style.FULL, Values.Style.EDGES, Values.Style.MIXED, Values.Style.EDGES, Values.Style.MIXED);
    /** Bytes of which malformed UTF-8 is made: ASCII, continuations, and the edges of all kinds of first bytes. */
    private static final byte[] UTF8 = HexFormat.of().parseHex("41808f909fa0bfc0c1c2dfe0e1ecedeeeff0f1f3f4f5f7f8fcff");
    /** Messages that also get the longest string there can be, and one byte more. */
    private static final Set<String> LONG_STRINGS = Set.of("FindCoordinatorRequest", "SaslHandshakeRequest");

    private final Lines lines;
    private final Class<?> type;
    private final Shape root;
    private final String name;
    /** The version as the newest Kafka counts it. */
    private final short version;
    /** The version as this release counts it. */
    private final short own;
    private final long seed;

    Pair(Lines lines, Class<?> type, String name, short version, short own, long seed) {
        this.lines = lines;
        this.type = type;
        this.root = Shape.of(type);
        this.name = name;
        this.version = version;
        this.own = own;
        this.seed = seed;
    }

    void write() {
        header();
        nulls();
        values();
        longStrings();
        transcodes();
        mutants();
        texts();
    }

    /** What somebody thought up: JSON, or hex in which {@code {00*9}} stands for nine zeros. */
    void inputs(List<String> inputs) {
        for (String input : inputs) {
            if (input.startsWith("{\"") || input.equals("{}")) {
                json(input);
                continue;
            }
            StringBuilder hex = new StringBuilder();
            for (String part : input.replace(" ", "").split("[{}]")) {
                String[] repeat = part.split("\\*");
                hex.append(repeat.length == 2 ? repeat[0].repeat(Integer.parseInt(repeat[1])) : part);
            }
            input("input", HexFormat.of().parseHex(hex));
        }
    }

    private ObjectNode begin(String kind) {
        return lines.begin(kind).put("message", name).put("version", version);
    }

    private long seed(int purpose) {
        return Values.seed(seed, name, version, purpose);
    }

    /** Which header goes with it. */
    private void header() {
        if (name.endsWith("Request")) {
            ApiKeys api = ApiKeys.forId(((org.apache.kafka.common.protocol.ApiMessage) root.create()).apiKey());
            begin("header").put("api", api.id).put("request", api.requestHeaderVersion(own))
                .put("response", api.responseHeaderVersion(own));
            lines.end();
        }
    }

    /** Which fields take null. */
    private void nulls() {
        ObjectNode line = begin("nulls");
        nulls(root, "", line.putObject("fields"));
        lines.end();
    }

    private void nulls(Shape shape, String path, ObjectNode fields) {
        for (Shape.Slot slot : shape.slots) {
            if (shape.has(slot, own) && slot.reference()) {
                fields.put(path + slot.name, shape.nullable(slot, own));
                if (slot.struct != null) {
                    nulls(Shape.of(slot.struct), path + slot.name + ".", fields);
                }
            }
        }
    }

    private void values() {
        value("default", root.create());
        int purpose = 0;
        for (Values.Style style : STYLES) {
            value("value", new Values(seed(purpose++), style, own).message(type));
        }
    }

    private void value(String kind, Message message) {
        Codec.Written written = Codec.write(message, own);
        if (written.exception != null) {
            throw new IllegalStateException(name + " " + version + " does not write " + message + ": " + written.exception);
        }
        ObjectNode line = begin(kind);
        line.put("hex", written.hex());
        line.set("json", Json.of(message, own));
        lines.end();
    }

    private void longStrings() {
        if (!LONG_STRINGS.contains(name)) {
            return;
        }
        Shape.Slot slot = root.slots.stream().filter(s -> s.kind == Shape.Kind.STRING && root.has(s, own)).findFirst().orElse(null);
        if (slot == null) {
            return;
        }
        Message message = root.create();
        slot.set(message, "é".repeat(16383) + "x");
        value("value", message);
        slot.set(message, "é".repeat(16384));
        ObjectNode line = begin("refuse");
        line.put("exception", Codec.write(message, own).exception);
        line.set("json", Json.of(message, own));
        lines.end();
    }

    /** Values of other versions, written at this one: refused, or dropped in silence. */
    private void transcodes() {
        for (Place place : places(root, List.of())) {
            for (Shape.Slot slot : place.shape.slots) {
                boolean here = place.shape.has(slot, own);
                boolean noNull = here && slot.reference() && !place.shape.nullable(slot, own);
                if (here && !noNull) {
                    continue;
                }
                for (short other : nearest()) {
                    if (!place.existsIn(other) || !place.shape.has(slot, other)
                        || here && !place.shape.nullable(slot, other)) {
                        continue;
                    }
                    Message message = root.blank(other);
                    Message owner = place.create(message, other);
                    if (here) {
                        slot.set(owner, null);
                    } else {
                        new Values(seed(100 + slot.name.hashCode()), Values.Style.FULL, other).other(place.shape, slot, owner);
                    }
                    transcode(place.path() + slot.name, message, other);
                    break;
                }
            }
        }
        List<Short> others = nearest();
        for (short other : others) {
            if (root.flexible(other) && !root.flexible(own)) {
                Message message = root.blank(other);
                message.unknownTaggedFields().add(new RawTaggedField(1000, new byte[] {7}));
                transcode("_unknownTaggedFields", message, other);
                break;
            }
        }
        if (!others.isEmpty()) {
            SplittableRandom random = new SplittableRandom(seed(3));
            short other = others.get(random.nextInt(others.size()));
            transcode(null, new Values(seed(4), Values.Style.FULL, other).message(type), other);
        }
    }

    private void transcode(String field, Message message, short other) {
        Codec.Written source = Codec.write(message, other);
        if (source.exception != null) {
            throw new IllegalStateException(name + " " + other + " does not write " + message + ": " + source.exception);
        }
        Codec.Read read = Codec.read(type, source.bytes, other);
        Codec.Written target = Codec.write(read.message, own);
        ObjectNode line = begin("transcode").put("from", other);
        if (field != null) {
            line.put("field", field);
        }
        line.put("hex", source.hex());
        if (target.exception == null) {
            line.put("to", target.hex());
        } else {
            line.put("exception", target.exception);
        }
        lines.end();
    }

    /** The other versions, near ones first and of two equally near ones the later first. */
    private List<Short> nearest() {
        List<Short> versions = new ArrayList<>();
        for (short v = Classes.lowest(type); v <= Classes.highest(type); v++) {
            if (v != own) {
                versions.add(v);
            }
        }
        versions.sort((a, b) -> Math.abs(a - own) != Math.abs(b - own) ? Math.abs(a - own) - Math.abs(b - own) : b - a);
        return own == version ? versions : List.of();
    }

    /** A struct and the fields that lead to it. */
    private record Place(Shape root, Shape shape, List<Shape.Slot> steps) {
        String path() {
            StringBuilder path = new StringBuilder();
            for (Shape.Slot step : steps) {
                path.append(step.name).append('.');
            }
            return path.toString();
        }

        boolean existsIn(short version) {
            Shape shape = root;
            for (Shape.Slot step : steps) {
                if (!shape.has(step, version)) {
                    return false;
                }
                shape = Shape.of(step.struct);
            }
            return shape.exists(version);
        }

        /** Makes the structs on the way. */
        Message create(Message message, short version) {
            for (Shape.Slot step : steps) {
                Message inner = Shape.of(step.struct).blank(version);
                if (step.kind == Shape.Kind.ARRAY) {
                    Collection<Object> items = step.collection();
                    items.add(inner);
                    step.set(message, items);
                } else {
                    step.set(message, inner);
                }
                message = inner;
            }
            return message;
        }
    }

    private List<Place> places(Shape shape, List<Shape.Slot> steps) {
        List<Place> places = new ArrayList<>();
        places.add(new Place(root, shape, steps));
        for (Shape.Slot slot : shape.slots) {
            if (slot.struct != null && shape.has(slot, own)) {
                List<Shape.Slot> deeper = new ArrayList<>(steps);
                deeper.add(slot);
                places.addAll(places(Shape.of(slot.struct), deeper));
            }
        }
        return places;
    }

    private void mutants() {
        SplittableRandom random = new SplittableRandom(seed(5));
        byte[][] sources = {
            Codec.write(new Values(seed(6), Values.Style.FULL, own).message(type), own).bytes,
            Codec.write(new Values(seed(7), Values.Style.EDGES, own).message(type), own).bytes,
        };
        Set<String> seen = new HashSet<>();
        for (int i = 0; i < MUTANTS * 3 && seen.size() < MUTANTS; i++) {
            byte[] source = sources[random.nextInt(3) == 0 ? 1 : 0];
            byte[] mutant = mutate(source, i % 8, random);
            if (seen.add(Codec.hex(mutant))) {
                input("mutant", mutant);
            }
        }
    }

    private byte[] mutate(byte[] source, int how, SplittableRandom random) {
        int at = source.length == 0 ? 0 : random.nextInt(source.length);
        switch (how) {
            case 0, 1 -> {
                if (source.length == 0) {
                    return new byte[] {(byte) random.nextInt()};
                }
                byte[] mutant = source.clone();
                mutant[at] ^= (byte) (1 << random.nextInt(8));
                return mutant;
            }
            case 2 -> {
                return splice(source, at, source.length, new byte[0]);
            }
            case 3 -> {
                return splice(source, at, at, new byte[] {(byte) random.nextInt()});
            }
            case 4 -> {
                return splice(source, at, Math.min(at + 1, source.length), new byte[0]);
            }
            case 5 -> {
                byte[] ones = new byte[1 << random.nextInt(3)];
                java.util.Arrays.fill(ones, (byte) (random.nextInt(4) == 0 ? 0x80 : 0xff));
                return splice(source, at, Math.min(at + ones.length, source.length), ones);
            }
            case 6 -> {
                byte[] more = new byte[1 + random.nextInt(4)];
                random.nextBytes(more);
                return splice(source, source.length, source.length, more);
            }
            default -> {
                if (!root.flexible(own)) {
                    byte[] mutant = source.length == 0 ? new byte[1] : source.clone();
                    mutant[at] = (byte) random.nextInt();
                    return mutant;
                }
                return tags(random);
            }
        }
    }

    /** A message with a tag section that no writer would write: tags that are not known, repeated, out of order, cut. */
    private byte[] tags(SplittableRandom random) {
        Message message = new Values(seed(8), Values.Style.FULL, own).message(type);
        message.unknownTaggedFields().clear();
        message.unknownTaggedFields().add(new RawTaggedField(2_000_000, new byte[] {1, 2}));
        byte[] bytes = Codec.write(message, own).bytes;
        // The last field is tag 2000000 (80 89 7a), size 2, two bytes.
        byte[] tail = switch (random.nextInt(6)) {
            case 0 -> new byte[] {0, 1, 7};
            case 1 -> new byte[] {(byte) 0x80, (byte) 0x89, 0x7a, (byte) 0xff, (byte) 0xff, (byte) 0xff, (byte) 0xff, 0xf};
            case 2 -> new byte[] {(byte) 0x80, (byte) 0x89, 0x7a, 3, 1, 2};
            case 3 -> new byte[] {(byte) 0xff, (byte) 0xff, (byte) 0xff, (byte) 0xff, 0xf, 1, 9};
            case 4 -> new byte[] {(byte) 0x80, (byte) 0x89, (byte) 0xfa, 0, 0};
            default -> new byte[] {5, 0};
        };
        return splice(bytes, bytes.length - 6, bytes.length, tail);
    }

    /** Text that is not UTF-8, in a message that holds little else. */
    private void texts() {
        if (!name.equals("SaslHandshakeRequest")) {
            return;
        }
        SplittableRandom random = new SplittableRandom(seed(9));
        for (int i = 0; i < 400; i++) {
            byte[] bytes = new byte[2 + 1 + random.nextInt(7)];
            bytes[1] = (byte) (bytes.length - 2);
            for (int at = 2; at < bytes.length; at++) {
                bytes[at] = UTF8[random.nextInt(UTF8.length)];
            }
            input("mutant", bytes);
        }
    }

    private static byte[] splice(byte[] source, int from, int to, byte[] middle) {
        byte[] result = new byte[from + middle.length + source.length - to];
        System.arraycopy(source, 0, result, 0, from);
        System.arraycopy(middle, 0, result, from, middle.length);
        System.arraycopy(source, to, result, from + middle.length, source.length - to);
        return result;
    }

    /** What Kafka's converter makes of any JSON. */
    private void json(String text) {
        ObjectNode line = begin("json").put("text", text);
        Message message = null;
        try {
            message = Json.read(type, text, own);
        } catch (RuntimeException e) {
            line.put("exception", e.getClass().getSimpleName());
        }
        if (message != null) {
            Codec.Written written = Codec.write(message, own);
            if (written.exception != null) {
                line.put("exception", written.exception);
            } else {
                line.put("hex", written.hex());
            }
        }
        lines.end();
    }

    /** What Kafka makes of any bytes. */
    private void input(String kind, byte[] bytes) {
        ObjectNode line = begin(kind).put("hex", Codec.hex(bytes));
        Codec.Read read = Codec.read(type, bytes, own);
        line.put("ok", read.exception == null);
        if (read.exception != null) {
            line.put("exception", read.exception);
        } else {
            line.put("leftover", read.leftover);
            Codec.Written written = Codec.write(read.message, own);
            if (written.exception != null) {
                line.put("unwritable", written.exception);
            } else {
                line.put("canonical", written.hex());
            }
        }
        lines.end();
    }
}
