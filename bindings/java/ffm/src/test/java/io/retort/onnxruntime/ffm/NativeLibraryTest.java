package io.retort.onnxruntime.ffm;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.File;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the places that a search tries, and its messages about places that have no usable library. */
class NativeLibraryTest {
  private static final Platform PLATFORM = Platform.current();
  private static final String NAME = PLATFORM.libraryNames().get(0);

  @TempDir private Path folder;

  /** Removes links that lead out of the folder, about which JUnit would warn. */
  @AfterEach
  void removeLinks() throws IOException {
    try (Stream<Path> all = Files.list(folder)) {
      for (Path link : all.filter(Files::isSymbolicLink).toList()) {
        Files.delete(link);
      }
    }
  }

  private static Path engine() {
    return NativeLibrary.load().path().toAbsolutePath();
  }

  private static LibrarySearch.Result search(Map<String, String> variables, Map<String, String> properties) {
    return new LibrarySearch(new SearchSettings(variables::get, properties::get, List.of(), PLATFORM)).run();
  }

  private static String failure(Path place) {
    return assertThrows(NativeLibraryError.class, () -> NativeLibrary.load(place)).getMessage();
  }

  @Test
  void takesFileOrFolder() throws Exception {
    NativeLibrary file = NativeLibrary.load(engine());
    assertTrue(file.lookup().find("OrtGetApiBase").isPresent());
    assertTrue(file.versionString().matches("1\\.\\d+\\..*"), file.versionString());
    Files.createSymbolicLink(folder.resolve(NAME), engine());
    NativeLibrary inFolder = NativeLibrary.load(folder);
    assertEquals(folder.resolve(NAME), inFolder.path());
    assertEquals(file.apiBase(), inFolder.apiBase(), "the same file gives the same library");
  }

  @Test
  void findsNamesWithVersionsNewestFirst() throws Exception {
    Platform.VersionedName name = PLATFORM.versionedName();
    assumeTrue(name != null, "library names have no versions on this system");
    Files.createSymbolicLink(folder.resolve(name.before() + "1.30.2" + name.after()), engine());
    Files.writeString(folder.resolve(name.before() + "1.9.9" + name.after()), "old");
    Files.writeString(folder.resolve(name.before() + "x.so"), "another");
    assertEquals(folder.resolve(name.before() + "1.30.2" + name.after()), NativeLibrary.load(folder).path());
  }

  @Test
  void brokenLibrariesInAFolderAreSkipped() throws Exception {
    Files.writeString(folder.resolve(NAME), "no library");
    Files.createSymbolicLink(folder.resolve(PLATFORM.libraryNames().get(2)), engine());
    assertEquals(folder.resolve(PLATFORM.libraryNames().get(2)), NativeLibrary.load(folder).path());
  }

  @Test
  void messagesSayWhyAPlaceCannotBeUsed() throws Exception {
    Path text = Files.writeString(folder.resolve("text"), "this is a text and not a library, but it is as long as a header\n".repeat(10));
    assertTrue(failure(text).contains("the given path " + text + ": cannot be loaded: "), failure(text));
    assertTrue(failure(text).contains("ELF") || PLATFORM.os() != Platform.Os.LINUX, failure(text));
    assertTrue(failure(folder.resolve("missing")).contains("missing: not there"), failure(folder.resolve("missing")));
    Path empty = Files.createDirectory(folder.resolve("empty"));
    assertTrue(failure(empty).contains("empty: the folder contains none of " + NAME), failure(empty));
    assertTrue(failure(empty).contains("1." + NativeLibrary.MINIMUM_API), "the message says what is needed");
  }

  @Test
  void truncatedLibrariesAreNotLoaded() throws Exception {
    assumeTrue(PLATFORM.os() == Platform.Os.LINUX, "files of Linux");
    byte[] whole = Files.readAllBytes(engine());
    for (int length : new int[] {0, 3, 63, 64, 100, 4096, whole.length / 2, whole.length - 1}) {
      Path part = Files.write(folder.resolve("part" + length), Arrays.copyOf(whole, length));
      String message = failure(part);
      assertTrue(message.contains(part + ": cannot be loaded: "), message);
      assertTrue(length < 64 || message.contains("the file is truncated: it has " + length + " bytes"), message);
    }
  }

