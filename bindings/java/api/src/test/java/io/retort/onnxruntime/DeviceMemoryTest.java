package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/** Tests of device memory: which places there are, how tensors are copied, and what the host may not do. */
class DeviceMemoryTest extends DeviceFixture {
  @Test
  void devicesAndTheirMemory() {
    List<EpDevice> devices = Loopback.devices(env);
    assertEquals(List.of("loopback", "loopback2"), devices.stream().map(EpDevice::epName).toList());
    assertEquals("Retort examples", device.epVendor());
    assertEquals(DeviceType.CPU, device.hardware().type(), "the loopback device reports a processor as its hardware");
    assertEquals("Loopback", place.name());
    assertEquals(DeviceType.GPU, place.type());
    assertEquals(0, place.deviceId());
    assertFalse(place.isHostAccessible());
    DeviceSpec second = devices.get(1).memory(MemoryKind.DEFAULT).orElseThrow();
    assertEquals(1, second.deviceId());
    assertEquals(place.vendorId(), second.vendorId());
    DeviceSpec pinned = device.memory(MemoryKind.HOST_ACCESSIBLE).orElseThrow();
    assertTrue(pinned.isHostAccessible());
    assertNotEquals(place, pinned);
    try (OrtAllocatorFFM allocator = env.sharedAllocator(place)) {
      assertEquals(place, allocator.device());
    }
  }

  @Test
  void tensorsOnADeviceCannotBeReadByTheHost() {
    try (OrtValueRef value = onDevice(4)) {
      assertEquals(place, value.device());
      assertEquals("FLOAT[4]", value.descriptor().toString());
      assertEquals(ValueType.TENSOR, value.valueType());
      MemorySegment address = value.deviceAddress();
      assertNotEquals(0, address.address());
      assertEquals(0, address.byteSize());
      String[] words = {"Loopback (GPU 0)", "host cannot re"};
      invalid(value::asSegment, "Loopback (GPU 0)", "which the host cannot read: copy it with copyTensors or copyOutputsToCpu first");
      invalid(value::asFloatBuffer, words);
      invalid(value::asByteBuffer, words);
      invalid(value::toFloats, words);
      invalid(() -> value.copyTo(floats(0, 0, 0, 0)), words);
      invalid(() -> value.copyFrom(floats(0, 0, 0, 0)), words);
      invalid(() -> value.copyTo(floats(0)), "takes 16 bytes, the segment has 4");
    }
  }

