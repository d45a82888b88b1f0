package io.retort.onnxruntime;

/**
 * An input or output of a model.
 *
 * @param name name of the input or output
 * @param type type of the input or output
 */
public record ValueInfo(String name, TypeInfo type) {
  @Override
  public String toString() {
    return "'" + name + "' " + type;
  }
}
