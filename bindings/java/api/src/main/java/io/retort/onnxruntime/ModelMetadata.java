package io.retort.onnxruntime;

import java.util.Map;

/**
 * The metadata of a model. Strings are empty if the model does not have the entry.
 *
 * @param producer tool that made the model
 * @param graphName name of the graph
 * @param graphDescription description of the graph
 * @param domain domain of the model, such as {@code org.example}
 * @param description description of the model
 * @param version version of the model
 * @param custom further entries that the author added
 */
public record ModelMetadata(String producer, String graphName, String graphDescription, String domain, String description, long version, Map<String, String> custom) {
  /** Copies the custom entries. */
  public ModelMetadata {
    custom = Map.copyOf(custom);
  }
}
