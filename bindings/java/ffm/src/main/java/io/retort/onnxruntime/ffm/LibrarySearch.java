package io.retort.onnxruntime.ffm;

import io.retort.onnxruntime.ffm.NativeLibraryError.Attempt;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/** Searches for an engine; {@link NativeLibrary} describes the order. Used once, by one thread. */
final class LibrarySearch {
  private static final List<Setting> SETTINGS =
      List.of(new Setting("ORT_NATIVE_LIB_PATH", true), new Setting("RETORT_LIBRARY", true), new Setting("retort.library", false));

  private record Setting(String name, boolean variable) {
    String label() {
      return (variable ? "environment variable " : "system property ") + name;
    }
  }

  /** The result of a search. {@code decidedBy} is the setting that ended it, or null. */
  record Result(Optional<Engine> found, List<Attempt> attempts, String decidedBy) {
    String advice(String usual) {
      return decidedBy == null ? usual : "No other place was searched, because this setting is set: set it to a library (or its folder), or unset it.";
    }
  }

  private final SearchSettings settings;
  private final DynamicLoader loader = DynamicLoader.system();
  private final List<Attempt> attempts = new ArrayList<>();

  LibrarySearch(SearchSettings settings) {
    this.settings = settings;
  }

  List<Attempt> attempts() {
    return attempts;
  }

  Result run() {
    for (Setting s : SETTINGS) {
      String value = (s.variable() ? settings.variable() : settings.property()).apply(s.name());
      if (value != null && !value.isBlank()) {
        return new Result(named(s.label(), value), attempts, s.name());
      }
      attempts.add(new Attempt(s.label(), "not set"));
    }
    return new Result(nativeJar().or(this::libraryPath).or(this::systemLoader).or(this::usualFolders), attempts, null);
  }

  /** Loads the library that a setting names, by a path or by a name for the system's loader. */
  private Optional<Engine> named(String label, String value) {
    Path place;
    try {
      place = Path.of(value);
    } catch (InvalidPathException e) {
      attempts.add(new Attempt(label, "is not a path: " + e.getMessage()));
      return Optional.empty();
    }
    boolean bare = !value.contains("/") && !value.contains(File.separator);
    return bare && !Files.exists(place) ? byName(label, value) : place(label, place);
  }

  /** Loads the engine at a place, which is a file or a folder. */
  Optional<Engine> place(String label, Path place) {
    Path absolute = place.toAbsolutePath().normalize();
    String where = label + " " + absolute;
    if (Files.isDirectory(absolute)) {
      return folder(where, absolute);
    }
    return file(where, absolute);
  }

  private Optional<Engine> file(String where, Path file) {
    if (!Files.exists(file)) {
      attempts.add(new Attempt(where, "not there"));
      return Optional.empty();
    }
    try {
      return Optional.of(Engine.of(loader.open(file)));
    } catch (DynamicLoader.LoadFailure e) {
      attempts.add(new Attempt(where, "cannot be loaded: " + e.getMessage()));
    } catch (Engine.Rejected e) {
      attempts.add(new Attempt(where, e.getMessage()));
    }
    return Optional.empty();
  }

  /** Loads the first usable library of a folder. */
  private Optional<Engine> folder(String where, Path folder) {
    List<Path> files = candidates(folder);
    if (files.isEmpty()) {
      attempts.add(new Attempt(where, "the folder contains none of " + String.join(", ", settings.platform().libraryNames())));
    }
    return files.stream().map(f -> file(where + File.separator + f.getFileName(), f)).flatMap(Optional::stream).findFirst();
  }

  private List<Path> candidates(Path folder) {
    List<Path> files = new ArrayList<>();
    for (String name : settings.platform().libraryNames()) {
      Path file = folder.resolve(name);
      if (Files.isRegularFile(file) && files.stream().noneMatch(f -> sameFile(f, file))) {
        files.add(file);
      }
    }
    Platform.VersionedName versioned = settings.platform().versionedName();
    if (files.isEmpty() && versioned != null) {
      try (Stream<Path> all = Files.list(folder)) {
        all.filter(f -> versioned.matches(f.getFileName().toString()))
            .sorted((a, b) -> Arrays.compare(versioned.version(b.getFileName().toString()), versioned.version(a.getFileName().toString())))
            .forEach(files::add);
      } catch (IOException e) {
        attempts.add(new Attempt(folder.toString(), "cannot be listed: " + e.getMessage()));
      }
    }
    return files;
  }

  /** Returns whether both paths are the same file. */
  private static boolean sameFile(Path a, Path b) {
    try {
      return a.equals(b) || Files.isSameFile(a, b);
    } catch (IOException e) {
      return false;
    }
  }

  private Optional<Engine> nativeJar() {
    String resource = NativeJar.resource(settings.platform());
    String where = "native jar, " + resource;
    try {
      Optional<Path> unpacked = new NativeJar(settings).unpack();
      if (unpacked.isEmpty()) {
        attempts.add(new Attempt(where, "no such jar on the class path or module path, or it has no library for " + settings.platform().label()));
      }
      return unpacked.flatMap(file -> file(where + ", unpacked as " + file, file));
    } catch (IOException e) {
      attempts.add(new Attempt(where, "cannot be unpacked: " + e.getMessage()));
      return Optional.empty();
    }
  }

  private Optional<Engine> libraryPath() {
    return folders("java.library.path", settings.property().apply("java.library.path"));
  }

  private Optional<Engine> folders(String label, String list) {
    if (list == null || list.isEmpty()) {
      attempts.add(new Attempt(label, "empty"));
      return Optional.empty();
    }
    List<String> without = new ArrayList<>();
    for (String name : list.split(File.pathSeparator)) {
      Path folder;
      try {
        folder = Path.of(name).toAbsolutePath();
      } catch (InvalidPathException e) {
        attempts.add(new Attempt(label + " " + name, "is not a path: " + e.getMessage()));
        continue;
      }
      List<Path> files = Files.isDirectory(folder) ? candidates(folder) : List.of();
      if (files.isEmpty()) {
        without.add(folder.toString());
      }
      for (Path f : files) {
        Optional<Engine> found = file(label + " " + f, f);
        if (found.isPresent()) {
          return found;
        }
      }
    }
    if (!without.isEmpty()) {
      attempts.add(new Attempt(label, "none in " + String.join(", ", without)));
    }
    return Optional.empty();
  }

  private Optional<Engine> systemLoader() {
    if (settings.platform().os() == Platform.Os.WINDOWS) {
      return folders("PATH", settings.variable().apply("PATH"));
    }
    return settings.platform().libraryNames().stream().map(n -> byName("the system's loader", n)).flatMap(Optional::stream).findFirst();
  }

  private Optional<Engine> byName(String label, String name) {
    String where = label + ", name " + name;
    try {
      Optional<DynamicLoader.Loaded> library = loader.openByName(name);
      if (library.isEmpty()) {
        attempts.add(new Attempt(where, "not there, and names without a folder are not searched on this system"));
        return Optional.empty();
      }
      return Optional.of(Engine.of(library.get()));
    } catch (DynamicLoader.LoadFailure | Engine.Rejected e) {
      attempts.add(new Attempt(where, e.getMessage()));
      return Optional.empty();
    }
  }

  private Optional<Engine> usualFolders() {
    List<Path> folders = settings.platform().usualFolders(Path.of(Optional.ofNullable(settings.property().apply("user.home")).orElse("")));
    return folders("usual folders", String.join(File.pathSeparator, folders.stream().map(Path::toString).toList()));
  }
}
