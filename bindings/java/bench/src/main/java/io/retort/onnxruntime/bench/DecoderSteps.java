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
 * Steps of a decoder behind {@value Decoder#PAST} tokens. Two models of the same size: one whose caches grow ({@code Concat}), one
 * whose caches have room ({@code GroupQueryAttention}). The next token is looked for in the logits of each step, in Java.
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
    /** Which engine. */
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
    /** Which engine. */
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

  /** Presents are made in place of the library and bound as the past of the next step. */
  @Benchmark
  public long growingBound(Ours ours) {
    return ours.growing.boundSteps();
  }

  /** Presents are results of a run by names and inputs of the next. */
  @Benchmark
  public long growingNamed(Ours ours) {
    return ours.growing.namedSteps();
  }

  /** The same with the official binding. */
  @Benchmark
  public long growingJni(Jni jni) throws OrtException {
    return jni.growing.steps(false);
  }

  /** Presents are read into Java, and new tensors made of them for the next step: what programs do that keep their caches themselves. */
  @Benchmark
  public long growingJniThroughJava(Jni jni) throws OrtException {
    return jni.growing.steps(true);
  }

  /** One buffer is past and present; bound once. */
  @Benchmark
  public long roomyBound(Ours ours) {
    return ours.roomy.boundOnceSteps();
  }

  /** Presents are results of a run by names and inputs of the next. */
  @Benchmark
  public long roomyNamed(Ours ours) {
    return ours.roomy.namedSteps();
  }

  /** The same with the official binding. */
  @Benchmark
  public long roomyJni(Jni jni) throws OrtException {
    return jni.roomy.steps(false);
  }

  /** Presents go through Java. */
  @Benchmark
  public long roomyJniThroughJava(Jni jni) throws OrtException {
    return jni.roomy.steps(true);
  }
}
