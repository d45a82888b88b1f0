package io.retort.onnxruntime;

import io.retort.onnxruntime.ffm.Memory;
import io.retort.onnxruntime.ffm.NativeLibrary;
import io.retort.onnxruntime.ffm.OrtApi;
import io.retort.onnxruntime.ffm.OrtLibrary;
import io.retort.onnxruntime.support.FfmSupport;
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
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

/**
 * A loaded library: Retort or official ONNX Runtime. It stays loaded until the process ends. A process may use several
 * libraries at once, but objects of one cannot be used with another.
 *
 * <p>Thread-safe.
 */
public final class OrtApiFFM {
  private static final boolean WINDOWS = System.getProperty("os.name", "").startsWith("Windows");

  private static OrtApiFFM found;

  final OrtApi c;
  final MemorySegment defaultAllocator;
  private final RawBindings bindings;
  private final OrtLibrary library;
  /**
   * OrtMemoryInfo objects, one for each place that was ever used. There are few of them, and they are kept until the
   * process ends so that bound runs need not create them. The objects of providers take precedence: they have an
   * alignment, which one cannot ask for.
   */
  private final Map<DeviceSpec, MemorySegment> memoryInfos = new ConcurrentHashMap<>();
  private final Map<DeviceSpec, MemorySegment> providerInfos = new ConcurrentHashMap<>();

  OrtApiFFM(OrtLibrary library) {
    this.library = library;
    c = library.api();
    try (Arena arena = Arena.ofConfined()) {
      defaultAllocator = pointer(arena, c::getAllocatorWithDefaultOptions);
    }
    bindings = new RawBindings(c, defaultAllocator, this::check);
  }

  /**
   * Finds and loads a library, as {@link #get()} does, which returns the same object each time. Several objects of one
   * library may be used together.
   *
   * @throws UnsatisfiedLinkError if no library can be used; the message lists what was tried
   * @throws UnsupportedOperationException if Java does not allow calls of native code
   */
  public OrtApiFFM() {
    this(open(NativeLibrary::load));
  }

  private static OrtLibrary open(Supplier<NativeLibrary> load) {
    FfmSupport.require();
    try {
      // A restricted call that does nothing: later, the error would come out of a class's initialisation, once.
      Memory.view(MemorySegment.NULL, 0);
      return OrtLibrary.open(load.get());
    } catch (IllegalCallerException e) {
      throw new UnsupportedOperationException("Java does not let this package call native code (" + e.getMessage() + "): start it with "
          + "--enable-native-access=ALL-UNNAMED or, if this package is a module, --enable-native-access=io.retort.onnxruntime.ffm", e);
    }
  }

  /**
   * Finds and loads a library: the file or folder that {@code ORT_NATIVE_LIB_PATH} or {@code RETORT_LIBRARY} names,
   * else the library in the jar with classifier {@code native}, else that of the system.
   *
   * @return the library, the same one for every call
   * @throws UnsatisfiedLinkError if no library can be used; the message lists what was tried
   * @throws UnsupportedOperationException if Java does not allow calls of native code
   */
  public static synchronized OrtApiFFM get() {
    if (found == null) found = new OrtApiFFM(open(NativeLibrary::load));
    return found;
  }

  /**
   * {@return the library in a file, loaded if it was not}
   *
   * @param file file of a library
   * @throws UnsatisfiedLinkError if the file cannot be loaded, is not an engine, or is too old
   */
  public static OrtApiFFM load(Path file) {
    return new OrtApiFFM(open(() -> NativeLibrary.load(file)));
  }

  /** {@return the file of the library; null if the system does not tell} */
  public Path libraryPath() {
    return library.path();
  }

  /** {@return the version of the library, such as {@code 1.32.0}} */
  public String versionString() {
    return library.versionString();
  }

  /** {@return the version of the C interface in use, at most the one that this package was generated for} */
  public int apiVersion() {
    return library.version();
  }

  /** {@return the library's description of its build; Retort gives its name here} */
  public String buildInfo() {
    return Memory.string(c.getBuildInfoString());
  }

  /** {@return the names of the execution providers that are built in} */
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

  /**
   * Creates a native I/O binding. {@link OrtIoBindingFFM} does this for programs that do not handle pointers.
   *
   * @param sessionPtr the OrtSession, from {@link NativeObject#nativePointer()}; it must stay open as long as the binding
   * @return the OrtIoBinding; the caller releases it with {@link #releaseOrtIoBinding}
   */
  public MemorySegment createOrtIoBinding(MemorySegment sessionPtr) {
    return bindings.create(notNull(sessionPtr, "the session"));
  }

