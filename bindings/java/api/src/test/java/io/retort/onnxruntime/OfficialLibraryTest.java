package io.retort.onnxruntime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import ai.onnxruntime.OrtEnvironment;
import io.retort.onnxruntime.ffm.NativeLibrary;
import io.retort.onnxruntime.ffm.OrtLibrary;
import java.nio.file.Path;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests that the library that the official Java package loads is found among those of the process. */
@Tag("official")
class OfficialLibraryTest {
  @Test
  void theLibraryOfTheOfficialPackageIsFoundAmongSeveral() {
    OrtEnvironment.getEnvironment();
    NativeLibrary ours = NativeLibrary.load();
    NativeLibrary theirs = NativeLibrary.loaded();
    assertNotEquals(ours.apiBase(), theirs.apiBase(), "the package loads its own library");
    assertEquals(OrtEnvironment.getEnvironment().getVersion(), theirs.versionString());
    assertTrue(theirs.path().getFileName().toString().contains("onnxruntime"), theirs.toString());
    assertEquals(theirs.path(), NativeLibrary.loaded().path());
    OrtLibrary functions = OrtLibrary.open(theirs);
    assertEquals(Path.of(theirs.path().toString()), functions.path());
  }
}
