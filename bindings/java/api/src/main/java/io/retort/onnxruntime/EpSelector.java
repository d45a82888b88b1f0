package io.retort.onnxruntime;

import java.util.List;
import java.util.Map;

/** Chooses the devices of a session while it is made. Called from the thread that makes the session. */
@FunctionalInterface
public interface EpSelector {
  /**
   * {@return the chosen ones, of {@code devices}, most wanted first. An exception fails the session with its message}
   *
   * @param devices those that there are, in the order in which the library would take them
   * @param modelMetadata entries of the model
   * @param runtimeMetadata what the library knows of the session
   * @param most how many may be chosen
   */
  List<EpDevice> select(List<EpDevice> devices, Map<String, String> modelMetadata, Map<String, String> runtimeMetadata, int most);
}