  /**
   * Creates a native I/O binding that is released when an arena is closed.
   *
   * @param sessionPtr the OrtSession, from {@link NativeObject#nativePointer()}; it must stay open as long as the arena
   * @param scope the arena
   * @return the OrtIoBinding
   */
  public MemorySegment createIoBinding(MemorySegment sessionPtr, Arena scope) {
    return bindings.create(notNull(sessionPtr, "the session"), scope);
  }

  /**
   * Binds an input to a value.
   *
   * @param ioBindingPtr a binding from {@link #createOrtIoBinding}
   * @param name name of the input
   * @param ortValuePtr the OrtValue, from {@link NativeObject#nativePointer()}. If the session reads the input in other
   * memory, the value is copied now; otherwise its memory must stay valid as long as it is bound
   * @param deviceInfoPtr the place of the value, from {@link #memoryInfo}; NULL if it need not be checked
   * @throws OrtException if the name is unknown, the value is in another place, or the library reports an error
   */
  public void bindInputToDevice(MemorySegment ioBindingPtr, String name, MemorySegment ortValuePtr, MemorySegment deviceInfoPtr) {
    try (Arena arena = Arena.ofConfined()) {
      bindings.bindInput(ioBindingPtr, text(arena, "name", name), notNull(ortValuePtr, "the value"), deviceInfoPtr);
    }
  }

  /**
   * Binds an output to a new tensor, which belongs to the binding.
   *
   * @param ioBindingPtr a binding from {@link #createOrtIoBinding}
   * @param name name of the output
   * @param type type of the elements
   * @param shape the extents, outermost first
   * @param deviceInfoPtr the place of the tensor, from {@link #memoryInfo}
   * @throws OrtException if the name is unknown, or the session has no allocator for the place
   */
  public void bindOutput(MemorySegment ioBindingPtr, String name, OnnxTensorElementType type, long[] shape, MemorySegment deviceInfoPtr) {
    try (Arena arena = Arena.ofConfined()) {
      bindings.bindOutput(ioBindingPtr, text(arena, "name", name), new MemoryDescriptor(shape, type), notNull(deviceInfoPtr, "the place"));
    }
  }

  /**
   * Runs the session of a binding.
   *
   * @param ioBindingPtr a binding from {@link #createOrtIoBinding}
   * @throws OrtException if the run fails
   */
  public void runWithIoBinding(MemorySegment ioBindingPtr) {
    bindings.run(ioBindingPtr);
  }

  /**
   * Gets the outputs of a binding.
   *
   * @param ioBindingPtr a binding from {@link #createOrtIoBinding}
   * @param outArrayPtr receives a pointer to an OrtValue for each output, in the order of their binding. The caller
   * releases each with {@link #releaseOrtValue}
   * @return the number of outputs
   * @throws OrtException if the array is too short
   */
  public long getBoundOutputValues(MemorySegment ioBindingPtr, MemorySegment outArrayPtr) {
    return bindings.outputs(ioBindingPtr, outArrayPtr);
  }

  /**
   * Releases a value.
   *
   * @param ortValuePtr a value from {@link #getBoundOutputValues}
   */
  public void releaseOrtValue(MemorySegment ortValuePtr) {
    bindings.releaseValue(notNull(ortValuePtr, "the value"));
  }

  /**
   * Releases a binding, and the tensors that belong to it.
   *
   * @param ioBindingPtr a binding from {@link #createOrtIoBinding}
   */
  public void releaseOrtIoBinding(MemorySegment ioBindingPtr) {
    bindings.release(ioBindingPtr);
  }

  private static MemorySegment notNull(MemorySegment pointer, String what) {
    if (pointer.address() == 0) throw OrtException.invalid("the pointer to " + what + " is NULL");
    return pointer;
  }

  MemorySegment table() {
    return library.address();
  }

  /** Throws the error of a status, which is released; does nothing for NULL. */
  void check(MemorySegment status) {
    if (status.address() != 0) throw error(status);
  }

  /** As above, for the address of a status. */
  void check(long status) {
    if (status != 0) throw error(MemorySegment.ofAddress(status));
  }

  private OrtException error(MemorySegment status) {
    OrtException error = new OrtException(OrtErrorCode.of(c.getErrorCode(status)), Memory.string(c.getErrorMessage(status)));
    c.releaseStatus(status);
    return error;
  }

