package io.retort.onnxruntime.bench;

import ai.onnxruntime.OrtException;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OperationsPerInvocation;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/**
 * Measures steps of a decoder after {@value Decoder#PAST} tokens, with two models of the same size: the caches of one
 * grow ({@code Concat}), those of the other have a fixed capacity ({@code GroupQueryAttention}). After each step, Java
 * code finds the next token in the logits.
 */
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Fork(1)
@Warmup(iterations = 4, time = 500, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 9, time = 300, timeUnit = TimeUnit.MILLISECONDS)
@OperationsPerInvocation(Decoder.STEPS)
public class DecoderSteps {
  /** This binding. */
  @State(Scope.Benchmark)
  public static class Ours {
    /** The engine. */
    @Param({"retort", "official"}) public String engine;

    private OurDecoder growing;
    private OurDecoder roomy;

    /** Loads both models. */
    @Setup
    public void open() {
      growing = new OurDecoder(engine, Decoder.growing(), Decoder.PAST);
      roomy = new OurDecoder(engine, Decoder.roomy(), Decoder.ROOM);
      roomy.bindOnce();
    }

    /** Closes everything. */
    @TearDown
    public void close() {
      growing.close();
      roomy.close();
    }
  }

  /** The official binding. */
  @State(Scope.Benchmark)
  public static class Jni {
    /** The engine. */
    @Param({"retort", "official"}) public String engine;

    private JniDecoder growing;
    private JniDecoder roomy;

    /** Loads both models. */
    @Setup
    public void open() throws OrtException {
      growing = new JniDecoder(engine, Decoder.growing(), Decoder.PAST);
      roomy = new JniDecoder(engine, Decoder.roomy(), Decoder.ROOM);
    }

    /** Closes everything. */
    @TearDown
    public void close() throws OrtException {
      growing.close();
      roomy.close();
    }
  }

  /** The library allocates the presents, which are bound as the past of the next step. */
  @Benchmark
  public long growingBound(Ours ours) {
    return ours.growing.boundSteps();
  }

  /** The presents are results of a run by names, and inputs of the next run. */
  @Benchmark
  public long growingNamed(Ours ours) {
    return ours.growing.namedSteps();
  }

  /** As above, with the official binding. */
  @Benchmark
  public long growingJni(Jni jni) throws OrtException {
    return jni.growing.steps(false);
  }

  /**
   * The presents are copied to Java, and new tensors are created from them for the next step, as in programs that
   * manage their caches themselves.
   */
  @Benchmark
  public long growingJniThroughJava(Jni jni) throws OrtException {
    return jni.growing.steps(true);
  }

  /** One buffer is both past and present, and is bound once. */
  @Benchmark
  public long roomyBound(Ours ours) {
    return ours.roomy.boundOnceSteps();
  }

  /** The presents are results of a run by names, and inputs of the next run. */
  @Benchmark
  public long roomyNamed(Ours ours) {
    return ours.roomy.namedSteps();
  }

  /** As above, with the official binding. */
  @Benchmark
  public long roomyJni(Jni jni) throws OrtException {
    return jni.roomy.steps(false);
  }

  /** The presents are copied through Java. */
  @Benchmark
  public long roomyJniThroughJava(Jni jni) throws OrtException {
    return jni.roomy.steps(true);
  }
}
