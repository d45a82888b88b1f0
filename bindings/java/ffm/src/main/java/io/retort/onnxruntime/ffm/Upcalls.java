package io.retort.onnxruntime.ffm;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;

/**
 * Creates native functions that call Java. An exception that left such a function would end the process, so all
 * exceptions are caught here. Thread-safe.
 */
public final class Upcalls {
  /** Receives log messages. */
  @FunctionalInterface
  public interface Logging {
    /**
     * @param severity OrtLoggingLevel
     * @param category part of the library
     * @param id name of the session or environment
     * @param location place in the library's source code
     * @param message text of the message
     */
    void log(int severity, String category, String id, String location, String message);
  }

  /** Chooses devices. */
  @FunctionalInterface
  public interface Selection {
    /**
     * @param devices array of OrtEpDevice
     * @param modelMetadata OrtKeyValuePairs, or NULL
     * @param runtimeMetadata OrtKeyValuePairs, or NULL
     * @param selected array that receives the chosen devices
     * @return OrtStatus, or NULL. The implementation writes the number of chosen devices to {@code count}
     */
    MemorySegment select(MemorySegment devices, MemorySegment modelMetadata, MemorySegment runtimeMetadata, MemorySegment selected, MemorySegment count);
  }

  private static final ValueLayout P = ValueLayout.ADDRESS;
  private static final ValueLayout I = ValueLayout.JAVA_INT;
  private static final ValueLayout L = ValueLayout.JAVA_LONG;
  private static final FunctionDescriptor LOGGING = FunctionDescriptor.ofVoid(P, I, P, P, P, P);
  private static final FunctionDescriptor SELECTION = FunctionDescriptor.of(P, P, L, P, P, P, L, P, P);

  private Upcalls() {}

  /**
   * @param function the function, which any thread may call
   * @param arena lifetime of the native function
   * @return OrtLoggingFunction
   */
  public static MemorySegment logging(Logging function, Arena arena) {
    return stub("log", Logging.class, function, LOGGING, arena);
  }

  /**
   * @param function the function
   * @param arena lifetime of the native function
   * @return EpSelectionDelegate
   */
  public static MemorySegment selection(Selection function, Arena arena) {
    return stub("select", Selection.class, function, SELECTION, arena);
  }

  private static MemorySegment stub(String name, Class<?> type, Object function, FunctionDescriptor descriptor, Arena arena) {
    try {
      var method = descriptor.toMethodType().insertParameterTypes(0, type);
      MethodHandle handle = MethodHandles.lookup().findStatic(Upcalls.class, name, method).bindTo(function);
      return Linker.nativeLinker().upcallStub(handle, descriptor, arena);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException("no method " + name, e);
    }
  }

  private static void log(Logging function, MemorySegment param, int severity, MemorySegment category, MemorySegment id, MemorySegment location, MemorySegment message) {
    try {
      function.log(severity, Memory.string(category), Memory.string(id), Memory.string(location), Memory.string(message));
    } catch (Throwable e) {
      report(e);
    }
  }

  private static MemorySegment select(Selection function, MemorySegment devices, long deviceCount, MemorySegment modelMetadata, MemorySegment runtimeMetadata,
      MemorySegment selected, long most, MemorySegment count, MemorySegment state) {
    try {
      return function.select(Memory.view(devices, 8 * deviceCount), modelMetadata, runtimeMetadata, Memory.view(selected, 8 * most), Memory.view(count, 8));
    } catch (Throwable e) {
      report(e);
      return MemorySegment.NULL;
    }
  }

  private static void report(Throwable e) {
    try {
      Thread thread = Thread.currentThread();
      thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
    } catch (Throwable ofTheHandler) {
      // Ignored, as Java does with exceptions of a handler for uncaught exceptions.
    }
  }
}