  /** Creates a status for the library, which releases it. */
  MemorySegment status(OrtErrorCode code, String message) {
    try (Arena arena = Arena.ofConfined()) {
      return c.createStatus(code.value(), arena.allocateFrom(message));
    }
  }

  /** Throws if the library is older than a version of the interface. */
  void require(int version, String what) {
    if (apiVersion() >= version) return;
    throw new OrtException(OrtErrorCode.NOT_IMPLEMENTED, what + " came with version " + version + " of the C interface, " + libraryPath() + " has version " + apiVersion()
        + ": load a newer library");
  }

  /** Throws if another object belongs to another library. */
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

  /** Returns a string that the library allocated with the default allocator, and frees the original. */
  String text(UnaryOperator<MemorySegment> call) {
    MemorySegment chars = pointer(call);
    if (chars.address() == 0) return "";
    String text = Memory.string(chars);
    check(c.allocatorFree(defaultAllocator, chars));
    return text;
  }

  /** Copies the strings of an array, which is not freed. */
  static List<String> strings(MemorySegment array, long count) {
    List<String> all = new ArrayList<>();
    MemorySegment view = Memory.view(array, 8 * count);
    for (long i = 0; i < count; ++i) all.add(Memory.string(view.getAtIndex(ValueLayout.ADDRESS, i)));
    return all;
  }

  /** Copies the pointers of an array, which is not freed. */
  static List<MemorySegment> pointers(MemorySegment array, long count) {
    List<MemorySegment> all = new ArrayList<>();
    MemorySegment view = Memory.view(array, 8 * count);
    for (long i = 0; i < count; ++i) all.add(view.getAtIndex(ValueLayout.ADDRESS, i));
    return all;
  }

  /** Allocates a string for the library. Throws if it contains U+0000, where the library would cut it. */
  static MemorySegment text(Arena arena, String what, String text) {
    Objects.requireNonNull(text, what);
    if (text.indexOf('\0') >= 0) throw OrtException.invalid(what + " '" + text.replace('\0', '\u2400') + "' contains U+0000, where the library would cut it: remove that character");
    return arena.allocateFrom(text);
  }

  static MemorySegment array(Arena arena, String what, Collection<String> texts) {
    MemorySegment array = arena.allocate(ValueLayout.ADDRESS, Math.max(1, texts.size()));
    int i = 0;
    for (String one : texts) array.setAtIndex(ValueLayout.ADDRESS, i++, text(arena, what, one));
    return array;
  }

  /** Allocates a path for the library. Paths are UTF-16 on Windows. */
  static MemorySegment path(Arena arena, Path path) {
    String text = path.toAbsolutePath().toString();
    return WINDOWS ? arena.allocateFrom(text, StandardCharsets.UTF_16LE) : arena.allocateFrom(text);
  }

  /** Copies the entries of an OrtKeyValuePairs; NULL has none. */
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

  /** Creates an OrtKeyValuePairs, which the caller releases; returns NULL for no entries. */
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

  /**
   * {@return the OrtMemoryInfo of a place, for the methods that take one; it belongs to this object}
   *
   * @param device the place
   */
  public MemorySegment memoryInfo(DeviceSpec device) {
    MemorySegment own = providerInfos.get(Objects.requireNonNull(device, "device"));
    if (own == null && device.vendorId() == 0 && device.type() != DeviceType.CPU) own = ofAnyVendor(device);
    return own != null ? own : memoryInfos.computeIfAbsent(device, this::makeMemoryInfo);
  }

  /** Returns the OrtMemoryInfo of the provider whose memory has this name; null if there is none. */
  private MemorySegment ofAnyVendor(DeviceSpec device) {
    for (var known : providerInfos.entrySet()) {
      if (known.getKey().sameMemory(device) && known.getKey().name().equalsIgnoreCase(device.name())) return known.getValue();
    }
    return null;
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

  /** Returns the place that an OrtMemoryInfo describes. */
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

  /**
   * Returns the place that a provider's OrtMemoryInfo describes, and uses that OrtMemoryInfo for the place from now on.
   */
  DeviceSpec providerDevice(MemorySegment info) {
    DeviceSpec device = device(info);
    if (!device.equals(DeviceSpec.CPU)) providerInfos.put(device, info);
    return device;
  }

  /** Removes the OrtMemoryInfo objects of providers, some of which have been freed. */
  void forgetProviders() {
    providerInfos.clear();
  }

  /** Returns file and version of the library, for messages. */
  @Override
  public String toString() {
    return libraryPath() + " (" + versionString() + ")";
  }
}
