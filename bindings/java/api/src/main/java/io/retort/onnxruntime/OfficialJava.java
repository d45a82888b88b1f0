package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.NativeLibrary;
import io.retort.onnxruntime.ffm.OrtApi;
import io.retort.onnxruntime.ffm.OrtLibrary;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;

/** Sessions of the official Java package, whose native handles its classes keep to themselves. */
final class OfficialJava {
  /** The version of the C interface that the package asks for at least, in all its releases with plug-in providers. */
  private static final int ASSURED = 22;

  /** Open until the process ends, as the package's own environment is. */
  private static OrtEnvironmentFFM shared;

  private OfficialJava() {}

  static OrtSessionFFM share(ai.onnxruntime.OrtSession session) {
    Field closed = field(ai.onnxruntime.OrtSession.class, "closed");
    if (flag(closed, session)) throw new IllegalStateException("the ai.onnxruntime.OrtSession is closed");
    MemorySegment address = MemorySegment.ofAddress(number(field(ai.onnxruntime.OrtSession.class, "nativeHandle"), session));
    OrtEnvironmentFFM env = environment();
    Handle used = env.use();
    try {
      return OrtSessionFFM.finished(env, new SessionHandle(env.api(), address, () -> flag(closed, session), used));
    } finally {
      used.release();
    }
  }

  /** The environment of the library that the package loaded; the same as the package's. */
  static synchronized OrtEnvironmentFFM environment() {
    if (shared == null) {
      try {
        Class<?> runtime = Class.forName("ai.onnxruntime.OnnxRuntime");
        MemorySegment table = MemorySegment.ofAddress(number(field(runtime, "ortApiHandle"), null));
        shared = OrtEnvironmentFFM.create(find(runtime, table), EnvironmentOptions.DEFAULT);
      } catch (ClassNotFoundException e) {
        throw unreadable("ai.onnxruntime.OnnxRuntime", e);
      }
    }
    return shared;
  }

  /** Asks the library's file for its version. If another file was loaded meanwhile, its table lies elsewhere. */
  private static OrtApiFFM find(Class<?> runtime, MemorySegment table) {
    for (Path file : files(runtime)) {
      if (!Files.isRegularFile(file)) continue;
      OrtLibrary library = OrtLibrary.open(NativeLibrary.load(file));
      if (library.address().address() == table.address()) return new OrtApiFFM(library);
    }
    return new OrtApiFFM(new OrtLibrary(Path.of("the library of the official Java package"), ASSURED, "unknown", new OrtApi(table, ASSURED), table));
  }

  private static Iterable<Path> files(Class<?> runtime) {
    String name = System.mapLibraryName("onnxruntime");
    java.util.List<Path> files = new java.util.ArrayList<>();
    String file = System.getProperty("onnxruntime.native.onnxruntime.path");
    if (file != null) files.add(Path.of(file));
    String folder = System.getProperty("onnxruntime.native.path");
    if (folder != null) files.add(Path.of(folder, name));
    if (value(field(runtime, "tempDirectory"), null) instanceof Path extracted) files.add(extracted.resolve(name));
    return files;
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

  private static boolean flag(Field field, Object owner) {
    return (Boolean) value(field, owner);
  }
}
