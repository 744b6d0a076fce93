package milena.clients;

import java.util.concurrent.Callable;

/** Steps of a tour, each a line on standard output; one that a broker is too old for is skipped, and told as such. */
final class Steps {
    private int failed;

    /** Something that the client at hand, or the broker, lacks. */
    static final class TooOld extends RuntimeException {
        TooOld(String what) {
            super(what);
        }
    }

    /** Runs a step, which returns what it wants to have told. */
    void step(String what, Callable<Object> run) {
        try {
            Object told = run.call();
            System.out.println("ok    " + what + (told == null ? "" : ": " + told));
        } catch (Exception | NoSuchMethodError | NoClassDefFoundError error) {
            if (isTooOld(error)) {
                System.out.println("skip  " + what + ": " + error);
            } else {
                failed++;
                System.out.println("WRONG " + what + ": " + error);
                error.printStackTrace(System.out);
            }
        }
    }

    private static boolean isTooOld(Throwable error) {
        for (Throwable one = error; one != null; one = one.getCause()) {
            String name = one.getClass().getSimpleName();
            if (one instanceof TooOld || one instanceof LinkageError
                    || name.equals("UnsupportedVersionException") || name.equals("SecurityDisabledException")) {
                return true;
            }
        }
        return false;
    }

    /** What was read is what was written. */
    static String same(Object found, Object wanted) {
        if (!found.equals(wanted)) {
            throw new IllegalStateException("found " + found + ", wanted " + wanted);
        }
        String text = String.valueOf(found);
        return text.length() < 60 ? text : "as it was";
    }

    /** Ends the program: 0 if all went right. */
    void end() {
        System.out.println(failed == 0 ? "all went right" : failed + " steps went wrong");
        System.exit(failed == 0 ? 0 : 1);
    }
}
