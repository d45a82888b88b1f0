package io.retort.onnxruntime.generator;

import java.util.List;

/**
 * A row of functions.tsv.
 *
 * @param index place in the table of functions
 * @param offset the same in bytes
 * @param since version that added it
 * @param name name in C
 * @param signature its types
 * @param names names of its parameters, for Java
 * @param declaration how C declares it
 */
record Slot(int index, long offset, int since, String name, Signature signature, List<String> names, String declaration) {
  /** The name of the method: that of C, beginning with a small letter. */
  String method() {
    return Character.toLowerCase(name.charAt(0)) + name.substring(1);
  }
}
