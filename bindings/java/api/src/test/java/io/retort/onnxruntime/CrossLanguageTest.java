package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.retort.onnxruntime.testing.Models;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests that bound runs from Python and from Java give the same bytes for the same models and inputs, which are written
 * to files.
 */
@Timeout(120)
class CrossLanguageTest extends Fixture {
  private static final Path SCRIPT = MODELS.resolve("../../../bindings/java/api/src/test/python/bound_runs.py").normalize();
  private static final int OTHER_VERSION = 3;
  private static final Models.DecoderSize SIZE = new Models.DecoderSize(2, 4, 16, 100);
  private static final int TOKENS = 24;

  /** An input as described in case.tsv, with one tensor for each step or one for all steps. */
  private record Input(String name, OnnxTensorElementType type, long[] shape, String feedback, byte[] data) {
    long bytes() {
      return new MemoryDescriptor(type, shape).bytes();
    }

    byte[] ofStep(int step) {
      int begin = data.length > bytes() ? (int) (step * bytes()) : 0;
      return Arrays.copyOfRange(data, begin, begin + (int) bytes());
    }

    String line(int index) {
      return String.join("\t", name, type.toString(), LongStream.of(shape).mapToObj(Long::toString).collect(Collectors.joining(",")), index + ".bin", feedback);
    }
  }

  private record Case(String name, byte[] model, int steps, List<Input> inputs) {}

  @TempDir
  Path folder;

  private final Random random = new Random(20);

  private Input floats(String name, int steps, long... shape) {
    int count = (int) MemoryDescriptor.elements(shape) * steps;
    ByteBuffer data = ByteBuffer.allocate(4 * count).order(ByteOrder.nativeOrder());
    for (int i = 0; i < count; ++i) data.putFloat((float) random.nextGaussian());
    return new Input(name, OnnxTensorElementType.FLOAT, shape, "-", data.array());
  }

  private Input longs(String name, int steps, int below, long... shape) {
    int count = (int) MemoryDescriptor.elements(shape) * steps;
    ByteBuffer data = ByteBuffer.allocate(8 * count).order(ByteOrder.nativeOrder());
    for (int i = 0; i < count; ++i) data.putLong(random.nextInt(below));
    return new Input(name, OnnxTensorElementType.INT64, shape, "-", data.array());
  }

  private List<Case> cases() {
    Map<String, byte[]> common = Models.common();
    List<Case> cases = new ArrayList<>();
    cases.add(new Case("mlp", common.get("mlp"), 3, List.of(floats("x", 3, 5, 24))));
    cases.add(new Case("convolution", common.get("convolution"), 2, List.of(floats("x", 2, 2, 3, 16, 16))));
    cases.add(new Case("normalised", common.get("normalised"), 2, List.of(floats("x", 1, 7, 32))));
    cases.add(new Case("embedding", common.get("embedding"), 2, List.of(longs("ids", 2, 100, 4, 9))));
    cases.add(new Case("attention", common.get("attention"), 2, List.of(floats("q", 2, 2, 6, 8), floats("k", 2, 2, 7, 8), floats("v", 2, 2, 7, 8))));
    cases.add(new Case("free_sizes", Models.freeSizes(), 1, List.of(floats("a", 1, 9, 33), floats("b", 1, 33, 21))));
    List<Input> decoder = new ArrayList<>(List.of(longs("ids", TOKENS, SIZE.vocabulary(), 1, 1)));
    for (int i = 0; i < SIZE.layers(); ++i) {
      for (String kind : List.of("key", "value"))
        decoder.add(new Input("past_" + kind + "." + i, OnnxTensorElementType.FLOAT, new long[] {1, SIZE.heads(), 0, SIZE.headSize()}, "present_" + kind + "." + i, new byte[0]));
    }
    cases.add(new Case("decoder", Models.decoder(SIZE), TOKENS, decoder));
    return cases;
  }

  private void write(Case one) throws IOException {
    Path at = Files.createDirectory(folder.resolve(one.name()));
    Files.write(at.resolve("model.onnx"), one.model());
    Files.writeString(at.resolve("steps.txt"), Integer.toString(one.steps()));
    List<String> lines = new ArrayList<>();
    for (Input input : one.inputs()) {
      Files.write(at.resolve(lines.size() + ".bin"), input.data());
      lines.add(input.line(lines.size()));
    }
    Files.write(at.resolve("case.tsv"), lines);
  }

  /** Runs the Python program and returns the line that says which binding it used. */
  private String python() throws Exception {
    String program = System.getenv().getOrDefault("PYTHON", "python3");
    Process process;
    try {
      process = new ProcessBuilder(program, SCRIPT.toString(), API.libraryPath().toString(), folder.toString()).redirectErrorStream(true).start();
    } catch (IOException e) {
      assumeTrue(false, "no Python: " + e.getMessage());
      return null;
    }
    String said = new String(process.getInputStream().readAllBytes());
    int code = process.waitFor();
    assumeTrue(code != OTHER_VERSION, said.strip());
    assertEquals(0, code, said);
    return said.strip();
  }

  /** Returns the bytes of all outputs of all steps. */
  private byte[] java(Case one) {
    ByteArrayOutputStream all = new ByteArrayOutputStream();
    try (SessionOptions options = SessionOptions.create(env).setIntraOpThreads(1);
        OrtSessionFFM session = OrtSessionFFM.create(env, folder.resolve(one.name()).resolve("model.onnx"), options); OrtIoBindingFFM binding = session.createBinding()) {
      for (int step = 0; step < one.steps(); ++step) {
        for (Input input : one.inputs()) {
          if (step > 0 && !input.feedback().equals("-")) continue;
          MemorySegment data = arena.allocate(Math.max(8, input.bytes()), 8).asSlice(0, input.bytes());
          data.copyFrom(MemorySegment.ofArray(input.ofStep(step)));
          binding.bindInput(input.name(), data, input.shape(), input.type(), DeviceSpec.CPU);
        }
        for (ValueInfo output : session.outputs()) binding.bindOutputToDevice(output.name(), DeviceSpec.CPU);
        try (OrtValues values = binding.runWithBindings()) {
          for (ValueInfo output : session.outputs()) all.writeBytes(values.get(output.name()).asSegment().toArray(ValueLayout.JAVA_BYTE));
          for (Input input : one.inputs()) {
            if (!input.feedback().equals("-")) binding.bindInput(input.name(), values.get(input.feedback()));
          }
        }
      }
    }
    return all.toByteArray();
  }

  @Test
  void bothLanguagesGiveTheSameBytes() throws Exception {
    List<Case> cases = cases();
    for (Case one : cases) write(one);
    assertEquals(RETORT ? "the C interface" : "the package", python());
    for (Case one : cases) {
      byte[] expected = Files.readAllBytes(folder.resolve(one.name()).resolve("python.bin"));
      assertTrue(expected.length > 0, one.name());
      byte[] mine = java(one);
      assertEquals(expected.length, mine.length, one.name());
      assertEquals(-1, Arrays.mismatch(expected, mine), () -> one.name() + ": the first byte that differs, of " + mine.length);
    }
  }
}
