package io.retort.onnxruntime.ffm;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.ValueLayout;
import java.net.URL;
import java.net.URLConnection;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/**
 * Unpacks the library in the jar with classifier {@code native}, once for each user, to CACHE/CHECKSUM/NAME.
 *
 * <p>A file gets its final name by an atomic rename, after its content was checked and written to the disk. Therefore
 * processes may unpack at the same time, and every file with a final name is complete. Later starts check size, owner
 * and permissions only: hashing the file would take longer than starting the virtual machine (140 ms for 8 MB before
 * the code is compiled). If other users may write to the cache, or it cannot be written, it is not used; the library is
 * then unpacked to a temporary folder, which is deleted when the process ends.
 */
final class NativeJar {
  private static final FileAttribute<Set<PosixFilePermission>> OURS_ALONE =
      PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"));
  private static final Set<PosixFilePermission> OF_OTHERS = Set.of(PosixFilePermission.GROUP_WRITE, PosixFilePermission.OTHERS_WRITE);

  private final SearchSettings settings;
  private final Platform platform;

  NativeJar(SearchSettings settings) {
    this.settings = settings;
    this.platform = settings.platform();
  }

  static String resource(Platform platform) {
    return "io/retort/native/" + platform.label() + "/" + platform.bundledName();
  }

  /** Returns the unpacked library; empty if no such jar is on the class path or module path. */
  Optional<Path> unpack() throws IOException {
    URL library = find(resource(platform));
    if (library == null) {
      return Optional.empty();
    }
    URL sum = find(resource(platform) + ".sha256");
    if (sum == null) {
      throw new IOException("the jar has no checksum " + resource(platform) + ".sha256");
    }
    String expected;
    try (InputStream in = open(sum).getInputStream()) {
      expected = new String(in.readNBytes(1000), StandardCharsets.US_ASCII).strip().split("\\s+")[0].toLowerCase(Locale.ROOT);
    }
    if (!expected.matches("[0-9a-f]{64}")) {
      throw new IOException("the jar's " + resource(platform) + ".sha256 is not a SHA-256 checksum: '" + expected + "'");
    }
    return Optional.of(unpack(open(library), expected));
  }

  private URL find(String name) {
    return settings.resources().stream().map(l -> l.getResource(name)).filter(u -> u != null).findFirst().orElse(null);
  }

  private static URLConnection open(URL url) throws IOException {
    URLConnection connection = url.openConnection();
    connection.setUseCaches(false);  // a cached connection keeps the jar open
    return connection;
  }

  private Path unpack(URLConnection library, String expected) throws IOException {
    long size = library.getContentLengthLong();
    String cacheTrouble;
    try (InputStream in = library.getInputStream()) {
      try {
        Path folder = cache();
        Path file = folder.resolve(expected).resolve(platform.bundledName());
        if (Files.exists(file, LinkOption.NOFOLLOW_LINKS) && trouble(file.getParent()).isEmpty() && trouble(file).isEmpty() && Files.size(file) == size) {
          return file;
        }
        makeFolder(folder);
        makeFolder(file.getParent());
        return write(in, file, expected);
      } catch (WrongContent e) {
        throw e;
      } catch (IOException | UnsupportedOperationException e) {
        cacheTrouble = e.toString();
      }
    }
    return unpackForThisProcess(library.getURL(), expected, cacheTrouble);
  }

  private Path unpackForThisProcess(URL library, String expected, String why) throws IOException {
    try (InputStream in = open(library).getInputStream()) {
      Path folder = Files.createTempDirectory("retort-native");
      folder.toFile().deleteOnExit();
      Path file = write(in, folder.resolve(platform.bundledName()), expected);
      file.toFile().deleteOnExit();
      return file;
    } catch (WrongContent e) {
      throw e;
    } catch (IOException e) {
      throw new IOException("neither into the cache (" + why + ") nor into java.io.tmpdir (" + e + ")", e);
    }
  }

  private Path cache() {
    String named = settings.property().apply("retort.cache");
    if (named != null && !named.isBlank()) {
      return Path.of(named).toAbsolutePath();
    }
    Path home = Path.of(Optional.ofNullable(settings.property().apply("user.home")).orElse(""));
    Path caches = switch (platform.os()) {
      case LINUX -> variable("XDG_CACHE_HOME").orElse(home.resolve(".cache"));
      case MACOS -> home.resolve("Library/Caches");
      case WINDOWS -> variable("LOCALAPPDATA").orElse(home.resolve("AppData/Local"));
    };
    return caches.resolve("retort").resolve("native").toAbsolutePath();
  }

