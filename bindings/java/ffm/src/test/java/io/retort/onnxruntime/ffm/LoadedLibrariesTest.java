package io.retort.onnxruntime.ffm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests how an engine is found that the process has loaded. Each case runs in its own process, because an engine stays
 * loaded.
 */
class LoadedLibrariesTest {
  @TempDir private Path folder;

  private Path copy(String name) throws Exception {
    assumeTrue(Platform.current().os() == Platform.Os.LINUX, "names of Linux");
    return Files.copy(NativeLibrary.load().path(), folder.resolve(name));
  }

  @Test
  void theOnlyEngineIsFound() throws Exception {
    assertEquals(new Probe.Answer(0, "true"), Probe.run(Map.of(), List.of(), "loaded", copy("libretort.so.1").toString()));
  }

  @Test
  void aDeletedFileIsFoundByItsName() throws Exception {
    assertEquals(new Probe.Answer(0, "true"), Probe.run(Map.of(), List.of(), "gone", copy("libonnxruntime.so").toString()));
  }

  @Test
  void severalEnginesAreAnError() throws Exception {
    String a = copy("libonnxruntime.so.1").toString();
    String b = copy("libretort.so.1").toString();
    Probe.Answer answer = Probe.run(Map.of(), List.of(), "two", a, b);
    assertEquals(1, answer.code());
    assertTrue(answer.text().contains(a + ": is one of 2 engines here"), answer.text());
    assertTrue(answer.text().contains(b + ": is one of 2 engines here"), answer.text());
    assertTrue(answer.text().contains("ai.onnxruntime.OrtEnvironment.getEnvironment()"), answer.text());
  }

  @Test
  void noEngineIsAnError() throws Exception {
    Probe.Answer answer = Probe.run(Map.of(), List.of(), "none");
    assertEquals(1, answer.code());
    assertTrue(answer.text().contains("is named onnxruntime or retort and is an engine"), answer.text());
  }
}
