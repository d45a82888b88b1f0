package io.retort.onnxruntime.bench;

import io.retort.onnxruntime.testing.Models;
import io.retort.onnxruntime.testing.Models.DecoderSize;
import java.util.ArrayList;
import java.util.List;

/** The decoders that are measured: 4 layers, 8 heads of size 64, weights from a fixed seed. */
final class Decoder {
  static final DecoderSize SIZE = new DecoderSize(4, 8, 64, 1000);
  /** Number of tokens before the first measured step. */
  static final int PAST = 512;
  /** Number of measured steps. They start again after the same past each time. */
  static final int STEPS = 32;
  /** Number of rows in the buffers of the decoder with a fixed capacity. */
  static final int ROOM = 1024;

  private Decoder() {}

  static byte[] growing() {
    return Models.decoder(SIZE);
  }

  static byte[] roomy() {
    return Models.roomyDecoder(SIZE);
  }

  static long[] cache(long rows) {
    return new long[] {1, SIZE.heads(), rows, SIZE.headSize()};
  }

  static int elements(long rows) {
    return Math.toIntExact(SIZE.width() * rows);
  }

  /** Returns the names of all caches: past_key.0, past_value.0, ... */
  static List<String> names(String side) {
    List<String> names = new ArrayList<>();
    for (int i = 0; i < SIZE.layers(); ++i) {
      names.add(side + "_key." + i);
      names.add(side + "_value." + i);
    }
    return names;
  }

  /** Returns an element of the past, a small number. */
  static float past(int element) {
    return (element * 31 % 17 - 8) / 16f;
  }
}
