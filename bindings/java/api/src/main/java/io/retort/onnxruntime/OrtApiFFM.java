package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.Memory;
import io.retort.onnxruntime.ffm.NativeLibrary;
import io.retort.onnxruntime.ffm.OrtApi;
import io.retort.onnxruntime.ffm.OrtLibrary;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;

/**
 * A loaded library: Retort, or official ONNX Runtime. It stays loaded until the process ends. A process may use several at
 * once; objects of one cannot be given to another.
 *
 * <p>Thread-safe.
 */
public final class OrtApiFFM {
  private static final boolean WINDOWS = System.getProperty("os.name", "").startsWith("Windows");

  private static OrtApiFFM found;

  final OrtApi c;
  final MemorySegment defaultAllocator;
  private final OrtLibrary library;
  /**
   * Descriptions of memory for the library. They are few, one per place that was ever named, and stay, so that bound runs need
   * not make them. Those of providers are the providers' own, which say more (alignment) than can be asked for.
   */
  private final Map<DeviceSpec, MemorySegment> memoryInfos = new ConcurrentHashMap<>();
  private final Map<DeviceSpec, MemorySegment> providerInfos = new ConcurrentHashMap<>();

  OrtApiFFM(OrtLibrary library) {
    this.library = library;
    c = library.api();
    try (Arena arena = Arena.ofConfined()) {
      defaultAllocator = pointer(arena, c::getAllocatorWithDefaultOptions);
    }
  }

  /**
   * The library that is found by itself: the file or folder that {@code ORT_NATIVE_LIB_PATH} or {@code RETORT_LIBRARY} names,
   * the one in the jar with classifier {@code native}, or that of the system.
   *
   * @return the library, the same for each call
   * @throws UnsatisfiedLinkError if none can be used; its message lists what was tried
   */
  public static synchronized OrtApiFFM get() {
    if (found == null) found = new OrtApiFFM(OrtLibrary.open(NativeLibrary.load()));
    return found;
  }

  /**
   * {@return that library}
   *
   * @param file a library
   * @throws UnsatisfiedLinkError if it cannot be loaded, is not an engine, or is too old
   */
  public static OrtApiFFM load(Path file) {
    return new OrtApiFFM(OrtLibrary.open(NativeLibrary.load(file)));
  }

  /** {@return the file that was loaded; null where the system does not tell it} */
  public Path libraryPath() {
    return library.path();
  }

  /** {@return version of the library, as {@code 1.31.1}} */
  public String versionString() {
    return library.versionString();
  }

  /** {@return version of the C interface in use, at most the one that this was made for} */
  public int apiVersion() {
    return library.version();
  }

  /** {@return what the library says of how it was built; Retort names itself here} */
  public String buildInfo() {
    return Memory.string(c.getBuildInfoString());
  }

