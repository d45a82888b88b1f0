package io.retort.onnxruntime;

import java.util.List;
import java.util.Map;

/** Chooses the devices of a session. The library calls it while a session is created, in the thread that creates it. */
@FunctionalInterface
public interface EpSelector {
  /**
   * {@return the chosen devices, all of them elements of {@code devices}, the most wanted first. If this throws,
   * creating the session fails with the message of the exception}
   *
   * @param devices the available devices, in the library's order of preference
   * @param modelMetadata metadata of the model
   * @param runtimeMetadata metadata that the library has about the session
   * @param most maximum number of devices that may be chosen
   */
  List<EpDevice> select(List<EpDevice> devices, Map<String, String> modelMetadata, Map<String, String> runtimeMetadata, int most);
}
