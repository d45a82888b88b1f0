package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.retort.onnxruntime.testing.Models;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Tests that functions for which the library is too old are refused by version, before the library is called. */
class OldLibraryTest extends Fixture {
  private static void tooOld(int version, Executable call) {
    if (API.apiVersion() >= version) return;
    fails(OrtErrorCode.NOT_IMPLEMENTED, call, "came with version " + version + " of the C interface", "has version " + API.apiVersion(), "load a newer library");
  }

  @Test
  void newerFunctionsAreNotCalled() {
    assumeTrue(API.apiVersion() < 24, "the library is too new: it has all functions of this test");
    try (OrtSessionFFM session = session(Models.add(4)); SessionOptions options = SessionOptions.create(env); RunOptions run = RunOptions.create(env);
        OrtAllocatorFFM cpu = env.sharedAllocator(DeviceSpec.CPU); OrtIoBindingFFM binding = session.createBinding()) {
      tooOld(20, () -> session.setEpDynamicOptions(Map.of("a", "b")));
      tooOld(22, env::epDevices);
      tooOld(22, () -> env.registerExecutionProviderLibrary("a", Path.of("b")));
      tooOld(22, () -> env.unregisterExecutionProviderLibrary("a"));
      tooOld(22, () -> options.setEpSelectionPolicy(EpSelectionPolicy.PREFER_GPU));
      tooOld(22, () -> options.setEpSelector((devices, model, runtime, most) -> List.of()));
      tooOld(23, session::inputDevices);
      tooOld(23, session::outputDevices);
      tooOld(23, session::inputEpDevices);
      tooOld(24, session::outputEpDevices);
      tooOld(23, cpu::statistics);
      tooOld(23, () -> env.sharedAllocator(DeviceSpec.cuda(0)));
      assertEquals(OptionalLong.empty(), session.copiedBytes());
      invalid(() -> binding.bindOutputToDevice("z", DeviceSpec.cuda(0)), "no provider of the session drives");
    }
  }
}
