package io.retort.onnxruntime;

import java.util.AbstractMap;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * Results of a run by name, in the order of the outputs. Closing this object closes all references in it. Immutable.
 */
public final class OrtValues extends AbstractMap<String, OrtValueRef> implements AutoCloseable {
  private final Map<String, OrtValueRef> values;

  /** Takes over one reference to each value. */
  OrtValues(Map<String, ValueHandle> handles) {
    Map<String, OrtValueRef> made = new LinkedHashMap<>();
    handles.forEach((name, handle) -> made.put(name, new OrtValueRef(handle)));
    values = Collections.unmodifiableMap(made);
  }

  @Override
  public Set<Entry<String, OrtValueRef>> entrySet() {
    return values.entrySet();
  }

  @Override
  public OrtValueRef get(Object name) {
    return values.get(name);
  }

  /** Closes all references. */
  @Override
  public void close() {
    values.values().forEach(OrtValueRef::close);
  }
}
