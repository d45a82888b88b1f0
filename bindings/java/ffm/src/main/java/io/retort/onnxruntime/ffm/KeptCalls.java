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
 * Calls that read or write memory of the program, and keep segments alive meanwhile: no thread can close an arena while a segment
 * of it is an argument of a call. That is the only public way to hold an arena open, so the segments are passed behind the
 * arguments of the function. The function ignores them: in all calling conventions that the linker knows, further arguments lie
 * in registers or on the stack of the caller, who removes them.
 *
 * <p>Thread-safe.
 */
public final class KeptCalls {
  /** A signature with segments behind its arguments. The status is a number: a segment for it would be garbage of every run. */
  private record Kept(FunctionDescriptor function, ConcurrentHashMap<Integer, MethodHandle> handles) {
    Kept(FunctionDescriptor function) {
      this(function.changeReturnLayout(ValueLayout.JAVA_LONG), new ConcurrentHashMap<>());
    }

    MethodHandle handle(int segments) {
      MemoryLayout[] more = new MemoryLayout[segments];
      Arrays.fill(more, ValueLayout.ADDRESS);
      return Linker.nativeLinker().downcallHandle(function.appendArgumentLayouts(more));
    }

    /** The handle that takes the segments as an array. */
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
   * RunWithBinding.
   *
   * @param api the table
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
   * BindInput, which copies a value at once where the session reads elsewhere.
   *
   * @param api the table
   * @param binding OrtIoBinding
   * @param name of the input
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
   * CopyTensors.
   *
   * @param api the table
   * @param env OrtEnv
   * @param from array of OrtValue
   * @param to array of OrtValue
   * @param stream OrtSyncStream, or NULL
   * @param count length of both
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
   * CreateValue, which copies keys and values of a map.
   *
   * @param api the table
   * @param parts array of OrtValue
   * @param count its length
   * @param type ONNXType
   * @param out where the OrtValue is written
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
   * Run.
   *
   * @param api the table
   * @param session OrtSession
   * @param options OrtRunOptions, or NULL
   * @param inputNames array of names
   * @param inputs array of OrtValue
   * @param inputCount length of both
   * @param outputNames array of names
   * @param outputCount its length
   * @param outputs array of OrtValue, filled by the call where it is NULL
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
   * CreateSession.
   *
   * @param api the table
   * @param env OrtEnv
   * @param path file of the model
   * @param options OrtSessionOptions, or NULL
   * @param out where the OrtSession is written
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
   * CreateSessionFromArray.
   *
   * @param api the table
   * @param env OrtEnv
   * @param model bytes of the model
   * @param bytes how many
   * @param options OrtSessionOptions, or NULL
   * @param out where the OrtSession is written
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
   * CompileModel.
   *
   * @param api the table
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
