package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.NativeLibrary;
import io.retort.onnxruntime.ffm.OrtApi;
import io.retort.onnxruntime.ffm.OrtLibrary;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Field;
import java.util.function.BooleanSupplier;

/** Reads native handles of the official Java package, which its classes keep to themselves. */
final class OfficialJava {
  /** The version of the C interface that the package asks for at least, in all its releases with plug-in providers. */
  private static final int ASSURED = 22;

  /** Open until the process ends, as the package's own environment is. */
  private static OrtEnvironmentFFM shared;

  private OfficialJava() {}

  /** The native session; an error where it is closed. */
  static MemorySegment address(ai.onnxruntime.OrtSession session) {
    if (closed(session).getAsBoolean()) throw new IllegalStateException("the ai.onnxruntime.OrtSession is closed");
    return MemorySegment.ofAddress(number(field(ai.onnxruntime.OrtSession.class, "nativeHandle"), session));
  }

  /** Tells whether the session is closed. */
  static BooleanSupplier closed(ai.onnxruntime.OrtSession session) {
    Field closed = field(ai.onnxruntime.OrtSession.class, "closed");
    return () -> (Boolean) value(closed, session);
  }

  /** The environment of the library that the package loaded; the same as the package's. */
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

  /** The loader knows which library the package runs on; where it cannot tell, this uses the table itself. */
  private static OrtApiFFM find(MemorySegment table) {
    try {
      OrtLibrary library = OrtLibrary.open(NativeLibrary.loaded());
      if (library.address().address() == table.address()) return new OrtApiFFM(library);
    } catch (UnsatisfiedLinkError unknown) {
      // As above.
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
    return new OrtException(OrtErrorCode.NOT_IMPLEMENTED, "cannot read " + what + " of the official Java package: use a release from 1.22 on, and, where it is a module, start Java with "
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
