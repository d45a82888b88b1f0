package io.retort.onnxruntime;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.UnaryOperator;

/** The inputs or outputs of a session by name. Their names are kept in native memory for calls of the library. */
final class Ports {
  /**
   * @param info name and type
   * @param nativeName the name in native memory
   */
  record Port(ValueInfo info, MemorySegment nativeName) {}

  private interface Item {
    MemorySegment get(long index, MemorySegment out);
  }

  private final String what;
  private final Map<String, Port> ports = new LinkedHashMap<>();
  private final List<ValueInfo> infos = new ArrayList<>();

  private Ports(String what) {
    this.what = what;
  }

  private Ports add(OrtApiFFM api, boolean listed, UnaryOperator<MemorySegment> count, Item name, Item type) {
    Arena arena = Arena.ofAuto();
    TypeReader reader = new TypeReader(api);
    long n = api.number(count);
    for (long i = 0; i < n; ++i) {
      long index = i;
      String text = api.text(out -> name.get(index, out));
      ValueInfo info = new ValueInfo(text, reader.take(api.pointer(out -> type.get(index, out))));
      if (listed) infos.add(info);
      ports.put(text, new Port(info, arena.allocateFrom(text)));
    }
    return this;
  }

  /** Reads the inputs. Initializers that a run may replace are accepted as inputs, but not listed. */
  static Ports inputs(OrtApiFFM api, MemorySegment s) {
    Ports inputs = new Ports("input").add(api, true, out -> api.c.sessionGetInputCount(s, out),
        (i, out) -> api.c.sessionGetInputName(s, i, api.defaultAllocator, out), (i, out) -> api.c.sessionGetInputTypeInfo(s, i, out));
    return inputs.overridable(api, s, false);
  }

  static Ports outputs(OrtApiFFM api, MemorySegment s) {
    return new Ports("output").add(api, true, out -> api.c.sessionGetOutputCount(s, out), (i, out) -> api.c.sessionGetOutputName(s, i, api.defaultAllocator, out),
        (i, out) -> api.c.sessionGetOutputTypeInfo(s, i, out));
  }

  static Ports overridable(OrtApiFFM api, MemorySegment s) {
    return new Ports("initializer").overridable(api, s, true);
  }

  private Ports overridable(OrtApiFFM api, MemorySegment s, boolean listed) {
    return add(api, listed, out -> api.c.sessionGetOverridableInitializerCount(s, out),
        (i, out) -> api.c.sessionGetOverridableInitializerName(s, i, api.defaultAllocator, out), (i, out) -> api.c.sessionGetOverridableInitializerTypeInfo(s, i, out));
  }

  List<ValueInfo> infos() {
    return List.copyOf(infos);
  }

  List<String> names() {
    return infos.stream().map(ValueInfo::name).toList();
  }

  /** Returns the port with a name; throws if there is none. */
  Port get(String name) {
    Port port = ports.get(Objects.requireNonNull(name, "name"));
    if (port == null) throw Names.unknown(what, name, ports.keySet());
    return port;
  }

  /** Throws if the model does not accept the type of a tensor or, for inputs, its shape. */
  void fits(Port port, ValueHandle value) {
    boolean tensor = value.type() == ValueType.TENSOR;
    if (port.info().type() instanceof TypeInfo.Tensor wanted && !wanted.sparse()) {
      if (!tensor) throw mismatch(port, "a " + value.type());
      fits(port, value.descriptor());
    } else if (tensor && (port.info().type() instanceof TypeInfo.Sequence || port.info().type() instanceof TypeInfo.Mapping)) {
      throw mismatch(port, value.descriptor().toString());
    }
  }

  /**
   * As above, for a tensor that is about to be allocated. The shape of an output is not checked here: only the run
   * determines it.
   */
  void fits(Port port, MemoryDescriptor given) {
    if (!(port.info().type() instanceof TypeInfo.Tensor wanted)) return;
    boolean shape = what.equals("output") || wanted.fits(given.shape());
    if (wanted.element() != given.type() || !shape) throw mismatch(port, given.toString());
  }

  private OrtException mismatch(Port port, String given) {
    return OrtException.invalid(what + " " + port.info() + " was given " + given + ": bind a value of the type and shape of the model");
  }
}
