package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.retort.onnxruntime.ffm.NativeLibrary;
import io.retort.onnxruntime.ffm.OrtApi;
import io.retort.onnxruntime.ffm.OrtApiSlots;
import io.retort.onnxruntime.ffm.OrtLibrary;
import io.retort.onnxruntime.ffm.SlotInfo;
import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.Arena;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BinaryOperator;
import org.junit.jupiter.api.Test;

/**
 * Tests of decoder caches that are passed from step to step: all ways give the same results, and no copies are made
 * unless they are necessary.
 */
class CacheTest extends Fixture {
  private static final Models.DecoderSize SIZE = new Models.DecoderSize(2, 2, 8, 40);
  private static final int STEPS = 6;
  private static final int ROOM = 8;

  private static List<String> caches(String side) {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < SIZE.layers(); ++i) names.addAll(List.of(side + "_key." + i, side + "_value." + i));
    return names;
  }

  private OrtValueRef cache(long rows) {
    return tensor(arena.allocate(Math.max(4, 4 * SIZE.width() * rows), 64), 1, SIZE.heads(), rows, SIZE.headSize());
  }

  private Map<String, OrtValueRef> inputs(MemorySegment token, MemorySegment last, MemorySegment total, long rows) {
    Map<String, OrtValueRef> inputs = new HashMap<>();
    inputs.put("ids", OrtValueRef.wrap(env, token, OnnxTensorElementType.INT64, 1, 1));
    if (rows > 0) inputs.put("last", OrtValueRef.wrap(env, last, OnnxTensorElementType.INT32, 1));
    if (rows > 0) inputs.put("total", OrtValueRef.wrap(env, total, OnnxTensorElementType.INT32, 1));
    for (String name : caches("past")) inputs.put(name, cache(rows));
    return inputs;
  }

  /** Returns the logits of all steps, with runs by name whose results are inputs of the next step. */
  private List<float[]> named(byte[] model, long rows) {
    MemorySegment token = arena.allocate(ValueLayout.JAVA_LONG);
    MemorySegment last = arena.allocate(ValueLayout.JAVA_INT);
    MemorySegment total = arena.allocate(ValueLayout.JAVA_INT);
    Map<String, OrtValueRef> inputs = inputs(token, last, total, rows);
    List<float[]> logits = new ArrayList<>();
    try (OrtSessionFFM session = session(model)) {
      for (int step = 0; step < STEPS; ++step) {
        token.set(ValueLayout.JAVA_LONG, 0, step);
        last.set(ValueLayout.JAVA_INT, 0, step);
        total.set(ValueLayout.JAVA_INT, 0, step + 1);
        OrtValues values = session.run(inputs);
        for (int i = 0; i < caches("past").size(); ++i) inputs.put(caches("past").get(i), values.get(caches("present").get(i)).retain()).close();
        logits.add(values.get("logits").toFloats());
        values.close();
        if (rows == 0) assertEquals(0, session.copiedBytes().orElse(0), "step " + step);
      }
    }
    inputs.values().forEach(OrtValueRef::close);
    return logits;
  }

  private static void same(List<float[]> expected, List<float[]> got) {
    assertEquals(expected.size(), got.size());
    for (int i = 0; i < expected.size(); ++i) assertArrayEquals(expected.get(i), got.get(i), 1e-6f, "step " + i);
  }

  /**
   * Returns the library under test with a counter of the calls that ask for the address of a tensor. Retort can only
   * grow a tensor in place if nothing has asked for its address.
   */
  private OrtApiFFM counting(AtomicInteger asked) throws ReflectiveOperationException {
    OrtLibrary library = OrtLibrary.open(NativeLibrary.load());
    List<SlotInfo> slots = OrtApiSlots.all().stream().filter(slot -> slot.since() <= library.version()).toList();
    long bytes = 8 + slots.get(slots.size() - 1).offset();
    MemorySegment table = Arena.global().allocate(bytes, 8).copyFrom(library.address().reinterpret(bytes));
    SlotInfo where = slots.stream().filter(slot -> slot.name().equals("GetTensorMutableData")).findFirst().orElseThrow();
    BinaryOperator<MemorySegment> call = (value, out) -> {
      asked.incrementAndGet();
      return library.api().getTensorMutableData(value, out);
    };
    MethodHandle method = MethodHandles.lookup().findVirtual(BinaryOperator.class, "apply", MethodType.genericMethodType(2)).bindTo(call)
        .asType(MethodType.methodType(MemorySegment.class, MemorySegment.class, MemorySegment.class));
    table.set(ValueLayout.ADDRESS, where.offset(), Linker.nativeLinker().upcallStub(method, where.descriptor(), Arena.global()));
    return new OrtApiFFM(new OrtLibrary(library.path(), library.version(), library.versionString(), new OrtApi(table, library.version()), table));
  }

  @Test
  void addressesOfCachesAreNotAskedFor() throws ReflectiveOperationException {
    AtomicInteger asked = new AtomicInteger();
    env.close();
    env = OrtEnvironmentFFM.create(counting(asked), EnvironmentOptions.DEFAULT);
    named(Models.decoder(SIZE), 0);
    // Only the logits were read.
    assertEquals(STEPS, asked.get());
    bound(Models.decoder(SIZE));
    assertEquals(2 * STEPS, asked.get());
  }

  @Test
  void presentsBecomeThePastOfTheNextStep() {
    byte[] model = Models.decoder(SIZE);
    same(named(model, 0), bound(model));
  }

  /** Returns the logits of all steps, with bound runs whose results are bound as inputs of the next step. */
  private List<float[]> bound(byte[] model) {
    MemorySegment token = arena.allocate(ValueLayout.JAVA_LONG);
    Map<String, OrtValueRef> inputs = inputs(token, null, null, 0);
    List<float[]> logits = new ArrayList<>();
    try (OrtSessionFFM session = session(model); OrtIoBindingFFM binding = session.createBinding()) {
      inputs.forEach(binding::bindInput);
      for (int step = 0; step < STEPS; ++step) {
        token.set(ValueLayout.JAVA_LONG, 0, step);
        for (String name : caches("present")) binding.bindOutputToDevice(name, DeviceSpec.CPU);
        binding.bindOutputToDevice("logits", DeviceSpec.CPU);
        try (OrtValues values = binding.runWithBindings()) {
          for (int i = 0; i < caches("past").size(); ++i) binding.bindInput(caches("past").get(i), values.get(caches("present").get(i)));
          logits.add(values.get("logits").toFloats());
        }
        assertEquals(0, session.copiedBytes().orElse(0), "step " + step);
      }
      assertEquals(RETORT, session.copiedBytes().isPresent());
    }
    inputs.values().forEach(OrtValueRef::close);
    return logits;
  }

  @Test
  void oneBufferIsPastAndPresent() {
    needs(18, "GroupQueryAttention on the processor");
    byte[] model = Models.roomyDecoder(SIZE);
    MemorySegment token = arena.allocate(ValueLayout.JAVA_LONG);
    MemorySegment last = arena.allocate(ValueLayout.JAVA_INT);
    MemorySegment total = arena.allocate(ValueLayout.JAVA_INT);
    MemorySegment out = arena.allocate(4L * SIZE.vocabulary(), 64);
    Map<String, OrtValueRef> inputs = inputs(token, last, total, ROOM);
    List<float[]> logits = new ArrayList<>();
    try (OrtSessionFFM session = session(model); OrtIoBindingFFM binding = session.createBinding()) {
      inputs.forEach(binding::bindInput);
      for (int i = 0; i < caches("past").size(); ++i) binding.bindOutput(caches("present").get(i), inputs.get(caches("past").get(i)));
      binding.bindOutput("logits", out, new long[] {1, 1, SIZE.vocabulary()}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
      for (int step = 0; step < STEPS; ++step) {
        token.set(ValueLayout.JAVA_LONG, 0, step);
        last.set(ValueLayout.JAVA_INT, 0, step);
        total.set(ValueLayout.JAVA_INT, 0, step + 1);
        binding.run();
        logits.add(floats(out));
      }
      assertEquals(0, session.copiedBytes().orElse(0));
    }
    inputs.values().forEach(OrtValueRef::close);
    same(named(model, ROOM), logits);
  }
}
