package io.retort.onnxruntime.ffm;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.util.Arrays;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Calls functions that read or write memory of the program, and keeps the arenas of this memory open during the call.
 * No thread can close an arena while one of its segments is an argument of a call. This is the only public way to keep
 * an arena open, so the segments are passed as extra arguments after those of the function. The function ignores them:
 * in all calling conventions that the linker supports, extra arguments are in registers or on the stack of the caller,
 * which removes them.
 *
 * <p>Thread-safe.
 */
public final class KeptCalls {
  /**
   * A signature with segments after its arguments. The status is a number: a segment for it would be garbage in every
   * run.
   */
  private record Kept(FunctionDescriptor function, ConcurrentHashMap<Integer, MethodHandle> handles) {
    Kept(FunctionDescriptor function) {
      this(function.changeReturnLayout(ValueLayout.JAVA_LONG), new ConcurrentHashMap<>());
    }

    MethodHandle handle(int segments) {
      MemoryLayout[] more = new MemoryLayout[segments];
      Arrays.fill(more, ValueLayout.ADDRESS);
      return Linker.nativeLinker().downcallHandle(function.appendArgumentLayouts(more));
    }

    /** Returns a handle that takes the segments as an array. */
    MethodHandle spread(int segments) {
      return handles.computeIfAbsent(segments, n -> handle(n).asSpreader(MemorySegment[].class, n));
    }
  }

  private static final Kept BOUND = new Kept(Signatures.P_PPP.DESCRIPTOR);
  private static final MethodHandle BOUND_0 = BOUND.handle(0);
  private static final MethodHandle BOUND_1 = BOUND.handle(1);
  private static final MethodHandle BOUND_2 = BOUND.handle(2);
  private static final Kept NAMED = new Kept(Signatures.P_PPPPLPLP.DESCRIPTOR);
  private static final Kept FROM_FILE = new Kept(Signatures.P_PPPP.DESCRIPTOR);
  private static final Kept FROM_BYTES = new Kept(Signatures.P_PPLPP.DESCRIPTOR);
  private static final Kept COPY = new Kept(Signatures.P_PPPPL.DESCRIPTOR);
  private static final Kept COMPOUND = new Kept(Signatures.P_PLIP.DESCRIPTOR);
  private static final Kept COMPILE = new Kept(Signatures.P_PP.DESCRIPTOR);

  private KeptCalls() {}

  /**
   * Calls RunWithBinding.
   *
   * @param api the function table
   * @param session OrtSession
   * @param options OrtRunOptions, or NULL
   * @param binding OrtIoBinding
   * @param kept segments of different scopes that must stay alive during the call
   * @return address of an OrtStatus, or 0
   * @throws IllegalStateException if the scope of a segment is closed; the library was not called
   * @throws WrongThreadException if a segment belongs to another thread; the library was not called
   */
  public static long runWithBinding(OrtApi api, MemorySegment session, MemorySegment options, MemorySegment binding, MemorySegment[] kept) {
    return three(api.table().at(OrtApi.Index.RUN_WITH_BINDING), session, options, binding, kept);
  }

  /**
   * Calls BindInput, which copies the value at once if the session reads the input on another device.
   *
   * @param api the function table
   * @param binding OrtIoBinding
   * @param name name of the input, a C string
   * @param value OrtValue
   * @param kept segments of different scopes that must stay alive during the call
   * @return address of an OrtStatus, or 0
   * @throws IllegalStateException if the scope of a segment is closed; the library was not called
   * @throws WrongThreadException if a segment belongs to another thread; the library was not called
   */
  public static long bindInput(OrtApi api, MemorySegment binding, MemorySegment name, MemorySegment value, MemorySegment[] kept) {
    return three(api.table().at(OrtApi.Index.BIND_INPUT), binding, name, value, kept);
  }

  private static long three(MemorySegment function, MemorySegment first, MemorySegment second, MemorySegment third, MemorySegment[] kept) {
    try {
      return switch (kept.length) {
        case 0 -> (long) BOUND_0.invokeExact(function, first, second, third);
        case 1 -> (long) BOUND_1.invokeExact(function, first, second, third, kept[0]);
        case 2 -> (long) BOUND_2.invokeExact(function, first, second, third, kept[0], kept[1]);
        default -> (long) BOUND.spread(kept.length).invokeExact(function, first, second, third, kept);
      };
    } catch (Throwable e) {
      throw SlotTable.rethrown(e);
    }
  }

  /**
   * Calls CopyTensors.
   *
   * @param api the function table
   * @param env OrtEnv
   * @param from array of OrtValue, the sources
   * @param to array of OrtValue, the targets
   * @param stream OrtSyncStream, or NULL
   * @param count length of both arrays
   * @param kept segments of different scopes that must stay alive during the call
   * @return address of an OrtStatus, or 0
   * @throws IllegalStateException if the scope of a segment is closed; the library was not called
   * @throws WrongThreadException if a segment belongs to another thread; the library was not called
   */
  public static long copyTensors(OrtApi api, MemorySegment env, MemorySegment from, MemorySegment to, MemorySegment stream, long count, MemorySegment[] kept) {
    try {
      return (long) COPY.spread(kept.length).invokeExact(api.table().at(OrtApi.Index.COPY_TENSORS), env, from, to, stream, count, kept);
    } catch (Throwable e) {
      throw SlotTable.rethrown(e);
    }
  }