  @Test
  void librariesForAnotherProcessorAreNamed() throws Exception {
    assumeTrue(PLATFORM.os() == Platform.Os.LINUX && List.of("x64", "aarch64").contains(PLATFORM.arch()), "files of Linux for x64 or aarch64");
    byte[] whole = Files.readAllBytes(engine());
    boolean x64 = PLATFORM.arch().equals("x64");
    whole[18] = (byte) (x64 ? 183 : 62);
    Path other = Files.write(folder.resolve("other"), whole);
    assertTrue(failure(other).contains("the library is for " + (x64 ? "aarch64" : "x64") + ", but this Java runs on " + PLATFORM.arch()), failure(other));
  }

  @Test
  void libraryWithoutTheFunctionIsRefused() throws Exception {
    Optional<MemorySegment> function = Linker.nativeLinker().defaultLookup().find("malloc");
    Path libc = DynamicLoader.system().fileOf(function.orElseThrow());
    assumeTrue(libc != null && Files.exists(libc), "the C library is not a file on this system");
    assertTrue(failure(libc).contains("is a library, but has no function OrtGetApiBase"), failure(libc));
  }

  @Test
  void settingsHaveAnOrder() {
    String good = engine().toString();
    assertEquals("ORT_NATIVE_LIB_PATH", search(Map.of("ORT_NATIVE_LIB_PATH", good, "RETORT_LIBRARY", "/b"), Map.of("retort.library", "/c")).decidedBy());
    assertTrue(search(Map.of("ORT_NATIVE_LIB_PATH", good, "RETORT_LIBRARY", "/b"), Map.of()).found().isPresent());
    assertTrue(search(Map.of("RETORT_LIBRARY", good), Map.of("retort.library", "/c")).found().isPresent());
    assertTrue(search(Map.of(), Map.of("retort.library", good)).found().isPresent());
    LibrarySearch.Result blank = search(Map.of("ORT_NATIVE_LIB_PATH", " "), Map.of("retort.library", good));
    assertEquals("retort.library", blank.decidedBy(), "a blank value counts as not set");
  }

  @Test
  void aSettingWithoutALibraryEndsTheSearch() {
    LibrarySearch.Result result = search(Map.of("RETORT_LIBRARY", folder.resolve("gone").toString()),
        Map.of("retort.library", engine().toString(), "java.library.path", engine().getParent().toString()));
    assertFalse(result.found().isPresent());
    assertEquals(List.of("environment variable ORT_NATIVE_LIB_PATH", "environment variable RETORT_LIBRARY " + folder.resolve("gone")),
        result.attempts().stream().map(NativeLibraryError.Attempt::where).toList());
    assertTrue(result.advice("usual").contains("unset"));
  }

  @Test
  void javaLibraryPathIsSearchedAndOtherFoldersAreNamed() throws Exception {
    Files.createSymbolicLink(folder.resolve(NAME), engine());
    LibrarySearch.Result result = search(Map.of(), Map.of("java.library.path", "/no/such" + File.pathSeparator + folder));
    assertEquals(folder.resolve(NAME), result.found().orElseThrow().path());
    LibrarySearch.Result none = search(Map.of(), Map.of("java.library.path", "/no/such", "user.home", folder.toString()));
    assertTrue(none.found().isPresent() || none.attempts().stream().anyMatch(a -> a.where().equals("java.library.path") && a.reason().contains("/no/such")));
  }

