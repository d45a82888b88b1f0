package io.retort.onnxruntime.ffm;

import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;

/**
 * The settings that a search for an engine depends on.
 *
 * @param variable returns the value of an environment variable, or null
 * @param property returns the value of a system property, or null
 * @param resources class loaders that may have the native jar
 * @param platform determines the names of libraries
 */
record SearchSettings(UnaryOperator<String> variable, UnaryOperator<String> property, List<ClassLoader> resources, Platform platform) {
  static SearchSettings ofProcess() {
    List<ClassLoader> loaders = new ArrayList<>();
    for (ClassLoader l : new ClassLoader[] {SearchSettings.class.getClassLoader(), Thread.currentThread().getContextClassLoader()}) {
      if (l != null && !loaders.contains(l)) {
        loaders.add(l);
      }
    }
    return new SearchSettings(System::getenv, System::getProperty, loaders, Platform.current());
  }
}
