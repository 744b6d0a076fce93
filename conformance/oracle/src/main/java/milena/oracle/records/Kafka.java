package milena.oracle.records;

import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.HashMap;
import java.util.Map;

/**
 * Kafka's classes of records, which moved from one package to another between the releases: called by name alone.
 *
 * <p>What a called method throws is thrown on as it is.
 */
final class Kafka {
    private static final String COMMON = "org.apache.kafka.common.";
    private static final String[] PACKAGES = {
        "record.", "record.internal.", "utils.", "utils.internals.", "compress.", "header.internals.", "message.",
    };
    private static final Map<String, Class<?>> CLASSES = new HashMap<>();
    private static final Map<String, Method> METHODS = new HashMap<>();

    static Class<?> type(String name) {
        return CLASSES.computeIfAbsent(name, key -> {
            for (String place : PACKAGES) {
                try {
                    return Class.forName(COMMON + place + key);
                } catch (ClassNotFoundException e) {
                    // Lies in the next one.
                }
            }
            throw new IllegalStateException("no class " + key);
        });
    }

    static Object constant(String type, String name) {
        try {
            return type(type).getField(name).get(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    static Object make(String type, Object... arguments) {
        for (Constructor<?> constructor : type(type).getConstructors()) {
            if (fits(constructor, arguments)) {
                try {
                    return constructor.newInstance(arguments);
                } catch (InvocationTargetException e) {
                    throw Kafka.<RuntimeException>asIs(e.getCause());
                } catch (ReflectiveOperationException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
        throw new IllegalStateException("no such constructor of " + type);
    }

    static Object callStatic(String type, String name, Object... arguments) {
        return invoke(type(type), null, name, arguments);
    }

    static Object call(Object target, String name, Object... arguments) {
        return invoke(target.getClass(), target, name, arguments);
    }

    static long number(Object target, String name) {
        return ((Number) call(target, name)).longValue();
    }

    static boolean flag(Object target, String name) {
        return (Boolean) call(target, name);
    }

    private static Object invoke(Class<?> type, Object target, String name, Object[] arguments) {
        String key = type.getName() + " " + name;
        Method known = METHODS.get(key);
        Method method = known != null && fits(known, arguments) ? known : find(type, name, arguments);
        METHODS.put(key, method);
        try {
            return method.invoke(target, arguments);
        } catch (InvocationTargetException e) {
            throw Kafka.<RuntimeException>asIs(e.getCause());
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Method find(Class<?> type, String name, Object[] arguments) {
        for (Method method : type.getMethods()) {
            if (method.getName().equals(name) && fits(method, arguments)) {
                method.setAccessible(true);
                return method;
            }
        }
        throw new IllegalStateException("no method " + name + " of " + type);
    }

    private static boolean fits(Executable executable, Object[] arguments) {
        Class<?>[] types = executable.getParameterTypes();
        if (types.length != arguments.length) {
            return false;
        }
        for (int i = 0; i < types.length; i++) {
            Object argument = arguments[i];
            if (argument == null ? types[i].isPrimitive() : !boxed(types[i]).isInstance(argument)) {
                return false;
            }
        }
        return true;
    }

    private static Class<?> boxed(Class<?> type) {
        return type.isPrimitive() ? java.lang.invoke.MethodType.methodType(type).wrap().returnType() : type;
    }

    @SuppressWarnings("unchecked")
    private static <T extends Throwable> T asIs(Throwable cause) throws T {
        throw (T) cause;
    }

    private Kafka() {}
}
