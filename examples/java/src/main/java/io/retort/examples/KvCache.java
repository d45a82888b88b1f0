package io.retort.examples;

import io.retort.onnxruntime.DeviceSpec;
import io.retort.onnxruntime.OnnxTensorElementType;
import io.retort.onnxruntime.OrtEnvironmentFFM;
import io.retort.onnxruntime.OrtIoBindingFFM;
import io.retort.onnxruntime.OrtSessionFFM;
import io.retort.onnxruntime.SessionOptions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Locale;

/**
 * Runs a decoder whose cache is past and present in one buffer: each step writes its row where the next step reads it.
 * Argument: the decoder of io_binding.
 */
public final class KvCache {
  private static final int WIDTH = 16;
  private static final int HEADS = 2;
  private static final int ROOM = 16;

  private KvCache() {}

  /**
   * Runs it.
   *
   * @param args the model
   */
  public static void main(String[] args) {
    try (Arena arena = Arena.ofConfined(); OrtEnvironmentFFM env = OrtEnvironmentFFM.create();
        // Retort: a copied cache is an error; elsewhere without effect.
        SessionOptions options = SessionOptions.create(env).addConfigEntry("session.disallow_implicit_copies", "1");
        OrtSessionFFM session = OrtSessionFFM.create(env, Path.of(args[0]), options); OrtIoBindingFFM binding = session.createBinding()) {
      steps(arena, binding);
    }
  }

  private static void steps(Arena arena, OrtIoBindingFFM binding) {
    // [bind]
    MemorySegment x = arena.allocate(ValueLayout.JAVA_FLOAT, WIDTH), y = arena.allocate(ValueLayout.JAVA_FLOAT, WIDTH);
    MemorySegment keys = arena.allocate(ValueLayout.JAVA_FLOAT, ROOM * WIDTH), values = arena.allocate(ValueLayout.JAVA_FLOAT, ROOM * WIDTH);
    // Where the step writes its row, and how many rows there are then.
    MemorySegment last = arena.allocate(ValueLayout.JAVA_INT), total = arena.allocate(ValueLayout.JAVA_INT);
    long[] cache = {1, HEADS, ROOM, WIDTH / HEADS};
    binding.bindInput("x", x, new long[] {1, 1, WIDTH}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    binding.bindInput("last", last, new long[] {1}, OnnxTensorElementType.INT32, DeviceSpec.CPU);
    binding.bindInput("total", total, new long[] {1}, OnnxTensorElementType.INT32, DeviceSpec.CPU);
    binding.bindInput("past_key", keys, cache, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    binding.bindInput("past_value", values, cache, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    binding.bindOutput("present_key", keys, cache, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);  // the same memory
    binding.bindOutput("present_value", values, cache, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    binding.bindOutput("y", y, new long[] {1, 1, WIDTH}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    // [step]
    for (int step = 0; step < 6; ++step) {
      for (int i = 0; i < WIDTH; ++i) x.setAtIndex(ValueLayout.JAVA_FLOAT, i, (7 * step + 3 * i) % 5 - 2);  // the token of this step
      last.set(ValueLayout.JAVA_INT, 0, step);
      total.set(ValueLayout.JAVA_INT, 0, step + 1);
      binding.run();
      System.out.printf(Locale.ROOT, "step %d: %.4f %.4f %.4f%n", step, Digit.shade(y, 0), Digit.shade(y, 1), Digit.shade(y, 2));
    }
    // [end]
    // Rows of the cache that no step wrote are still zero.
    boolean six = Digit.shade(keys, 5 * WIDTH / HEADS) != 0 && Digit.shade(keys, 6 * WIDTH / HEADS) == 0;
    System.out.printf(Locale.ROOT, "%s of %d rows taken%n", six ? "6" : "not 6", ROOM);
  }
}
