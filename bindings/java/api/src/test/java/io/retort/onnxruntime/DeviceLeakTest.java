package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.foreign.MemorySegment;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Repeats bound runs on a device, both successful and failing ones, and checks that neither the host nor the device
 * leaks.
 */
@Tag("stress")
@Timeout(300)
class DeviceLeakTest extends DeviceFixture {
  private static final long[] FOUR = {4};
  private static final float[] NUMBERS = {1, 2, 3, 4};
  /** Fewer cycles than elsewhere, because each passes work to another thread and waits for it. */
  private static final int CYCLES = ResidentMemory.CYCLES / 10;
  private static final List<String> ENTRIES = List.of("Compute", "Kernel", "Alloc", "OnRunEnd", "CopyTensors", "OnRunStart");

  @Test
  void successfulRuns() {
    MemorySegment host = floats(NUMBERS);
    try (OrtSessionFFM session = onDevice(AFFINE); OrtValueRef y = onDevice(4)) {
      ResidentMemory.staysFlat("a device", CYCLES, i -> {
        try (OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = uploaded(NUMBERS)) {
          binding.bindInput("x", x);
          if (i % 2 == 0) binding.bindOutputToDevice("y", place);
          else binding.bindOutput("y", y);
          try (OrtValues values = binding.runWithBindings(); OrtValues copies = binding.copyOutputsToCpu()) {
            assertEquals(place, values.get("y").device());
            assertEquals(4, copies.get("y").toFloats()[0]);
          }
          if (i % 8 == 1) binding.bindInput("x", host, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
          if (i % 8 == 3) onStream(binding, x);
          if (i % 8 == 5) binding.getBoundOutputCpuValues();
        }
      });
    }
  }

  private void onStream(OrtIoBindingFFM binding, OrtValueRef x) {
    try (SyncStream stream = env.createSyncStream(device, Map.of()); RunOptions options = RunOptions.create(API).setSyncStream(stream);
        OrtValueRef host = OrtValueRef.ofFloats(env, NUMBERS, OnnxTensorElementType.FLOAT, 4)) {
      env.copyTensors(List.of(host), List.of(x), stream);
      binding.run(options);
      binding.synchronizeOutputs();
    }
  }

  /** Does everything that a cycle contains, until something fails. */
  private void all(OrtSessionFFM session, int i) {
    try (OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = uploaded(NUMBERS)) {
      binding.bindInput("x", x);
      binding.bindOutputToDevice("y", i % 2 == 0 ? place : DeviceSpec.CPU);
      try (OrtValues values = binding.runWithBindings()) {
        binding.copyOutputsToCpu().close();
        binding.bindInput("x", values.get("y"));
      }
    }
  }

  @Test
  void failingRuns() {
    try (SessionOptions quiet = SessionOptions.create(env).setLogLevel(LogLevel.FATAL).addDevices(List.of(device), Map.of());
        OrtSessionFFM session = OrtSessionFFM.create(env, AFFINE, quiet)) {
      ResidentMemory.staysFlat("a device that fails", CYCLES, i -> {
        String entry = ENTRIES.get(i % ENTRIES.size());
        // The first such call of the cycle fails, or the second, or the third.
        int nth = 1 + i / ENTRIES.size() % 3;
        loopback.set("fail", entry + ":" + nth);
        if (nth == 1 && !entry.equals("OnRunStart")) assertThrows(OrtException.class, () -> all(session, i), entry);
        else try {
          all(session, i);
        } catch (OrtException failed) {
          // Not every cycle makes that many of these calls.
        }
        loopback.set("fail", "");
      });
      all(session, 0);
    }
  }
}
