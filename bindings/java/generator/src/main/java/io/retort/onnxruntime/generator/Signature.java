package io.retort.onnxruntime.generator;

import java.util.List;

/**
 * Types of a function; functions of one signature share a method handle.
 *
 * @param result what it returns
 * @param parameters what it takes
 * @param critical whether the call is short enough to do without a change of the thread's state
 */
record Signature(CType result, List<CType> parameters, boolean critical) implements Comparable<Signature> {
  /** The name of the class that holds the handle. */
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
