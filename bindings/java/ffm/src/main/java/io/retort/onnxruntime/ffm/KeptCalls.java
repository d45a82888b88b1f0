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
 * Calls that read or write memory of the program, during which segments are kept alive: an arena cannot be closed by any thread while a
 * segment of it is an argument of a call. That is the only public way to hold an arena open, so the segments are passed behind the
 * arguments of the function.
 * It does not look at them: in all calling conventions that the linker knows, further arguments lie in registers or on the
 * stack of the caller, who removes them.
 *
 * <p>Thread-safe.
 */
public final class KeptCalls {
  // The status is a number here: a segment for it would be garbage of every run.
  private static final FunctionDescriptor BOUND = Signatures.P_PPP.DESCRIPTOR.changeReturnLayout(ValueLayout.JAVA_LONG);
  private static final FunctionDescriptor NAMED = Signatures.P_PPPPLPLP.DESCRIPTOR.changeReturnLayout(ValueLayout.JAVA_LONG);
  private static final MethodHandle BOUND_0 = handle(BOUND, 0);
  private static final MethodHandle BOUND_1 = handle(BOUND, 1);
  private static final MethodHandle BOUND_2 = handle(BOUND, 2);
  private static final ConcurrentHashMap<Integer, MethodHandle> BOUND_N = new ConcurrentHashMap<>();
  private static final ConcurrentHashMap<Integer, MethodHandle> NAMED_N = new ConcurrentHashMap<>();
  private static final FunctionDescriptor FROM_FILE = Signatures.P_PPPP.DESCRIPTOR.changeReturnLayout(ValueLayout.JAVA_LONG);
  private static final FunctionDescriptor FROM_BYTES = Signatures.P_PPLPP.DESCRIPTOR.changeReturnLayout(ValueLayout.JAVA_LONG);
  private static final ConcurrentHashMap<Integer, MethodHandle> FROM_FILE_N = new ConcurrentHashMap<>();
  private static final ConcurrentHashMap<Integer, MethodHandle> FROM_BYTES_N = new ConcurrentHashMap<>();
  private static final FunctionDescriptor COPY = Signatures.P_PPPPL.DESCRIPTOR.changeReturnLayout(ValueLayout.JAVA_LONG);
  private static final FunctionDescriptor COMPOUND = Signatures.P_PLIP.DESCRIPTOR.changeReturnLayout(ValueLayout.JAVA_LONG);
  private static final ConcurrentHashMap<Integer, MethodHandle> COPY_N = new ConcurrentHashMap<>();
  private static final ConcurrentHashMap<Integer, MethodHandle> COMPOUND_N = new ConcurrentHashMap<>();
  private static final FunctionDescriptor COMPILE = Signatures.P_PP.DESCRIPTOR.changeReturnLayout(ValueLayout.JAVA_LONG);
  private static final ConcurrentHashMap<Integer, MethodHandle> COMPILE_N = new ConcurrentHashMap<>();
  private static final int COMPILE_MODEL = 8;
  private static final int CREATE_SESSION = 7;
  private static final int CREATE_SESSION_FROM_ARRAY = 8;
  private static final int RUN = 9;
  private static final int CREATE_VALUE = 82;
  private static final int RUN_WITH_BINDING = 133;
  private static final int BIND_INPUT = 136;
  private static final int COPY_TENSORS = 386;

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
    return three(api.table().at(RUN_WITH_BINDING), session, options, binding, kept);
  }

  /**
   * BindInput, which copies a value at once that does not lie where the session reads.
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
    return three(api.table().at(BIND_INPUT), binding, name, value, kept);
  }

  private static long three(MemorySegment function, MemorySegment first, MemorySegment second, MemorySegment third, MemorySegment[] kept) {
    try {
      return switch (kept.length) {
        case 0 -> (long) BOUND_0.invokeExact(function, first, second, third);
        case 1 -> (long) BOUND_1.invokeExact(function, first, second, third, kept[0]);
        case 2 -> (long) BOUND_2.invokeExact(function, first, second, third, kept[0], kept[1]);
        default -> (long) spread(BOUND_N, BOUND, kept.length).invokeExact(function, first, second, third, kept);
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
      return (long) spread(COPY_N, COPY, kept.length).invokeExact(api.table().at(COPY_TENSORS), env, from, to, stream, count, kept);
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
      return (long) spread(COMPOUND_N, COMPOUND, kept.length).invokeExact(api.table().at(CREATE_VALUE), parts, count, type, out, kept);
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
      return (long) spread(NAMED_N, NAMED, kept.length)
          .invokeExact(api.table().at(RUN), session, options, inputNames, inputs, inputCount, outputNames, outputCount, outputs, kept);
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
      return (long) spread(FROM_FILE_N, FROM_FILE, kept.length).invokeExact(api.table().at(CREATE_SESSION), env, path, options, out, kept);
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
      return (long) spread(FROM_BYTES_N, FROM_BYTES, kept.length).invokeExact(api.table().at(CREATE_SESSION_FROM_ARRAY), env, model, bytes, options, out, kept);
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
      return (long) spread(COMPILE_N, COMPILE, kept.length).invokeExact(api.table().at(COMPILE_MODEL), env, options, kept);
    } catch (Throwable e) {
      throw SlotTable.rethrown(e);
    }
  }

  private static MethodHandle handle(FunctionDescriptor function, int kept) {
    MemoryLayout[] more = new MemoryLayout[kept];
    Arrays.fill(more, ValueLayout.ADDRESS);
    return Linker.nativeLinker().downcallHandle(function.appendArgumentLayouts(more));
  }

  private static MethodHandle spread(ConcurrentHashMap<Integer, MethodHandle> made, FunctionDescriptor function, int kept) {
    return made.computeIfAbsent(kept, n -> handle(function, n).asSpreader(MemorySegment[].class, n));
  }
}