  /** Returns the folder that a variable names. Relative paths are ignored, as the XDG specification demands. */
  private Optional<Path> variable(String name) {
    return Optional.ofNullable(settings.variable().apply(name)).filter(v -> !v.isBlank()).map(Path::of).filter(Path::isAbsolute);
  }

  private static void makeFolder(Path folder) throws IOException {
    if (posix(existing(folder))) {
      Files.createDirectories(folder, OURS_ALONE);
    } else {
      Files.createDirectories(folder);
    }
    Optional<String> trouble = trouble(folder);
    if (trouble.isPresent()) {
      throw new IOException(folder + " " + trouble.get());
    }
  }

  private static Path existing(Path folder) {
    Path p = folder;
    while (p.getParent() != null && !Files.exists(p)) {
      p = p.getParent();
    }
    return p;
  }

  private static boolean posix(Path path) throws IOException {
    FileStore store = Files.getFileStore(path);
    return store.supportsFileAttributeView("posix") && path.getFileSystem().supportedFileAttributeViews().contains("unix");
  }

  /** Returns why other users may have written here; empty if only this user or the system's administrator may write. */
  private static Optional<String> trouble(Path path) throws IOException {
    if (Files.isSymbolicLink(path)) {
      return Optional.of("is a symbolic link; links are not followed here");
    }
    if (!posix(path)) {
      return Optional.empty();  // Windows: access lists protect the user's folders
    }
    int owner = (int) Files.getAttribute(path, "unix:uid", LinkOption.NOFOLLOW_LINKS);
    if (owner != 0 && owner != User.ID) {
      return Optional.of("belongs to another user (" + owner + ")");
    }
    boolean open = Files.getPosixFilePermissions(path, LinkOption.NOFOLLOW_LINKS).stream().anyMatch(OF_OTHERS::contains);
    return open ? Optional.of("may be written by other users; forbid that (chmod go-w), or name another folder with -Dretort.cache") : Optional.empty();
  }

  /** The user of this process. The id is read only on systems whose files have numeric owners. */
  private static final class User {
    static final int ID = id();

    private static int id() {
      Linker linker = Linker.nativeLinker();
      try {
        return (int) linker.downcallHandle(linker.defaultLookup().find("geteuid").orElseThrow(), FunctionDescriptor.of(ValueLayout.JAVA_INT)).invokeExact();
      } catch (Throwable e) {
        throw new IllegalStateException("geteuid cannot be called", e);
      }
    }
  }

  private static final class WrongContent extends IOException {
    private static final long serialVersionUID = 1;

    WrongContent(String expected, String found) {
      super("the jar is damaged: the library in it has the SHA-256 checksum " + found + " instead of " + expected);
    }
  }

  private Path write(InputStream in, Path file, String expected) throws IOException {
    Path part = Files.createTempFile(file.getParent(), ".part", null);  // only its owner may read and write it
    try {
      String found = copy(in, part);
      if (!found.equals(expected)) {
        throw new WrongContent(expected, found);
      }
      if (posix(part)) {
        Files.setPosixFilePermissions(part, PosixFilePermissions.fromString("r-x------"));
      }
      try {
        Files.move(part, file, StandardCopyOption.ATOMIC_MOVE);
      } catch (IOException e) {
        // Windows does not replace a library that another process has loaded. That process has then unpacked the same
        // content.
        if (!Files.isRegularFile(file) || Files.mismatch(part, file) != -1) {
          throw e;
        }
      }
      return file;
    } finally {
      Files.deleteIfExists(part);
    }
  }

  private static String copy(InputStream in, Path part) throws IOException {
    try (FileChannel channel = FileChannel.open(part, StandardOpenOption.WRITE)) {
      DigestOutputStream out = new DigestOutputStream(Channels.newOutputStream(channel), MessageDigest.getInstance("SHA-256"));
      in.transferTo(out);
      channel.force(true);
      return HexFormat.of().formatHex(out.getMessageDigest().digest());
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }
}