  /**
   * Calls CreateValue, which copies the keys and values of a map.
   *
   * @param api the function table
   * @param parts array of OrtValue
   * @param count length of the array
   * @param type ONNXType
   * @param out receives the OrtValue
   * @param kept segments of different scopes that must stay alive during the call
   * @return address of an OrtStatus, or 0
   * @throws IllegalStateException if the scope of a segment is closed; the library was not called
   * @throws WrongThreadException if a segment belongs to another thread; the library was not called
   */
  public static long createValue(OrtApi api, MemorySegment parts, long count, int type, MemorySegment out, MemorySegment[] kept) {
    try {
      return (long) COMPOUND.spread(kept.length).invokeExact(api.table().at(OrtApi.Index.CREATE_VALUE), parts, count, type, out, kept);
    } catch (Throwable e) {
      throw SlotTable.rethrown(e);
    }
  }

  /**
   * Calls Run.
   *
   * @param api the function table
   * @param session OrtSession
   * @param options OrtRunOptions, or NULL
   * @param inputNames array of C strings
   * @param inputs array of OrtValue
   * @param inputCount length of both arrays
   * @param outputNames array of C strings
   * @param outputCount length of both arrays
   * @param outputs array of OrtValue; the call replaces elements that are NULL
   * @param kept segments of different scopes that must stay alive during the call
   * @return address of an OrtStatus, or 0
   * @throws IllegalStateException if the scope of a segment is closed; the library was not called
   * @throws WrongThreadException if a segment belongs to another thread; the library was not called
   */
  public static long run(OrtApi api, MemorySegment session, MemorySegment options, MemorySegment inputNames, MemorySegment inputs, long inputCount,
      MemorySegment outputNames, long outputCount, MemorySegment outputs, MemorySegment[] kept) {
    try {
      return (long) NAMED.spread(kept.length)
          .invokeExact(api.table().at(OrtApi.Index.RUN), session, options, inputNames, inputs, inputCount, outputNames, outputCount, outputs, kept);
    } catch (Throwable e) {
      throw SlotTable.rethrown(e);
    }
  }

  /**
   * Calls CreateSession.
   *
   * @param api the function table
   * @param env OrtEnv
   * @param path file of the model, a C string
   * @param options OrtSessionOptions, or NULL
   * @param out receives the OrtSession
   * @param kept segments of different scopes that must stay alive during the call
   * @return address of an OrtStatus, or 0
   * @throws IllegalStateException if the scope of a segment is closed; the library was not called
   * @throws WrongThreadException if a segment belongs to another thread; the library was not called
   */
  public static long createSession(OrtApi api, MemorySegment env, MemorySegment path, MemorySegment options, MemorySegment out, MemorySegment[] kept) {
    try {
      return (long) FROM_FILE.spread(kept.length).invokeExact(api.table().at(OrtApi.Index.CREATE_SESSION), env, path, options, out, kept);
    } catch (Throwable e) {
      throw SlotTable.rethrown(e);
    }
  }

  /**
   * Calls CreateSessionFromArray.
   *
   * @param api the function table
   * @param env OrtEnv
   * @param model content of the model file
   * @param bytes length of the content
   * @param options OrtSessionOptions, or NULL
   * @param out receives the OrtSession
   * @param kept segments of different scopes that must stay alive during the call
   * @return address of an OrtStatus, or 0
   * @throws IllegalStateException if the scope of a segment is closed; the library was not called
   * @throws WrongThreadException if a segment belongs to another thread; the library was not called
   */
  public static long createSession(OrtApi api, MemorySegment env, MemorySegment model, long bytes, MemorySegment options, MemorySegment out, MemorySegment[] kept) {
    try {
      return (long) FROM_BYTES.spread(kept.length).invokeExact(api.table().at(OrtApi.Index.CREATE_SESSION_FROM_ARRAY), env, model, bytes, options, out, kept);
    } catch (Throwable e) {
      throw SlotTable.rethrown(e);
    }
  }

  /**
   * Calls CompileModel.
   *
   * @param api the function table
   * @param env OrtEnv
   * @param options OrtModelCompilationOptions
   * @param kept segments of different scopes that must stay alive during the call
   * @return address of an OrtStatus, or 0
   * @throws IllegalStateException if the scope of a segment is closed; the library was not called
   * @throws WrongThreadException if a segment belongs to another thread; the library was not called
   */
  public static long compileModel(OrtCompileApi api, MemorySegment env, MemorySegment options, MemorySegment[] kept) {
    try {
      return (long) COMPILE.spread(kept.length).invokeExact(api.table().at(OrtCompileApi.Index.COMPILE_MODEL), env, options, kept);
    } catch (Throwable e) {
      throw SlotTable.rethrown(e);
    }
  }
}
