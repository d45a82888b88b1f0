package io.retort.onnxruntime.ffm;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.OptionalLong;

/** Calls functions that are not in the tables but are found by name. Thread-safe. */
public final class ExperimentalCalls {
  private static final MethodHandle NUMBER_OF = Linker.nativeLinker().downcallHandle(FunctionDescriptor.of(ValueLayout.JAVA_LONG, ValueLayout.ADDRESS));

  private ExperimentalCalls() {}

  /**
   * @param api the table
   * @param session OrtSession
   * @return the number of bytes that the engine has copied by itself since the session was created; empty if the engine
   * does not have this function
   */
  public static OptionalLong copiedBytes(OrtApi api, MemorySegment session) {
    if (!api.table().has(OrtApi.Index.GET_EXPERIMENTAL_FUNCTION)) return OptionalLong.empty();
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment function = api.getExperimentalFunction(arena.allocateFrom("RetortSessionCopiedBytes"));
      return function.address() == 0 ? OptionalLong.empty() : OptionalLong.of((long) NUMBER_OF.invokeExact(function, session));
    } catch (Throwable e) {
      throw SlotTable.rethrown(e);
    }
  }
}
