package io.retort.onnxruntime.generator;

import java.util.List;

/**
 * The types of a function. Functions with the same signature share a method handle.
 *
 * @param result return type
 * @param parameters types of the parameters
 * @param critical whether the call is short enough to skip the change of the thread's state ({@code
 * Linker.Option.critical})
 */
record Signature(CType result, List<CType> parameters, boolean critical) implements Comparable<Signature> {
  /** Returns the name of the generated class with the handle. */
  String holder() {
    StringBuilder name = new StringBuilder().append(result.letter).append('_');
    parameters.forEach(type -> name.append(type.letter));
    return name.append(critical ? "_critical" : "").toString();
  }

  @Override
  public int compareTo(Signature other) {
    return holder().compareTo(other.holder());
  }
}
