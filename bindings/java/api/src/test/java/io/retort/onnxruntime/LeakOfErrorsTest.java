package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.fail;

import io.retort.onnxruntime.testing.ModelBuilder;
import io.retort.onnxruntime.testing.Models;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Repeats an error in every step of a binding's life, and checks that memory does not grow and no object is left. */
@Tag("stress")
@Timeout(300)
class LeakOfErrorsTest extends Fixture {
  private static final long[] FOUR = {4};
  private static final float[] NUMBERS = {1, 2, 3, 4};

  /** A mistake with a binding whose inputs and outputs are bound. */
  private interface Mistake {
    void in(OrtIoBindingFFM binding);
  }

  private record Step(String name, Class<? extends Throwable> error, Mistake mistake) {}

  private SessionOptions quiet;
  private OrtSessionFFM session;
  private OrtSessionFFM gather;
  private OrtValueRef value;
  private OrtValueRef gone;
  private OrtValueRef texts;
  private MemorySegment x;
  private MemorySegment place;
  private RunOptions terminated;

  @BeforeEach
  void load() {
    // The official library would log each failing run.
    quiet = SessionOptions.create(env).setLogLevel(LogLevel.FATAL).setIntraOpThreads(1);
    session = OrtSessionFFM.create(env, Models.add("n"), quiet);
    gather = OrtSessionFFM.create(env, new ModelBuilder("gather").input("table", ModelBuilder.FLOAT, 4).input("place", ModelBuilder.INT64, 1).output("g", ModelBuilder.FLOAT, 1)
        .node("Gather", "table place", "g").bytes(), quiet);
    x = floats(NUMBERS);
    place = arena.allocateFrom(ValueLayout.JAVA_LONG, 1000);
    value = tensor(floats(NUMBERS), 4);
    texts = OrtValueRef.ofStrings(env, new String[] {"a"}, 1);
    gone = tensor(x, 4);
    gone.close();
    terminated = RunOptions.create(API).terminate();
  }

  @AfterEach
  void unload() {
    for (NativeObject one : List.of(session, gather, value, texts, terminated, quiet)) one.close();
  }

