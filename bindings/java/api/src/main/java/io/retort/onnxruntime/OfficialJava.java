package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.NativeLibrary;
import io.retort.onnxruntime.ffm.OrtApi;
import io.retort.onnxruntime.ffm.OrtLibrary;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Field;
import java.util.Objects;
import java.util.function.BooleanSupplier;

/** Reads the native handles of the official Java package, which are private fields of its classes. */
final class OfficialJava {
  /** The oldest version of the C interface that releases of the package with plug-in providers ask for. */
  private static final int ASSURED = 22;

  /** Stays open until the process ends, as the package's own environment does. */
  private static OrtEnvironmentFFM shared;

  private OfficialJava() {}

  /** Returns whether an object is a session of the package, which need not be on the class path. */
  static boolean isSession(Object object) {
    return object.getClass().getName().equals("ai.onnxruntime.OrtSession");
  }

  /** Returns the native session; throws if the session is closed. */
  static MemorySegment address(ai.onnxruntime.OrtSession session) {
    if (closed(Objects.requireNonNull(session, "session")).getAsBoolean()) throw new IllegalStateException("the ai.onnxruntime.OrtSession is closed");
    return MemorySegment.ofAddress(number(field(ai.onnxruntime.OrtSession.class, "nativeHandle"), session));
  }

  /** Returns a function that reports whether the session is closed. */
  static BooleanSupplier closed(ai.onnxruntime.OrtSession session) {
    Field closed = field(ai.onnxruntime.OrtSession.class, "closed");
    return () -> (Boolean) value(closed, session);
  }

  /** Returns the environment of the library that the package loaded. It is the same as the package's. */
  static synchronized OrtEnvironmentFFM environment() {
    if (shared == null) {
      try {
        Class<?> runtime = Class.forName("ai.onnxruntime.OnnxRuntime");
        MemorySegment table = MemorySegment.ofAddress(number(field(runtime, "ortApiHandle"), null));
        shared = OrtEnvironmentFFM.create(find(table), EnvironmentOptions.DEFAULT);
      } catch (ClassNotFoundException e) {
        throw unreadable("ai.onnxruntime.OnnxRuntime", e);
      }
    }
    return shared;
  }

  /** Finds the library that the package uses. If the system does not tell, the result uses the table alone. */
  private static OrtApiFFM find(MemorySegment table) {
    try {
      OrtLibrary library = OrtLibrary.open(NativeLibrary.loaded());
      if (library.address().address() == table.address()) return new OrtApiFFM(library);
    } catch (UnsatisfiedLinkError unknown) {
      // Use the table alone, see above.
    }
    return new OrtApiFFM(new OrtLibrary(null, ASSURED, "unknown", new OrtApi(table, ASSURED), table));
  }

  private static Field field(Class<?> owner, String name) {
    try {
      Field field = owner.getDeclaredField(name);
      field.setAccessible(true);
      return field;
    } catch (ReflectiveOperationException | RuntimeException e) {
      throw unreadable(owner.getName() + "." + name, e);
    }
  }

  private static OrtException unreadable(String what, Exception cause) {
    return new OrtException(OrtErrorCode.NOT_IMPLEMENTED, "cannot read " + what + " of the official Java package: use release 1.22 or later and, if the package is a module, start Java with "
        + "--add-opens com.microsoft.onnxruntime/ai.onnxruntime=io.retort.onnxruntime", cause);
  }

  private static Object value(Field field, Object owner) {
    try {
      return field.get(owner);
    } catch (IllegalAccessException e) {
      throw unreadable(field.toString(), e);
    }
  }

  private static long number(Field field, Object owner) {
    return (Long) value(field, owner);
  }
}
