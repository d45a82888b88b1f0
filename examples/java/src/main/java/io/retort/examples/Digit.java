package io.retort.examples;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/** A handwritten two, 8 x 8 shades of 0 to 1, and what models say of it. */
final class Digit {
  static final int PIXELS = 64;
  static final int CLASSES = 10;

  private static final byte[] TWO = {
      0, 0, 6, 16, 12, 1, 0, 0,
      0, 0, 5, 16, 13, 10, 0, 0,
      0, 0, 0, 5, 5, 15, 0, 0,
      0, 0, 0, 0, 8, 15, 0, 0,
      0, 0, 0, 0, 13, 13, 0, 0,
      0, 0, 0, 6, 16, 9, 4, 1,
      0, 0, 3, 16, 16, 16, 16, 10,
      0, 0, 5, 16, 11, 9, 6, 2,
  };

  private Digit() {}

  /** Writes the two with its rows moved down: pictures that differ. */
  static void drawTwo(MemorySegment image, int down) {
    for (int i = 0; i < PIXELS; ++i) image.setAtIndex(ValueLayout.JAVA_FLOAT, i, TWO[(i + PIXELS - 8 * down) % PIXELS] / 16f);
  }

  /** The class of the highest probability. */
  static int bestOf(MemorySegment probabilities) {
    int best = 0;
    for (int i = 1; i < CLASSES; ++i) {
      if (shade(probabilities, i) > shade(probabilities, best)) best = i;
    }
    return best;
  }

  static float shade(MemorySegment of, int i) {
    return of.getAtIndex(ValueLayout.JAVA_FLOAT, i);
  }
}
