package io.retort.onnxruntime;

import java.util.AbstractMap;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;

/**
 * Results of a run by name, in the order of the outputs. Closing this object closes all references in it. Immutable and
 * thread-safe.
 *
 * <p>Results of a binding own nothing until the program reads one of them, so a program may ignore them. Read the first
 * one before the next run of the binding, and before an output is bound again or the binding is closed: afterwards,
 * reading throws {@link IllegalStateException}. References that were read before stay valid.
 */
public final class OrtValues extends AbstractMap<String, OrtValueRef> implements AutoCloseable {
  /** Gets the results when the first one is read; null afterwards. */
  private Supplier<Map<String, ValueHandle>> source;
  private Map<String, OrtValueRef> fetched;

  /** Takes over one reference to each value. */
  OrtValues(Map<String, ValueHandle> handles) {
    fetched = references(handles);
  }

  /**
   * Creates results that are fetched when the first one is read.
   *
   * @param source gives the values, with one reference to each
   */
  OrtValues(Supplier<Map<String, ValueHandle>> source) {
    this.source = source;
  }

  private static Map<String, OrtValueRef> references(Map<String, ValueHandle> handles) {
    Map<String, OrtValueRef> made = new LinkedHashMap<>();
    handles.forEach((name, handle) -> made.put(name, new OrtValueRef(handle)));
    return Collections.unmodifiableMap(made);
  }

  private synchronized Map<String, OrtValueRef> fetch() {
    if (fetched == null) {
      if (source == null) throw new IllegalStateException("the results are closed");
      fetched = references(source.get());
      source = null;
    }
    return fetched;
  }

  @Override
  public Set<Entry<String, OrtValueRef>> entrySet() {
    return fetch().entrySet();
  }

  @Override
  public OrtValueRef get(Object name) {
    return fetch().get(name);
  }

  /** Closes all references. */
  @Override
  public synchronized void close() {
    source = null;
    if (fetched != null) fetched.values().forEach(OrtValueRef::close);
  }
}
