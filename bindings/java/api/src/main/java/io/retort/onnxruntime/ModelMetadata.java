package io.retort.onnxruntime;

import java.util.Map;

/**
 * The metadata of a model; texts are empty where it has none.
 *
 * @param producer what made it
 * @param graphName name of its graph
 * @param graphDescription what the graph is
 * @param domain where it comes from
 * @param description what the model is
 * @param version its version
 * @param custom entries of its author
 */
public record ModelMetadata(String producer, String graphName, String graphDescription, String domain, String description, long version, Map<String, String> custom) {
  /** Copies the entries. */
  public ModelMetadata {
    custom = Map.copyOf(custom);
  }
}
