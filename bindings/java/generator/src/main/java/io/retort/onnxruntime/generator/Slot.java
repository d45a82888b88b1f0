package io.retort.onnxruntime.generator;

import java.util.List;

/**
 * A row of functions.tsv.
 *
 * @param index number of the slot in the function table
 * @param offset offset of the slot in bytes
 * @param since version that added it
 * @param name name of the function in C
 * @param signature types of the function
 * @param names names of the parameters, for Java
 * @param declaration declaration in C
 */
record Slot(int index, long offset, int since, String name, Signature signature, List<String> names, String declaration) {
  /** Returns the name of the Java method: the C name with a lower-case first letter. */
  String method() {
    return Character.toLowerCase(name.charAt(0)) + name.substring(1);
  }
}