  @Test
  void namesWithoutAFolderAreFoundByTheSystem() throws Exception {
    assumeTrue(PLATFORM.os() == Platform.Os.LINUX, "LD_LIBRARY_PATH is of Linux");
    Files.createSymbolicLink(folder.resolve("libengine-here.so"), engine());
    Map<String, String> path = Map.of("LD_LIBRARY_PATH", folder.toString(), "RETORT_LIBRARY", "libengine-here.so");
    Probe.Answer found = Probe.run(path, List.of(), "find");
    assertEquals(folder.resolve("libengine-here.so").toString(), found.text());
    Probe.Answer missing = Probe.run(Map.of("RETORT_LIBRARY", "libengine-here.so"), List.of(), "find");
    assertTrue(missing.text().contains("environment variable RETORT_LIBRARY, name libengine-here.so: libengine-here.so: cannot open"), missing.text());
    Files.createSymbolicLink(folder.resolve("libonnxruntime.so.1"), engine());
    Probe.Answer usual = Probe.run(Map.of("LD_LIBRARY_PATH", folder.toString()), List.of("-Djava.library.path=" + folder.resolve("none")), "find");
    assertEquals(folder.resolve("libonnxruntime.so.1").toString(), usual.text());
  }

  @Test
  void theMessageListsEveryPlaceInOrder() throws Exception {
    Probe.Answer answer = Probe.run(Map.of(), List.of("-Djava.library.path=" + folder, "-Duser.home=" + folder), "find");
    assumeTrue(answer.code() == 1, "an engine is installed on this machine");
    List<String> order = List.of("ORT_NATIVE_LIB_PATH: not set", "RETORT_LIBRARY: not set", "retort.library: not set", "native jar", "java.library.path: none in " + folder,
        "usual folders", "scripts/download-native.sh");
    int at = 0;
    for (String part : order) {
      int next = answer.text().indexOf(part, at);
      assertTrue(next >= 0, () -> "'" + part + "' is missing or too early in " + answer.text());
      at = next;
    }
  }

  /** Functions of a library that is too old or broken. */
  static final class OldEngine {
    static MemorySegment base = MemorySegment.NULL;

    static MemorySegment entry() {
      return base;
    }

    static MemorySegment getApi(int version) {
      return version <= 10 ? MemorySegment.ofAddress(16) : MemorySegment.NULL;
    }

    static MemorySegment version() {
      return Arena.global().allocateFrom("1.10.3");
    }
  }

  private static MemorySegment stub(Arena arena, String name, FunctionDescriptor type) throws Exception {
    MethodHandle target = MethodHandles.lookup().findStatic(OldEngine.class, name, type.toMethodType());
    return Linker.nativeLinker().upcallStub(target, type, arena);
  }

  @Test
  void oldAndEmptyEnginesAreRefused() throws Exception {
    try (Arena arena = Arena.ofConfined()) {
      SymbolLookup none = name -> Optional.empty();
      MemorySegment entry = stub(arena, "entry", FunctionDescriptor.of(ValueLayout.ADDRESS));
      OldEngine.base = MemorySegment.NULL;
      assertEquals("OrtGetApiBase returns NULL", assertThrows(Engine.Rejected.class, () -> Engine.check(none, null, entry)).getMessage());
      MemorySegment base = arena.allocate(ValueLayout.ADDRESS, 2);
      base.setAtIndex(ValueLayout.ADDRESS, 0, stub(arena, "getApi", FunctionDescriptor.of(ValueLayout.ADDRESS, ValueLayout.JAVA_INT)));
      base.setAtIndex(ValueLayout.ADDRESS, 1, stub(arena, "version", FunctionDescriptor.of(ValueLayout.ADDRESS)));
      OldEngine.base = base;
      assertEquals("is version 1.10.3; its C interface is older than 17, the oldest that this binding supports",
          assertThrows(Engine.Rejected.class, () -> Engine.check(none, null, entry)).getMessage());
    }
  }

  @Test
  void platformsAreNamed() {
    assertEquals("linux-x64", Platform.of("Linux", "amd64").label());
    assertEquals("osx-aarch64", Platform.of("Mac OS X", "aarch64").label());
    assertEquals("win-x64", Platform.of("Windows 11", "amd64").label());
    assertEquals("retort.dll", Platform.of("Windows 11", "amd64").bundledName());
    assertEquals("linux-riscv64", Platform.of("Linux", "riscv64").label());
  }
}
