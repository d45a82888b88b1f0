package io.retort.examples;

import io.retort.onnxruntime.DeviceSpec;
import io.retort.onnxruntime.OnnxTensorElementType;
import io.retort.onnxruntime.OrtEnvironmentFFM;
import io.retort.onnxruntime.OrtException;
import io.retort.onnxruntime.OrtIoBindingFFM;
import io.retort.onnxruntime.OrtSessionFFM;
import io.retort.onnxruntime.OrtValues;
import io.retort.onnxruntime.RunOptions;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** One session, several runs at a time, and runs that are ended from elsewhere. Argument: digits.onnx. */
public final class Threads {
  private Threads() {}

  private static OrtIoBindingFFM bound(OrtSessionFFM session, Arena arena, int down) {
    MemorySegment image = arena.allocate(ValueLayout.JAVA_FLOAT, Digit.PIXELS);
    Digit.drawTwo(image, down);
    OrtIoBindingFFM binding = session.createBinding();
    binding.bindInput("image", image, new long[] {1, 1, 8, 8}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    binding.bindOutputToDevice("probabilities", DeviceSpec.CPU);
    return binding;
  }

  // [several]
  private static void several(OrtSessionFFM session) {
    List<OrtIoBindingFFM> bindings = new ArrayList<>();
    List<CompletableFuture<OrtValues>> runs = new ArrayList<>();
    try (Arena arena = Arena.ofShared()) {  // for runs in other threads; a confined one would be refused
      for (int down = 0; down < 3; ++down) {
        bindings.add(bound(session, arena, down));  // one for each concurrent run
        runs.add(bindings.get(down).runAsync(null, null));
      }
      for (CompletableFuture<OrtValues> run : runs) {
        try (Arena step = Arena.ofConfined(); OrtValues values = run.join()) {
          System.out.println("a " + Digit.bestOf(values.get("probabilities").asSegment(step)));
        }
      }
      bindings.forEach(OrtIoBindingFFM::close);
    }
  }

  // [terminate]
  private static void terminate(OrtEnvironmentFFM env, OrtSessionFFM session) {
    try (Arena arena = Arena.ofConfined(); OrtIoBindingFFM binding = bound(session, arena, 0); RunOptions options = RunOptions.create(env)) {
      options.terminate();  // from any thread: runs with these options end as soon as they notice, later ones at once
      try {
        binding.run(options);
      } catch (OrtException e) {
        System.out.println("terminated");
      }
      options.unsetTerminate();
      binding.run(options);
      System.out.println("and run again");
    }
  }

  // [end]
  /**
   * Runs it.
   *
   * @param args the model
   */
  public static void main(String[] args) {
    try (OrtEnvironmentFFM env = OrtEnvironmentFFM.create(); OrtSessionFFM session = OrtSessionFFM.create(env, Path.of(args[0]), null)) {
      several(session);
      terminate(env, session);
    }
  }
}
