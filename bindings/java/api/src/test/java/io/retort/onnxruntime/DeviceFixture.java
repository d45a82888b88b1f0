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

/** Tests with the loopback provider: each leaves no block of its memory and no stream. */
abstract class DeviceFixture extends Fixture {
  /** y[i] = 3 * x[i] + 1, by four operators that devices have. */
  static final byte[] AFFINE = new ModelBuilder("affine").input("x", FLOAT, 4).output("y", FLOAT, 4).floats("three", new long[] {1}, 3).floats("one", new long[] {1}, 1)
      .node("Mul", "x three", "a").node("Add", "a one", "b").node("Neg", "b", "c").node("Neg", "c", "y").bytes();
  /** A cache that grows: present = past and x; sum = the sum of its rows. */
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
    // Here and not once for all: what the class skips as a whole is in no report.
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

  /** A session whose nodes are the first device's, as far as it has them. */
  OrtSessionFFM onDevice(byte[] model) {
    try (SessionOptions options = SessionOptions.create(env)) {
      return OrtSessionFFM.create(env, model, options.addDevices(List.of(device), Map.of()));
    }
  }

  OrtValueRef onDevice(long... shape) {
    try (OrtAllocatorFFM allocator = env.sharedAllocator(place)) {
      return allocator.allocate(new MemoryDescriptor(ElementType.FLOAT, shape));
    }
  }

  /** A tensor on the device with these numbers. */
  OrtValueRef uploaded(float... numbers) {
    OrtValueRef value = onDevice(numbers.length);
    try (OrtValueRef host = OrtValueRef.ofFloats(env, numbers, ElementType.FLOAT, numbers.length)) {
      env.copyTensors(List.of(host), List.of(value), null);
      return value;
    } catch (RuntimeException e) {
      value.close();
      throw e;
    }
  }

  /** The numbers of a tensor on a device. */
  float[] download(OrtValueRef value) {
    try (OrtValueRef host = OrtValueRef.allocate(env, ElementType.FLOAT, value.shape())) {
      env.copyTensors(List.of(value), List.of(host), null);
      return host.toFloats();
    }
  }
}
