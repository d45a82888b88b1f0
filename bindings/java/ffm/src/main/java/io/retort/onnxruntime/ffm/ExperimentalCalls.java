package io.retort.onnxruntime.ffm;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.OptionalLong;

/** Functions that an engine has besides those of the tables, which are looked up by name. Thread-safe. */
public final class ExperimentalCalls {
  /** The first version whose table can be asked for such functions. */
  private static final int SINCE = 28;
  private static final MethodHandle NUMBER_OF = Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.ADDRESS));

  private ExperimentalCalls() {}

  /**
   * @param api the table
   * @param session OrtSession
   * @return bytes that the engine has copied on its own account since the session was created; empty where it does not tell
   */
  public static OptionalLong copiedBytes(OrtApi api, MemorySegment session) {
    if (api.table().version() < SINCE) return OptionalLong.empty();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment function = api.getExperimentalFunction(arena.allocateFrom("RetortSessionCopiedBytes"));
      return function.address() == 0 ? OptionalLong.empty() : OptionalLong.of((long) NUMBER_OF.invokeExact(function, session));
    } catch (Throwable e) {
      throw SlotTable.rethrown(e);
    }
  }
}
