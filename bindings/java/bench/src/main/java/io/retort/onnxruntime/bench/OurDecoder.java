package io.retort.onnxruntime.bench;

import io.retort.onnxruntime.DeviceSpec;
import io.retort.onnxruntime.OnnxTensorElementType;
import io.retort.onnxruntime.OrtEnvironmentFFM;
import io.retort.onnxruntime.OrtIoBindingFFM;
import io.retort.onnxruntime.OrtSessionFFM;
import io.retort.onnxruntime.OrtValueRef;
import io.retort.onnxruntime.OrtValues;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Runs the decoder with this binding, with bound values and by name. Not thread-safe. */
final class OurDecoder implements AutoCloseable {
  private static final List<String> PASTS = Decoder.names("past");
  private static final List<String> PRESENTS = Decoder.names("present");

  private final OrtEnvironmentFFM env;
  private final OrtSessionFFM session;
  private final OrtIoBindingFFM binding;
  private final Arena arena = Arena.ofShared();
  private final boolean roomy;
  private final MemorySegment token;
  private final MemorySegment last;
  private final MemorySegment total;
  private final MemorySegment logits;
  private final Map<String, OrtValueRef> first = new HashMap<>();

  OurDecoder(String engine, byte[] model, long rows) {
    env = Engines.ours(engine);
    session = Engines.session(env, model);
    binding = session.createBinding();
    roomy = session.inputs().stream().anyMatch(input -> input.name().equals("total"));
    token = arena.allocate(ValueLayout.JAVA_LONG);
    last = arena.allocate(ValueLayout.JAVA_INT);
    total = arena.allocate(ValueLayout.JAVA_INT);
    logits = arena.allocate(4L * Decoder.SIZE.vocabulary(), 64);
    first.put("ids", OrtValueRef.wrap(env, token, OnnxTensorElementType.INT64, 1, 1));
    if (roomy) {
      first.put("last", OrtValueRef.wrap(env, last, OnnxTensorElementType.INT32, 1));
      first.put("total", OrtValueRef.wrap(env, total, OnnxTensorElementType.INT32, 1));
    }
    for (String name : PASTS) {
      MemorySegment past = arena.allocate(4L * Decoder.elements(rows), 64);
      for (int i = 0; i < Decoder.elements(rows); ++i) past.setAtIndex(ValueLayout.JAVA_FLOAT, i, Decoder.past(i));
      first.put(name, OrtValueRef.wrap(env, past, OnnxTensorElementType.FLOAT, Decoder.cache(rows)));
    }
    first.forEach(binding::bindInput);
    binding.bindOutput("logits", logits, new long[] {1, 1, Decoder.SIZE.vocabulary()}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
  }

  /** Binds the presents to the memory of the pasts, so that the caches are updated in place. */
  void bindOnce() {
    for (int i = 0; i < PASTS.size(); ++i) binding.bindOutput(PRESENTS.get(i), first.get(PASTS.get(i)));
  }

  private void set(int step, long next) {
    token.set(ValueLayout.JAVA_LONG, 0, next);
    last.set(ValueLayout.JAVA_INT, 0, Decoder.PAST + step);
    total.set(ValueLayout.JAVA_INT, 0, Decoder.PAST + step + 1);
  }

  private static long best(MemorySegment logits) {
    long best = 0;
    float most = Float.NEGATIVE_INFINITY;
    for (long i = 0; i < Decoder.SIZE.vocabulary(); ++i) {
      float one = logits.getAtIndex(ValueLayout.JAVA_FLOAT, i);
      if (one > most) {
        most = one;
        best = i;
      }
    }
    return best;
  }

  long boundOnceSteps() {
    long next = 1;
    for (int step = 0; step < Decoder.STEPS; ++step) {
      set(step, next);
      binding.run();
      next = best(logits);
    }
    return next;
  }

  long boundSteps() {
    long next = 1;
    for (String name : PASTS) binding.bindInput(name, first.get(name));
    for (int step = 0; step < Decoder.STEPS; ++step) {
      set(step, next);
      // Official ONNX Runtime needs outputs to be bound again when their shape changes.
      for (String name : PRESENTS) binding.bindOutputToDevice(name, DeviceSpec.CPU);
      try (OrtValues values = binding.runWithBindings()) {
        for (int i = 0; i < PASTS.size(); ++i) binding.bindInput(PASTS.get(i), values.get(PRESENTS.get(i)));
      }
      next = best(logits);
    }
    return next;
  }

  long namedSteps() {
    long next = 1;
    Map<String, OrtValueRef> inputs = new HashMap<>(first);
    OrtValues before = null;
    for (int step = 0; step < Decoder.STEPS; ++step) {
      set(step, next);
      OrtValues values = session.run(inputs);
      if (before != null) before.close();
      before = values;
      for (int i = 0; i < PASTS.size(); ++i) inputs.put(PASTS.get(i), values.get(PRESENTS.get(i)));
      next = best(MemorySegment.ofArray(values.get("logits").toFloats()));
    }
    before.close();
    return next;
  }

  @Override
  public void close() {
    first.values().forEach(OrtValueRef::close);
    binding.close();
    session.close();
    env.close();
    arena.close();
  }
}
