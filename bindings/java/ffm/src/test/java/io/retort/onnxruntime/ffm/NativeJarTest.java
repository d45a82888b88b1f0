package io.retort.onnxruntime.ffm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Tests that the jar with classifier native is unpacked once, completely, and only into folders that no other user may
 * write to.
 */
class NativeJarTest {
  private static final Platform PLATFORM = Platform.current();
  private static final byte[] CONTENT = "stands for a library".repeat(1000).getBytes();

  @TempDir private Path folder;

  private static String sum(byte[] content) throws Exception {
    return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
  }

  private Path jar(String name, byte[] content, String sum) throws IOException {
    Path jar = folder.resolve(name);
    try (OutputStream out = Files.newOutputStream(jar); JarOutputStream entries = new JarOutputStream(out)) {
      entries.putNextEntry(new ZipEntry(NativeJar.resource(PLATFORM)));
      entries.write(content);
      if (sum != null) {
        entries.putNextEntry(new ZipEntry(NativeJar.resource(PLATFORM) + ".sha256"));
        entries.write((sum + "\n").getBytes());
      }
      entries.closeEntry();
    }
    return jar;
  }

  private Optional<Path> unpack(Path jar, Path cache) throws IOException {
    try (URLClassLoader loader = new URLClassLoader(jar == null ? new URL[0] : new URL[] {jar.toUri().toURL()}, null)) {
      Map<String, String> properties = Map.of("retort.cache", cache.toString());
      return new NativeJar(new SearchSettings(n -> null, properties::get, List.of(loader), PLATFORM)).unpack();
    }
  }

  private Path cache() {
    return folder.resolve("cache").resolve("native");
  }

  private static List<Path> files(Path folder) throws IOException {
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(Files::isRegularFile).toList();
    }
  }

  @Test
  void isUnpackedOnce() throws Exception {
    Path jar = jar("a.jar", CONTENT, sum(CONTENT));
    Path file = unpack(jar, cache()).orElseThrow();
    assertEquals(cache().resolve(sum(CONTENT)).resolve(PLATFORM.bundledName()), file);
    assertEquals(-1, Files.mismatch(file, Files.write(folder.resolve("same"), CONTENT)));
    Files.setLastModifiedTime(file, FileTime.fromMillis(1000));
    assertEquals(file, unpack(jar, cache()).orElseThrow());
    assertEquals(1000, Files.getLastModifiedTime(file).toMillis(), "the file was not replaced");
    assertEquals(List.of(file), files(cache()), "no temporary file is left");
  }

  @Test
  void otherContentHasAnotherFolder() throws Exception {
    byte[] other = "another library".getBytes();
    Path first = unpack(jar("a.jar", CONTENT, sum(CONTENT)), cache()).orElseThrow();
    assertNotEquals(first, unpack(jar("b.jar", other, sum(other)), cache()).orElseThrow());
    assertEquals(2, files(cache()).size());
  }

  @Test
  void aShorterFileIsUnpackedAgain() throws Exception {
    Path jar = jar("a.jar", CONTENT, sum(CONTENT));
    Path file = unpack(jar, cache()).orElseThrow();
    Files.delete(file);
    Files.writeString(file, "short");
    assertEquals(file, unpack(jar, cache()).orElseThrow());
    assertEquals(CONTENT.length, Files.size(file));
  }

  @Test
  void damagedJarsAreRefused() throws Exception {
    byte[] other = "another library".getBytes();
    String wrong = assertThrows(IOException.class, () -> unpack(jar("a.jar", CONTENT, sum(other)), cache())).getMessage();
    assertTrue(wrong.contains("damaged") && wrong.contains(sum(other)) && wrong.contains(sum(CONTENT)), wrong);
    assertEquals(List.of(), files(cache()), "no file of the damaged jar is kept");
    assertTrue(assertThrows(IOException.class, () -> unpack(jar("b.jar", CONTENT, null), cache())).getMessage().contains("no checksum"));
    assertTrue(assertThrows(IOException.class, () -> unpack(jar("c.jar", CONTENT, "xyz"), cache())).getMessage().contains("'xyz'"));
  }

  @Test
  void withoutTheJarNothingIsFound() throws Exception {
    assertEquals(Optional.empty(), unpack(null, cache()));
  }

  @Test
  void aCacheThatOthersMayWriteIsNotUsed() throws Exception {
    assumeTrue(PLATFORM.os() != Platform.Os.WINDOWS, "permissions of POSIX");
    Files.createDirectories(cache());
    Files.setPosixFilePermissions(cache(), PosixFilePermissions.fromString("rwxrwxrwx"));
    Path file = unpack(jar("a.jar", CONTENT, sum(CONTENT)), cache()).orElseThrow();
    assertFalse(file.startsWith(cache()), file.toString());
    assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(file.getParent())));
    assertEquals(List.of(), files(cache()));
  }

  @Test
  void filesThatOthersMayHaveWrittenAreNotUsed() throws Exception {
    assumeTrue(PLATFORM.os() != Platform.Os.WINDOWS, "permissions of POSIX");
    Path jar = jar("a.jar", CONTENT, sum(CONTENT));
    Path file = unpack(jar, cache()).orElseThrow();
    byte[] evil = CONTENT.clone();
    evil[0]++;
    Files.delete(file);
    Files.write(file, evil);
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxrwxrwx"));
    assertEquals(-1, Files.mismatch(unpack(jar, cache()).orElseThrow(), Files.write(folder.resolve("same"), CONTENT)));
    Files.delete(file);
    Files.createSymbolicLink(file, Files.write(folder.resolve("evil"), evil));
    assertEquals(-1, Files.mismatch(unpack(jar, cache()).orElseThrow(), Files.write(folder.resolve("same"), CONTENT)));
    assertFalse(Files.isSymbolicLink(file));
  }

  @Test
  void aCacheThatIsNotAFolderIsReplacedForThisProcess() throws Exception {
    Path file = unpack(jar("a.jar", CONTENT, sum(CONTENT)), Files.writeString(folder.resolve("plain"), "a file")).orElseThrow();
    assertTrue(Files.isRegularFile(file));
  }

  @Test
  void processesUnpackAtTheSameTime() throws Exception {
    byte[] engine = Files.readAllBytes(NativeLibrary.load().path());
    Path jar = jar("engine.jar", engine, sum(engine));
    List<Process> started = new ArrayList<>();
    for (int i = 0; i < 4; i++) {
      started.add(Probe.start(Map.of(), List.of("-Dretort.cache=" + cache(), "-cp", jar + File.pathSeparator + System.getProperty("java.class.path")), "find"));
    }
    Path file = cache().resolve(sum(engine)).resolve(PLATFORM.bundledName());
    for (Process p : started) {
      assertEquals(new Probe.Answer(0, file.toString()), Probe.end(p));
    }
    assertEquals(List.of(file), files(cache()));
  }
}
