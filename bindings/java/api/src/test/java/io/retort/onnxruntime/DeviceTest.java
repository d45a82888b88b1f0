package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Tests on a device whose memory the host cannot read, with the loopback provider of the examples; {@code
 * RETORT_LOOPBACK} names its library.
 */
class DeviceTest extends Fixture {
  private static final MemoryDescriptor FOUR = new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4);

  private EpDevice device;
  private DeviceSpec memory;

  /** Returns the library of the provider; the test is skipped if there is none. */
  String library() {
    String library = System.getenv("RETORT_LOOPBACK");
    Assumptions.assumeTrue(library != null, "no device to test with: build examples/providers/loopback and set RETORT_LOOPBACK to its library");
    return library;
  }

  /** Returns the name of the provider. */
  String provider() {
    return "loopback";
  }

  /** Returns the kinds of memory whose capacity the provider knows. */
  List<MemoryKind> measured() {
    return List.of(MemoryKind.values());
  }

  @BeforeEach
  void register() {
    needs(Loopback.NEEDS, "providers in libraries of their own");
    String library = library();
    env.registerExecutionProviderLibrary("device-of-tests", Path.of(library));
    device = env.epDevices().stream().filter(d -> d.epName().equals(provider())).findFirst().orElse(null);
    if (device == null) env.unregisterExecutionProviderLibrary("device-of-tests");
    Assumptions.assumeTrue(device != null, "the library of " + provider() + " has no device here");
    memory = device.memory(MemoryKind.DEFAULT).orElseThrow();
  }

  @AfterEach
  void unregister() {
    if (device == null) return;
    env.unregisterExecutionProviderLibrary("device-of-tests");
    invalid(() -> env.createSyncStream(device, Map.of()), "is gone", "epDevices()");
  }

  private OrtSessionFFM onDevice() {
    try (SessionOptions options = SessionOptions.create(env).addDevices(List.of(device), Map.of())) {
      return OrtSessionFFM.create(env, Models.add(4), options);
    }
  }

  @Test
  void inputsAndOutputsStayOnTheDevice() {
    try (OrtSessionFFM session = onDevice(); OrtIoBindingFFM binding = session.createBinding(); OrtAllocatorFFM allocator = session.allocator(memory);
        OrtValueRef x = allocator.allocate(FOUR); OrtValueRef host = tensor(floats(1, 2, 3, 4), 4)) {
      assertEquals(List.of(memory), session.outputDevices());
      assertEquals(provider(), session.inputEpDevices().get(0).epName());
      env.copyTensors(List.of(host), List.of(x), null);
      binding.bindInput("x", x);
      // Bind a device address, as other native code would return it.
      binding.bindInput("y", x.deviceAddress(), new long[] {4}, OnnxTensorElementType.FLOAT, memory);
      binding.bindOutputToDevice("z", memory);
      try (OrtValues values = binding.runWithBindings()) {
        OrtValueRef z = values.get("z");
        assertEquals(memory, z.device());
        invalid(z::asSegment, "which the host cannot read", "copyTensors");
        invalid(z::toFloats, "which the host cannot reach");
      }
      try (OrtValues values = binding.copyOutputsToCpu()) {
        assertArrayEquals(new float[] {2, 4, 6, 8}, values.get("z").toFloats());
      }
      assertEquals(8, binding.getBoundOutputCpuValues().get("z").getAtIndex(ValueLayout.JAVA_FLOAT, 3));
    }
  }

  @Test
  void outputsOfEachPlace() {
    MemorySegment z = floats(0, 0, 0, 0);
    try (OrtSessionFFM session = onDevice(); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = tensor(floats(1, 2, 3, 4), 4)) {
      binding.bindInput("x", x);
      binding.bindInput("y", x);
      binding.synchronizeInputs();
      binding.bindOutput("z", FOUR, memory);
      binding.run();
      binding.synchronizeOutputs();
      try (OrtValues values = binding.copyOutputsToCpu()) {
        assertArrayEquals(new float[] {2, 4, 6, 8}, values.get("z").toFloats());
      }
      binding.bindOutput("z", z, new long[] {4}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      binding.run();
      binding.synchronizeOutputs();
      assertArrayEquals(new float[] {2, 4, 6, 8}, floats(z));
    }
  }

  @Test
  void streamsAndSharedAllocators() {
    try (OrtSessionFFM session = onDevice(); OrtIoBindingFFM binding = session.createBinding();
        OrtAllocatorFFM allocator = env.createSharedAllocator(device, MemoryKind.DEFAULT, Map.of()); SyncStream stream = env.createSyncStream(device, Map.of());
        RunOptions options = RunOptions.create(API).setSyncStream(stream); OrtValueRef x = allocator.allocate(FOUR); OrtValueRef host = tensor(floats(1, 2, 3, 4), 4)) {
      assertEquals(memory, allocator.device());
      env.copyTensors(List.of(host), List.of(x), stream);
      stream.close();
      binding.bindInput("x", x);
      binding.bindInput("y", x);
      binding.bindOutputToDevice("z", memory);
      binding.run(options);
      assertEquals(8, binding.getBoundOutputCpuValues(arena).get("z").getAtIndex(ValueLayout.JAVA_FLOAT, 3));
    }
  }

  @Test
  void capacityOfTheMemory() {
    needs(32, "the capacity of a device's memory");
    for (MemoryKind kind : measured()) {
      MemoryCapacity capacity = env.memoryCapacity(device, kind);
      assertTrue(0 < capacity.available() && capacity.available() <= capacity.total(), capacity.toString());
    }
    EpDevice processor = env.epDevices().stream().filter(d -> d.epName().equals("CPUExecutionProvider")).findFirst().orElseThrow();
    fails(OrtErrorCode.NOT_IMPLEMENTED, () -> env.memoryCapacity(processor, MemoryKind.DEFAULT), "");
  }

  @Test
  void releasedAllocatorsAreErrors() {
    OrtAllocatorFFM allocator = env.createSharedAllocator(device, MemoryKind.DEFAULT, Map.of());
    allocator.allocate(FOUR).close();
    env.releaseSharedAllocator(device, MemoryKind.DEFAULT);
    closed(() -> allocator.allocate(FOUR), "was replaced or released");
    fails(OrtErrorCode.NOT_FOUND, () -> env.sharedAllocator(memory), "createSharedAllocator");
    env.createSharedAllocator(device, MemoryKind.DEFAULT, Map.of()).close();
    allocator.close();
  }
}
