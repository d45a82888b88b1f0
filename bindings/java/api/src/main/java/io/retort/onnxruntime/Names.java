package io.retort.onnxruntime;

import java.util.Collection;

/** Suggests known names that are similar to an unknown one. */
final class Names {
  private Names() {}

  /** Returns an error for a name that is not among the known ones. The message suggests the most similar name. */
  static OrtException unknown(String what, String name, Collection<String> known) {
    String nearest = null;
    int best = Integer.MAX_VALUE;
    for (String candidate : known) {
      int d = distance(name, candidate);
      if (d < best) {
        best = d;
        nearest = candidate;
      }
    }
    String hint = nearest != null && best <= Math.max(2, name.length() / 2) ? "; did you mean '" + nearest + "'?" : "";
    return OrtException.invalid("no " + what + " has the name '" + name + "', there are " + known + hint);
  }

  /** Returns the edit distance: the number of letters to insert, remove or replace. */
  private static int distance(String a, String b) {
    int[] row = new int[b.length() + 1];
    for (int j = 0; j <= b.length(); ++j) row[j] = j;
    for (int i = 1; i <= a.length(); ++i) {
      int corner = row[0];
      row[0] = i;
      for (int j = 1; j <= b.length(); ++j) {
        int change = corner + (Character.toLowerCase(a.charAt(i - 1)) == Character.toLowerCase(b.charAt(j - 1)) ? 0 : 1);
        corner = row[j];
        row[j] = Math.min(change, Math.min(row[j], row[j - 1]) + 1);
      }
    }
    return row[b.length()];
  }
}
