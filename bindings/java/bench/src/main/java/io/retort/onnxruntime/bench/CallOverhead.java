package io.retort.onnxruntime.bench;

import ai.onnxruntime.OnnxTensor;
import ai.onnxruntime.OrtEnvironment;
import ai.onnxruntime.OrtException;
import ai.onnxruntime.OrtSession;
import io.retort.onnxruntime.DeviceSpec;
import io.retort.onnxruntime.OnnxTensorElementType;
import io.retort.onnxruntime.OrtEnvironmentFFM;
import io.retort.onnxruntime.OrtIoBindingFFM;
import io.retort.onnxruntime.OrtSessionFFM;
import io.retort.onnxruntime.OrtValueRef;
import io.retort.onnxruntime.OrtValues;
import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.FloatBuffer;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures the overhead of a run: the sum of two tensors of four floats, in all available ways. Results that are newly
 * allocated are released without being read.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Fork(1)
@Warmup(iterations = 3, time = 700, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 9, time = 150, timeUnit = TimeUnit.MILLISECONDS)
public class CallOverhead {
  private static final long[] FOUR = {4};

  /** This binding, with everything created beforehand. */
  @State(Scope.Benchmark)
  public static class Ours {
    /** The engine. */
    @Param({"retort", "official"}) public String engine;

    private OrtEnvironmentFFM env;
    private OrtSessionFFM session;
    private OrtIoBindingFFM binding;
    private Arena arena;
    private MemorySegment sum;
    private Map<String, OrtValueRef> inputs;

    /** Creates and binds the values. */
    @Setup
    public void open() {
      env = Engines.ours(engine);
      session = Engines.session(env, Models.add(4));
      binding = session.createBinding();
      arena = Arena.ofConfined();
      MemorySegment x = arena.allocateFrom(ValueLayout.JAVA_FLOAT, 1, 2, 3, 4);
      sum = arena.allocate(ValueLayout.JAVA_FLOAT, 4);
      inputs = Map.of("x", OrtValueRef.wrap(env, x, OnnxTensorElementType.FLOAT, FOUR), "y", OrtValueRef.wrap(env, x, OnnxTensorElementType.FLOAT, FOUR));
      inputs.forEach(binding::bindInput);
      binding.bindOutput(session.outputs().get(0).name(), sum, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    }

    /** Closes everything. */
    @TearDown
    public void close() {
      inputs.values().forEach(OrtValueRef::close);
      binding.close();
      session.close();
      env.close();
      arena.close();
    }
  }

  /** The official binding, with its tensors created beforehand. */
  @State(Scope.Benchmark)
  public static class Jni {
    /** The engine. */
    @Param({"retort", "official"}) public String engine;

    private OrtSession session;
    private Map<String, OnnxTensor> inputs;
    private Map<String, OnnxTensor> outputs;
    private FloatBuffer sum;

    /** Creates tensors over direct buffers, which this binding needs. */
    @Setup
    public void open() throws OrtException {
      session = Engines.jniSession(engine, Models.add(4));
      FloatBuffer x = direct().put(new float[] {1, 2, 3, 4}).flip();
      sum = direct();
      OrtEnvironment env = OrtEnvironment.getEnvironment();
      inputs = Map.of("x", OnnxTensor.createTensor(env, x, FOUR), "y", OnnxTensor.createTensor(env, x, FOUR));
      outputs = Map.of(session.getOutputNames().iterator().next(), OnnxTensor.createTensor(env, sum, FOUR));
    }

    private static FloatBuffer direct() {
      return ByteBuffer.allocateDirect(16).order(ByteOrder.nativeOrder()).asFloatBuffer();
    }

    /** Closes everything. */
    @TearDown
    public void close() throws OrtException {
      inputs.values().forEach(OnnxTensor::close);
      outputs.values().forEach(OnnxTensor::close);
      session.close();
    }
  }

  /** Measures a bound run of this binding. */
  @Benchmark
  public float bound(Ours ours) {
    ours.binding.run();
    return ours.sum.get(ValueLayout.JAVA_FLOAT, 12);
  }

  /** Measures a run by names of this binding. */
  @Benchmark
  public int named(Ours ours) {
    try (OrtValues values = ours.session.run(ours.inputs)) {
      return values.size();
    }
  }

  /** Measures a run of the official binding. */
  @Benchmark
  public int jni(Jni jni) throws OrtException {
    try (OrtSession.Result result = jni.session.run(jni.inputs)) {
      return result.size();
    }
  }

  /**
   * As above, with the result in a tensor of the program, which is the closest that the official binding has to a bound
   * output.
   */
  @Benchmark
  public float jniGivenOutput(Jni jni) throws OrtException {
    try (OrtSession.Result result = jni.session.run(jni.inputs, jni.outputs)) {
      return jni.sum.get(3);
    }
  }
}
