package io.retort.onnxruntime;

import static io.retort.onnxruntime.testing.ModelBuilder.FLOAT;
import static io.retort.onnxruntime.testing.ModelBuilder.attribute;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.retort.onnxruntime.testing.ModelBuilder;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/**
 * The base of tests with the loopback provider. Checks that each test releases all memory and all streams of the
 * provider.
 */
abstract class DeviceFixture extends Fixture {
  /** Computes y[i] = 3 * x[i] + 1 with four nodes, all of which the devices support. */
  static final byte[] AFFINE = new ModelBuilder("affine").input("x", FLOAT, 4).output("y", FLOAT, 4).floats("three", new long[] {1}, 3).floats("one", new long[] {1}, 1)
      .node("Mul", "x three", "a").node("Add", "a one", "b").node("Neg", "b", "c").node("Neg", "c", "y").bytes();
  /** A cache that grows: present = past with x appended; sum = the sum of its rows. */
  static final byte[] CACHE = new ModelBuilder("cache").input("past", FLOAT, "p", 4).input("x", FLOAT, 1, 4).output("present", FLOAT, "q", 4).output("sum", FLOAT, 1, 4)
      .longs("rows", new long[] {1}, 0).node("Concat", "past x", "present", attribute("axis", 0)).node("ReduceSum", "present rows", "sum").bytes();

  private static OrtEnvironmentFFM held;
  static Loopback loopback;

  private Loopback.Counts before;
  EpDevice device;
  DeviceSpec place;

  @BeforeAll
  static void register() {
    held = OrtEnvironmentFFM.create(API, EnvironmentOptions.DEFAULT);
    if (API.apiVersion() >= Loopback.NEEDS && Loopback.isThere()) loopback = Loopback.register(held);
  }

  @AfterAll
  static void unregister() {
    if (loopback != null) Loopback.unregister(held);
    loopback = null;
    held.close();
  }

  @BeforeEach
  void countMemory() {
    needs(Loopback.NEEDS, "providers in libraries of their own");
    // Checked for each test and not once for the class, because reports do not list tests of a class that is skipped as
    // a whole.
    assumeTrue(loopback != null, "no loopback provider (make build, or RETORT_LOOPBACK=FILE)");
    device = Loopback.devices(env).get(0);
    place = device.memory(MemoryKind.DEFAULT).orElseThrow();
    loopback.reset();
    before = loopback.counts();
  }

  @AfterEach
  void nothingIsLeftOnDevices() {
    if (loopback == null) return;
    loopback.set("fail", "");
    loopback.set("delay_us", "0");
    assertEquals(before.alive(), loopback.counts().alive(), "blocks of memory on devices");
    assertEquals(before.streams(), loopback.counts().streams(), "streams");
  }

  /** Creates a session whose nodes run on the first device, as far as it supports them. */
  OrtSessionFFM onDevice(byte[] model) {
    try (SessionOptions options = SessionOptions.create(env)) {
      return OrtSessionFFM.create(env, model, options.addDevices(List.of(device), Map.of()));
    }
  }

  OrtValueRef onDevice(long... shape) {
    try (OrtAllocatorFFM allocator = env.sharedAllocator(place)) {
      return allocator.allocate(new MemoryDescriptor(OnnxTensorElementType.FLOAT, shape));
    }
  }

  /** Returns a tensor on the device with these numbers. */
  OrtValueRef uploaded(float... numbers) {
    OrtValueRef value = onDevice(numbers.length);
    try (OrtValueRef host = OrtValueRef.ofFloats(env, numbers, OnnxTensorElementType.FLOAT, numbers.length)) {
      env.copyTensors(List.of(host), List.of(value), null);
      return value;
    } catch (RuntimeException e) {
      value.close();
      throw e;
    }
  }

  /** Returns the numbers of a tensor on a device. */
  float[] download(OrtValueRef value) {
    try (OrtValueRef host = OrtValueRef.allocate(env, OnnxTensorElementType.FLOAT, value.shape())) {
      env.copyTensors(List.of(value), List.of(host), null);
      return host.toFloats();
    }
  }
}
