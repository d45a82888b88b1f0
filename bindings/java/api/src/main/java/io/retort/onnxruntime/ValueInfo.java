package io.retort.onnxruntime;

/**
 * An input or output of a model.
 *
 * @param name its name
 * @param type its type
 */
public record ValueInfo(String name, TypeInfo type) {
  @Override
  public String toString() {
    return "'" + name + "' " + type;
  }
}
