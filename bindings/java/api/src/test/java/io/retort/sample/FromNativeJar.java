package io.retort.sample;

import io.retort.onnxruntime.DeviceSpec;
import io.retort.onnxruntime.OnnxTensorElementType;
import io.retort.onnxruntime.OrtApiFFM;
import io.retort.onnxruntime.OrtEnvironmentFFM;
import io.retort.onnxruntime.OrtIoBindingFFM;
import io.retort.onnxruntime.OrtSessionFFM;
import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Arrays;

/**
 * A program as a user writes it: a bound run of a small model on the library of the native jar. The library must be
 * below the folder in the first argument.
 */
public final class FromNativeJar {
  private FromNativeJar() {}

  /**
   * Runs the program; exits with 1 if the result is wrong.
   *
   * @param args the cache to which the library is unpacked
   */
  public static void main(String[] args) {
    Path library = OrtApiFFM.get().libraryPath();
    if (!library.startsWith(Path.of(args[0]))) {
      throw new IllegalStateException(library + " is not in the cache " + args[0]);
    }
    float[] sum = sum(new float[] {1, 2, 3}, new float[] {10, 20, 30});
    System.out.println(OrtApiFFM.get() + ": " + Arrays.toString(sum));
    System.exit(Arrays.equals(sum, new float[] {11, 22, 33}) ? 0 : 1);
  }

  private static float[] sum(float[] a, float[] b) {
    long[] shape = {a.length};
    try (Arena arena = Arena.ofConfined(); OrtEnvironmentFFM env = OrtEnvironmentFFM.create();
        OrtSessionFFM session = OrtSessionFFM.create(env, Models.add("count"), null); OrtIoBindingFFM binding = new OrtIoBindingFFM(session)) {
      MemorySegment result = arena.allocate(ValueLayout.JAVA_FLOAT, a.length);
      binding.bindInput("x", arena.allocateFrom(ValueLayout.JAVA_FLOAT, a), shape, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindInput("y", arena.allocateFrom(ValueLayout.JAVA_FLOAT, b), shape, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.bindOutput("z", result, shape, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.run();
      return result.toArray(ValueLayout.JAVA_FLOAT);
    }
  }
}
