package io.retort.examples;

import io.retort.onnxruntime.DeviceSpec;
import io.retort.onnxruntime.MemoryDescriptor;
import io.retort.onnxruntime.OnnxTensorElementType;
import io.retort.onnxruntime.OrtEnvironmentFFM;
import io.retort.onnxruntime.OrtIoBindingFFM;
import io.retort.onnxruntime.OrtSessionFFM;
import io.retort.onnxruntime.OrtValueRef;
import io.retort.onnxruntime.SessionOptions;
import io.retort.onnxruntime.TypeInfo;
import io.retort.onnxruntime.ValueInfo;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs a decoder, which takes a token and predicts the next one. Its caches of keys and values are bound once, both as
 * past and as present: a step sets two numbers, makes one call, and reads the logits. Argument: decoder.onnx beside
 * this project.
 */
public final class DecoderLoop implements AutoCloseable {
  private static final int ROOM = 64;

  private final Arena arena = Arena.ofConfined();
  private final OrtIoBindingFFM binding;
  private final MemorySegment token = arena.allocate(ValueLayout.JAVA_LONG);
  private final MemorySegment last = arena.allocate(ValueLayout.JAVA_INT);
  private final MemorySegment total = arena.allocate(ValueLayout.JAVA_INT);
  private final MemorySegment logits;
  private int taken;

  // [bind]
  private DecoderLoop(OrtEnvironmentFFM env, OrtSessionFFM session) {
    binding = session.createBinding();
    binding.bindInput("token", token, new long[] {1, 1}, OnnxTensorElementType.INT64, DeviceSpec.CPU);
    binding.bindInput("last", last, new long[] {1}, OnnxTensorElementType.INT32, DeviceSpec.CPU);
    binding.bindInput("total", total, new long[] {1}, OnnxTensorElementType.INT32, DeviceSpec.CPU);
    long vocabulary = shape(session.outputs().get(0))[2];
    logits = arena.allocate(ValueLayout.JAVA_FLOAT, vocabulary);
    binding.bindOutput("logits", logits, new long[] {1, 1, vocabulary}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    for (ValueInfo input : session.inputs()) {
      if (!input.name().startsWith("past_")) continue;
      long[] extents = shape(input);  // [1, heads, room, size of a head]; the program chooses the room
      MemoryDescriptor what = new MemoryDescriptor(OnnxTensorElementType.FLOAT, 1, extents[1], ROOM, extents[3]);
      MemorySegment cache = arena.allocate(what.bytes(), 64);  // filled with zeros
      try (OrtValueRef value = OrtValueRef.wrap(env, cache, what, DeviceSpec.CPU)) {
        binding.bindInput(input.name(), value);
        binding.bindOutput(input.name().replace("past", "present"), value);  // the same memory
      }
    }
  }

  // [step]
  /** Runs the decoder on a token and returns the likeliest next one. */
  private long step(long next) {
    token.set(ValueLayout.JAVA_LONG, 0, next);
    last.set(ValueLayout.JAVA_INT, 0, taken);
    total.set(ValueLayout.JAVA_INT, 0, ++taken);
    binding.run();
    long best = 0;
    for (long i = 1; i < logits.byteSize() / Float.BYTES; ++i) {
      if (logits.getAtIndex(ValueLayout.JAVA_FLOAT, i) > logits.getAtIndex(ValueLayout.JAVA_FLOAT, best)) best = i;
    }
    return best;
  }

  // [end]
  private static long[] shape(ValueInfo info) {
    return ((TypeInfo.Tensor) info.type()).shape();
  }

  @Override
  public void close() {
    binding.close();
    arena.close();
  }

  /**
   * Runs it.
   *
   * @param args the model
   */
  public static void main(String[] args) {
    // A cache that would be copied is an error on Retort; elsewhere the entry has no effect.
    try (OrtEnvironmentFFM env = OrtEnvironmentFFM.create();
        SessionOptions options = SessionOptions.create(env).addConfigEntry("session.disallow_implicit_copies", "1");
        OrtSessionFFM session = OrtSessionFFM.create(env, Path.of(args[0]), options); DecoderLoop decoder = new DecoderLoop(env, session)) {
      List<Long> tokens = new ArrayList<>(List.of(7L, 3L, 11L, 5L));
      long next = 0;
      for (long token : tokens) next = decoder.step(token);
      while (tokens.size() < 24) {
        tokens.add(next);
        next = decoder.step(next);
      }
      System.out.println("tokens " + tokens);
      System.out.println(session.copiedBytes().orElse(0) + " bytes of caches copied");
    }
  }
}