  private OrtIoBindingFFM bound() {
    OrtIoBindingFFM binding = session.createBinding();
    for (String name : List.of("x", "y")) binding.bindInput(name, x, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
    binding.bindOutputToDevice("z", DeviceSpec.CPU);
    return binding;
  }

  @Test
  void mistakes() {
    List<Step> steps = new ArrayList<>(binding());
    steps.addAll(memory());
    steps.addAll(runs());
    steps.addAll(results());
    steps.addAll(values());
    ResidentMemory.staysFlat(steps.size() + " mistakes", i -> once(steps.get(i % steps.size())));
  }

  private void once(Step step) {
    try (OrtIoBindingFFM binding = bound()) {
      binding.run();
      try {
        step.mistake().in(binding);
      } catch (Throwable e) {
        if (step.error().isInstance(e)) return;
        throw new AssertionError(step.name(), e);
      }
      fail("nothing was thrown: " + step.name());
    }
  }

  private static Step invalid(String name, Mistake mistake) {
    return new Step(name, OrtException.class, mistake);
  }

  private static Step closed(String name, Mistake mistake) {
    return new Step(name, IllegalStateException.class, mistake);
  }

  private static Step missing(String name, Mistake mistake) {
    return new Step(name, NullPointerException.class, mistake);
  }

  private List<Step> binding() {
    MemorySegment readOnly = x.asReadOnly();
    return List.of(invalid("wrong name of an input", b -> b.bindInput("w", value)),
        invalid("wrong name of an output", b -> b.bindOutput("w", value)),
        invalid("wrong name of an output on a device", b -> b.bindOutputToDevice("w", DeviceSpec.CPU)),
        invalid("wrong type", b -> b.bindInput("x", x, new long[] {2}, OnnxTensorElementType.INT64, DeviceSpec.CPU)),
        invalid("wrong type of a value", b -> b.bindInput("x", texts)),
        invalid("wrong rank", b -> b.bindInput("x", x, new long[] {2, 2}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU)),
        invalid("wrong type of an output", b -> b.bindOutput("z", texts)),
        invalid("read-only output", b -> b.bindOutput("z", readOnly, FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU)),
        invalid("no memory there", b -> b.bindOutput("z", new MemoryDescriptor(OnnxTensorElementType.FLOAT, 4), DeviceSpec.cuda(7))),
        missing("no value", b -> b.bindInput("x", null)),
        missing("no value for an output", b -> b.bindOutput("z", null)),
        missing("no device", b -> b.bindOutputToDevice("z", null)),
        missing("no name", b -> b.bindInput(null, value)));
  }

  private List<Step> memory() {
    return List.of(invalid("short segment", b -> b.bindInput("x", x, new long[] {5}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU)),
        invalid("heap segment", b -> b.bindInput("x", MemorySegment.ofArray(NUMBERS), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU)),
        invalid("negative extent", b -> b.bindInput("x", x, new long[] {-1}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU)),
        closed("closed arena", b -> b.bindInput("x", inClosedArena(), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU)),
        closed("arena closed before the run", b -> {
          try (Arena own = Arena.ofConfined()) {
            b.bindInput("y", own.allocateFrom(ValueLayout.JAVA_FLOAT, NUMBERS), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
          }
          b.run();
        }),
        closed("arena of an output closed before the run", b -> {
          try (Arena own = Arena.ofConfined()) {
            b.bindOutput("z", own.allocate(16, 4), FOUR, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
          }
          b.run();
        }));
  }

  private static MemorySegment inClosedArena() {
    try (Arena own = Arena.ofConfined()) {
      return own.allocateFrom(ValueLayout.JAVA_FLOAT, NUMBERS);
    }
  }

  private List<Step> runs() {
    return List.of(invalid("an input is missing", b -> {
          b.clearBoundInputs();
          b.run();
        }),
        invalid("an output of the wrong shape", b -> {
          b.bindOutput("z", x, new long[] {2}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
          b.run();
        }),
        invalid("shapes that do not match", b -> {
          b.bindInput("y", x, new long[] {3}, OnnxTensorElementType.FLOAT, DeviceSpec.CPU);
          b.runWithBindings();
        }),
        invalid("terminated", b -> b.run(terminated)),
        invalid("an operator fails", b -> failing()),
        invalid("by name: unknown", b -> session.run(Map.of("x", value, "w", value))),
        invalid("by name: missing", b -> session.run(Map.of("x", value))),
        invalid("by name: terminated", b -> session.run(Map.of("x", value, "y", value), List.of("z"), terminated)),
        closed("by name: closed", b -> session.run(Map.of("x", value, "y", gone))));
  }

  private void failing() {
    try (OrtIoBindingFFM binding = gather.createBinding()) {
      binding.bindInput("table", value);
      binding.bindInput("place", place, new long[] {1}, OnnxTensorElementType.INT64, DeviceSpec.CPU);
      binding.bindOutputToDevice("g", DeviceSpec.CPU);
      binding.runWithBindings().close();
    }
  }

  private List<Step> results() {
    return List.of(closed("closed binding", b -> {
          b.close();
          b.run();
        }),
        closed("closed value", b -> b.bindInput("x", gone)),
        closed("closed result", b -> {
          OrtValues values = b.runWithBindings();
          values.close();
          values.get("z").toFloats();
        }),
        invalid("a view of another type", b -> {
          try (OrtValues values = b.runWithBindings()) {
            values.get("z").asLongBuffer();
          }
        }),
        invalid("a copy that is too short", b -> {
          try (OrtValues values = b.runWithBindings()) {
            values.get("z").copyTo(x.asSlice(0, 8));
          }
        }),
        closed("copies into a closed arena", b -> {
          Arena own = Arena.ofConfined();
          own.close();
          b.getBoundOutputCpuValues(own);
        }));
  }

  private List<Step> values() {
    return List.of(invalid("too few strings", b -> OrtValueRef.ofStrings(env, new String[] {"a"}, 2)),
        missing("a string is null", b -> OrtValueRef.ofStrings(env, new String[] {"a", null}, 2)),
        invalid("too few numbers", b -> OrtValueRef.ofFloats(env, NUMBERS, OnnxTensorElementType.FLOAT, 5)),
        invalid("numbers of another type", b -> OrtValueRef.ofFloats(env, NUMBERS, OnnxTensorElementType.INT32, 4)),
        invalid("a map of values of two lengths", b -> OrtValueRef.ofMap(env, texts, value)),
        invalid("a sequence of nothing", b -> OrtValueRef.ofSequence(env, List.of())),
        closed("a sequence of closed values", b -> OrtValueRef.ofSequence(env, List.of(value, gone))),
        invalid("copies of other shapes", b -> env.copyTensors(List.of(value), List.of(texts), null)),
        closed("copies of closed values", b -> env.copyTensors(List.of(value), List.of(gone), null)),
        invalid("no model", b -> OrtSessionFFM.create(env, NOT_A_MODEL, quiet)),
        invalid("no provider", b -> {
          try (SessionOptions own = SessionOptions.create(env)) {
            own.addProvider("NoSuchProvider", Map.of("a", "b"));
          }
        }));
  }

  private static final byte[] NOT_A_MODEL = {1, 2, 3};
}
