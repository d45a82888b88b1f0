package io.retort.onnxruntime.ffm;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** The callback of RunAsync. Only tests use it: the binding runs asynchronously in Java threads. */
@FunctionalInterface
interface FinishedCall {
  /**
   * Called when a run is complete.
   *
   * @param user pointer that was passed to RunAsync
   * @param outputs array of OrtValue, as a segment of size 0
   * @param count length of the array
   * @param status OrtStatus, or NULL; the callee owns it
   */
  void finished(MemorySegment user, MemorySegment outputs, long count, MemorySegment status);

  /** Creates a RunAsyncCallbackFn that calls a function, which must not throw. */
  static MemorySegment stub(FinishedCall function, Arena arena) throws ReflectiveOperationException {
    var type = MethodType.methodType(void.class, MemorySegment.class, MemorySegment.class, long.class, MemorySegment.class);
    var handle = MethodHandles.lookup().findVirtual(FinishedCall.class, "finished", type).bindTo(function);
    var pointer = ValueLayout.ADDRESS;
    return Linker.nativeLinker().upcallStub(handle, FunctionDescriptor.ofVoid(pointer, pointer, ValueLayout.JAVA_LONG, pointer), arena);
  }
}