  /** {@return names of the execution providers that are built in} */
  public List<String> availableProviders() {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment names = arena.allocate(ValueLayout.ADDRESS);
      MemorySegment count = arena.allocate(ValueLayout.JAVA_INT);
      check(c.getAvailableProviders(names, count));
      int n = count.get(ValueLayout.JAVA_INT, 0);
      MemorySegment array = names.get(ValueLayout.ADDRESS, 0);
      List<String> all = strings(array, n);
      check(c.releaseAvailableProviders(array, n));
      return all;
    }
  }

  MemorySegment table() {
    return library.address();
  }

  /** Throws what a status says, and releases it. */
  void check(MemorySegment status) {
    if (status.address() != 0) throw error(status);
  }

  /** The same for the address of a status. */
  void check(long status) {
    if (status != 0) throw error(MemorySegment.ofAddress(status));
  }

  private OrtException error(MemorySegment status) {
    OrtException error = new OrtException(OrtErrorCode.of(c.getErrorCode(status)), Memory.string(c.getErrorMessage(status)));
    c.releaseStatus(status);
    return error;
  }

  /** A status for the library, which releases it. */
  MemorySegment status(OrtErrorCode code, String message) {
    try (Arena arena = Arena.ofConfined()) {
      return c.createStatus(code.value(), arena.allocateFrom(message));
    }
  }

  /** Refuses what the library is too old for. */
  void require(int version, String what) {
    if (apiVersion() >= version) return;
    throw new OrtException(OrtErrorCode.NOT_IMPLEMENTED, what + " came with version " + version + " of the C interface, " + libraryPath() + " has version " + apiVersion()
        + ": load a newer library");
  }

  /** Refuses objects of another library. */
  void same(OrtApiFFM other, String what) {
    if (other.library.address().address() != library.address().address())
      throw OrtException.invalid(what + " belongs to " + other.libraryPath() + ", this object to " + libraryPath() + ": objects of two libraries do not mix");
  }

  MemorySegment pointer(Arena arena, UnaryOperator<MemorySegment> call) {
    MemorySegment out = arena.allocate(ValueLayout.ADDRESS);
    check(call.apply(out));
    return out.get(ValueLayout.ADDRESS, 0);
  }

  MemorySegment pointer(UnaryOperator<MemorySegment> call) {
    try (Arena arena = Arena.ofConfined()) {
      return pointer(arena, call);
    }
  }

  long number(UnaryOperator<MemorySegment> call) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(ValueLayout.JAVA_LONG);
      check(call.apply(out));
      return out.get(ValueLayout.JAVA_LONG, 0);
    }
  }

  int integer(UnaryOperator<MemorySegment> call) {
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(ValueLayout.JAVA_LONG);
      check(call.apply(out));
      return out.get(ValueLayout.JAVA_INT, 0);
    }
  }

  /** A text that came from the default allocator; it is freed. */
  String text(UnaryOperator<MemorySegment> call) {
    MemorySegment chars = pointer(call);
    if (chars.address() == 0) return "";
    String text = Memory.string(chars);
    check(c.allocatorFree(defaultAllocator, chars));
    return text;
  }

  /** Texts of an array, which stays. */
  static List<String> strings(MemorySegment array, long count) {
    List<String> all = new ArrayList<>();
    MemorySegment view = Memory.view(array, 8 * count);
    for (long i = 0; i < count; ++i) all.add(Memory.string(view.getAtIndex(ValueLayout.ADDRESS, i)));
    return all;
  }

  /** Pointers of an array, which stays. */
  static List<MemorySegment> pointers(MemorySegment array, long count) {
    List<MemorySegment> all = new ArrayList<>();
    MemorySegment view = Memory.view(array, 8 * count);
    for (long i = 0; i < count; ++i) all.add(view.getAtIndex(ValueLayout.ADDRESS, i));
    return all;
  }

  /** A text for the library, which would cut it at a zero. */
  static MemorySegment text(Arena arena, String what, String text) {
    Objects.requireNonNull(text, what);
    if (text.indexOf('\0') >= 0) throw OrtException.invalid(what + " '" + text.replace('\0', '\u2400') + "' has a zero (U+0000), where the library would cut it: take it out");
    return arena.allocateFrom(text);
  }

  static MemorySegment array(Arena arena, String what, Collection<String> texts) {
    MemorySegment array = arena.allocate(ValueLayout.ADDRESS, Math.max(1, texts.size()));
    int i = 0;
    for (String one : texts) array.setAtIndex(ValueLayout.ADDRESS, i++, text(arena, what, one));
    return array;
  }

  /** Paths are wide on Windows. */
  static MemorySegment path(Arena arena, Path path) {
    String text = path.toAbsolutePath().toString();
    return WINDOWS ? arena.allocateFrom(text, StandardCharsets.UTF_16LE) : arena.allocateFrom(text);
  }

  /** Entries of OrtKeyValuePairs; none for NULL. */
  Map<String, String> keyValues(MemorySegment pairs) {
    Map<String, String> all = new LinkedHashMap<>();
    if (pairs.address() == 0) return all;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(ValueLayout.ADDRESS, 3);
      c.getKeyValuePairs(pairs, out, out.asSlice(8), out.asSlice(16));
      long count = out.getAtIndex(ValueLayout.JAVA_LONG, 2);
      List<String> keys = count == 0 ? List.of() : strings(out.get(ValueLayout.ADDRESS, 0), count);
      List<String> values = count == 0 ? List.of() : strings(out.get(ValueLayout.ADDRESS, 8), count);
      for (int i = 0; i < count; ++i) all.put(keys.get(i), values.get(i));
    }
    return all;
  }

  /** OrtKeyValuePairs of entries, which the caller releases; NULL for none. */
  MemorySegment keyValues(Arena arena, Map<String, String> entries) {
    if (entries.isEmpty()) return MemorySegment.NULL;
    MemorySegment keys = array(arena, "the key of an option", entries.keySet());
    MemorySegment values = array(arena, "the value of an option", entries.values());
    MemorySegment out = arena.allocate(ValueLayout.ADDRESS);
    c.createKeyValuePairs(out);
    MemorySegment pairs = out.get(ValueLayout.ADDRESS, 0);
    for (int i = 0; i < entries.size(); ++i) c.addKeyValuePair(pairs, keys.getAtIndex(ValueLayout.ADDRESS, i), values.getAtIndex(ValueLayout.ADDRESS, i));
    return pairs;
  }

  /** OrtMemoryInfo of a place; belongs to this object. */
  MemorySegment memoryInfo(DeviceSpec device) {
    MemorySegment own = providerInfos.get(Objects.requireNonNull(device, "device"));
    return own != null ? own : memoryInfos.computeIfAbsent(device, this::makeMemoryInfo);
  }

  private MemorySegment makeMemoryInfo(DeviceSpec d) {
    try (Arena arena = Arena.ofConfined()) {
      if (d.equals(DeviceSpec.CPU)) return pointer(arena, out -> c.createCpuMemoryInfo(0, 0, out));
      MemorySegment name = text(arena, "the name of a device", d.name());
      if (apiVersion() >= 23)
        return pointer(arena, out -> c.createMemoryInfo_V2(name, d.type().value(), d.vendorId(), d.deviceId(), d.memory().value(), d.alignment(), 0, out));
      int kind = d.memory() == MemoryKind.HOST_ACCESSIBLE ? -1 : 0;
      return pointer(arena, out -> c.createMemoryInfo(name, 0, d.deviceId(), kind, out));
    }
  }

  /** Where an OrtMemoryInfo is. */
  DeviceSpec device(MemorySegment info) {
    DeviceType type;
    try (Arena arena = Arena.ofConfined()) {
      MemorySegment out = arena.allocate(ValueLayout.JAVA_INT);
      c.memoryInfoGetDeviceType(info, out);
      type = DeviceType.of(out.get(ValueLayout.JAVA_INT, 0));
    }
    boolean newer = apiVersion() >= 23;
    int kind = newer ? c.memoryInfoGetDeviceMemType(info) : integer(out -> c.memoryInfoGetMemType(info, out)) < 0 && type != DeviceType.CPU ? 5 : 0;
    int id = integer(out -> c.memoryInfoGetId(info, out));
    if (type == DeviceType.CPU && kind == 0 && id == 0) return DeviceSpec.CPU;
    String name = Memory.string(pointer(out -> c.memoryInfoGetName(info, out)));
    return new DeviceSpec(name, type, newer ? c.memoryInfoGetVendorId(info) : 0, Math.max(0, id), MemoryKind.of(kind), 0);
  }

  /** A place in the memory of a provider, whose own description is used from then on. */
  DeviceSpec providerDevice(MemorySegment info) {
    DeviceSpec device = device(info);
    if (!device.equals(DeviceSpec.CPU)) providerInfos.put(device, info);
    return device;
  }

  /** Forgets the descriptions of providers, some of which are gone. */
  void forgetProviders() {
    providerInfos.clear();
  }

  /** File and version of the library, for messages. */
  @Override
  public String toString() {
    return libraryPath() + " (" + versionString() + ")";
  }
}
