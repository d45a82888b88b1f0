package io.retort.onnxruntime.ffm;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

/** What RunAsync calls at the end; the binding itself has its runs in threads of Java. */
@FunctionalInterface
interface FinishedCall {
  /**
   * Says that a run is over.
   *
   * @param user pointer that RunAsync was given
   * @param outputs array of OrtValue, of no size
   * @param count its length
   * @param status OrtStatus, or NULL; belongs to the callee
   */
  void finished(MemorySegment user, MemorySegment outputs, long count, MemorySegment status);

  /** RunAsyncCallbackFn of a function, which must not throw. */
  static MemorySegment stub(FinishedCall function, Arena arena) throws ReflectiveOperationException {
    var type = MethodType.methodType(void.class, MemorySegment.class, MemorySegment.class, long.class, MemorySegment.class);
    var handle = MethodHandles.lookup().findVirtual(FinishedCall.class, "finished", type).bindTo(function);
    var pointer = ValueLayout.ADDRESS;
    return Linker.nativeLinker().upcallStub(handle, FunctionDescriptor.ofVoid(pointer, pointer, ValueLayout.JAVA_LONG, pointer), arena);
  }
}