  @Test
  void copiesToFromAndBetweenDevices() {
    DeviceSpec second = Loopback.devices(env).get(1).memory(MemoryKind.DEFAULT).orElseThrow();
    try (OrtValueRef first = uploaded(1, 2, 3, 4); OrtValueRef same = onDevice(4); OrtAllocatorFFM there = env.sharedAllocator(second);
        OrtValueRef other = there.allocate(new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4))) {
      assertEquals(second, other.device());
      assertEquals(1, loopback.counts().toDevice());
      env.copyTensors(List.of(first), List.of(same), null);
      env.copyTensors(List.of(same), List.of(other), null);
      assertEquals(2, loopback.counts().onDevice());
      assertEquals(0, loopback.counts().fromDevice());
      assertArrayEquals(new float[] {1, 2, 3, 4}, download(other));
      assertEquals(1, loopback.counts().fromDevice());
      // Copies into memory of the program, several tensors at once.
      MemorySegment a = floats(0, 0, 0, 0);
      MemorySegment b = floats(0, 0, 0, 0);
      try (OrtValueRef hostA = tensor(a, 4); OrtValueRef hostB = tensor(b, 4)) {
        env.copyTensors(List.of(first, same), List.of(hostA, hostB), null);
      }
      assertArrayEquals(new float[] {1, 2, 3, 4}, floats(a));
      assertArrayEquals(new float[] {1, 2, 3, 4}, floats(b));
      assertEquals(3, loopback.counts().fromDevice());
    }
  }

  @Test
  void copiesThatAreNotPossible() {
    try (OrtValueRef four = uploaded(1, 2, 3, 4); OrtValueRef two = OrtValueRef.allocate(env, OnnxTensorElementType.FLOAT, 2); OrtValueRef ints = OrtValueRef.allocate(env, OnnxTensorElementType.INT32, 4);
        OrtValueRef texts = OrtValueRef.ofStrings(env, new String[] {"a"}, 1); OrtValueRef host = OrtValueRef.allocate(env, OnnxTensorElementType.FLOAT, 4)) {
      invalid(() -> env.copyTensors(List.of(four), List.of(two), null), "tensor 0 is FLOAT[4], but its target is FLOAT[2]");
      invalid(() -> env.copyTensors(List.of(four), List.of(ints), null), "INT32[4]");
      invalid(() -> env.copyTensors(List.of(four, four), List.of(host), null), "2 tensors are to be copied into 1");
      invalid(() -> env.copyTensors(List.of(texts), List.of(texts), null), "STRING");
      loopback.reset();
      loopback.failing("CopyTensors", () -> assertTrue(anyError(() -> env.copyTensors(List.of(four), List.of(host), null)).getMessage().contains("CopyTensors")));
      assertEquals(0, loopback.counts().fromDevice());
      env.copyTensors(List.of(four), List.of(host), null);
      assertArrayEquals(new float[] {1, 2, 3, 4}, host.toFloats());
    }
  }

  @Test
  void theHostUsesPinnedMemory() {
    DeviceSpec pinned = device.memory(MemoryKind.HOST_ACCESSIBLE).orElseThrow();
    try (OrtAllocatorFFM allocator = env.sharedAllocator(pinned); OrtValueRef value = allocator.allocate(new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4));
        OrtSessionFFM session = onDevice(AFFINE); OrtIoBindingFFM binding = session.createBinding()) {
      assertEquals(pinned, value.device());
      value.copyFrom(floats(1, 2, 3, 4));
      assertEquals(3, value.asFloatBuffer().get(2));
      binding.bindInput("x", value);
      binding.bindOutputToDevice("y", place);
      loopback.reset();
      binding.run();
      // The host writes to pinned memory, and the next run reads it.
      value.asSegment().setAtIndex(ValueLayout.JAVA_FLOAT, 0, 10);
      try (OrtValues values = binding.runWithBindings()) {
        binding.synchronizeOutputs();
        assertTrue(loopback.counts().nothingCopied(), loopback.counts().toString());
        assertArrayEquals(new float[] {31, 7, 10, 13}, download(values.get("y")));
      }
    }
  }

  @Test
  void memoryThatCannotBeAllocated() {
    try (OrtAllocatorFFM allocator = env.sharedAllocator(place)) {
      loopback.failing("Alloc", () -> assertFalse(anyError(() -> allocator.allocate(new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4)).close()).getMessage().isBlank()));
      allocator.allocate(new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4)).close();
    }
  }

  @Test
  void replacedAllocatorsAreErrors() {
    try (OrtAllocatorFFM first = env.sharedAllocator(place); OrtAllocatorFFM second = env.createSharedAllocator(device, MemoryKind.DEFAULT, Map.of())) {
      second.allocate(new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4)).close();
      if (!second.handle().address.equals(first.handle().address)) closed(() -> first.allocate(new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4)), "was replaced or released", "sharedAllocator()");
      env.releaseSharedAllocator(device, MemoryKind.DEFAULT);
      closed(() -> second.allocate(new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4)), "was replaced or released");
      fails(OrtErrorCode.NOT_FOUND, () -> env.sharedAllocator(place), "no shared allocator for Loopback (GPU 0)", "createSharedAllocator");
      // If the environment has no shared allocator, the session creates one.
      try (OrtSessionFFM session = onDevice(AFFINE); OrtAllocatorFFM own = session.allocator(place); OrtValueRef value = own.allocate(new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4))) {
        session.close();
        assertEquals(place, value.device());
      }
    } finally {
      env.createSharedAllocator(device, MemoryKind.DEFAULT, Map.of()).close();
    }
  }

  @Test
  void tensorsOutliveTheirAllocatorAndSession() {
    OrtValueRef value;
    try (OrtSessionFFM session = onDevice(AFFINE); OrtIoBindingFFM binding = session.createBinding(); OrtValueRef x = uploaded(1, 2, 3, 4)) {
      binding.bindInput("x", x);
      binding.bindOutputToDevice("y", place);
      value = binding.runWithBindings().get("y");
    }
    try (value) {
      assertArrayEquals(new float[] {4, 7, 10, 13}, download(value));
    }
  }

  @Test
  void streamsOrderCopiesAndRuns() {
    long streams = loopback.counts().streams();
    try (SyncStream stream = env.createSyncStream(device, Map.of()); OrtSessionFFM session = onDevice(AFFINE); OrtIoBindingFFM binding = session.createBinding();
        RunOptions options = RunOptions.create(API); OrtValueRef x = onDevice(4); OrtValueRef y = onDevice(4);
        OrtValueRef host = OrtValueRef.ofFloats(env, new float[] {1, 2, 3, 4}, OnnxTensorElementType.FLOAT, 4); OrtValueRef back = OrtValueRef.allocate(env, OnnxTensorElementType.FLOAT, 4)) {
      assertTrue(loopback.counts().streams() > streams);
      assertNotEquals(0, stream.nativeHandle().address());
      env.copyTensors(List.of(host), List.of(x), stream);
      binding.bindInput("x", x);
      binding.bindOutput("y", y);
      options.setSyncStream(stream);
      binding.run(options);
      binding.synchronizeOutputs();
      env.copyTensors(List.of(y), List.of(back), null);
      assertArrayEquals(new float[] {4, 7, 10, 13}, back.toFloats());
      stream.close();
      closed(stream::nativeHandle, "stream is closed");
      closed(() -> env.copyTensors(List.of(host), List.of(x), stream), "stream is closed");
      // The options keep the stream alive.
      binding.run(options);
    }
  }

  @Test
  void aStreamKeepsWhatItCopiesUntilItIsClosed() {
    long values = LiveObjects.count(ObjectKind.VALUE);
    try (SyncStream stream = env.createSyncStream(device, Map.of()); OrtValueRef x = uploaded(1, 2, 3, 4)) {
      loopback.set("latency_us", "20000");
      for (int i = 0; i < 3; ++i) {
        // Close the tensor before the copy is done.
        try (OrtValueRef host = OrtValueRef.allocate(env, OnnxTensorElementType.FLOAT, 4)) {
          env.copyTensors(List.of(x), List.of(host), stream);
          env.copyTensors(List.of(x), List.of(host), stream);
        }
      }
      assertEquals(values + 4, LiveObjects.count(ObjectKind.VALUE));
    } finally {
      loopback.set("latency_us", "0");
    }
    assertEquals(values, LiveObjects.count(ObjectKind.VALUE));
  }

  @Test
  void devicesWithoutStreams() {
    loopback.failing("CreateSyncStreamForDevice", () -> assertTrue(anyError(() -> env.createSyncStream(device, Map.of())).getMessage().contains("CreateSyncStreamForDevice")));
  }

  @Test
  void unregisteredDevicesAreErrors() {
    Loopback.unregister(env);
    try {
      invalid(() -> onDevice(AFFINE), "loopback on CPU", "is gone", "epDevices()");
      invalid(() -> env.createSyncStream(device, Map.of()), "is gone");
      invalid(() -> env.createSharedAllocator(device, MemoryKind.DEFAULT, Map.of()), "is gone");
      assertEquals(List.of(), Loopback.devices(env));
    } finally {
      loopback = Loopback.register(env);
    }
  }

  private static OrtException anyError(Executable call) {
    return assertThrows(OrtException.class, call);
  }
}
