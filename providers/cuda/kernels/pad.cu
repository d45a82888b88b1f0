// Pad in all modes. It follows words.cuh.

/// Padding, after which nothing of the source that is cut off counts.
struct Padded {
  int rank, mode;             // 0: with `value`, 1: reflected, 2: with the edge, 3: repeated
  Divisor extent[MOST_AXES];  // of the target
  Signed size[MOST_AXES];     // of the source
  Signed begin[MOST_AXES];    // where the source begins in the target
  i64 stride[MOST_AXES];
};
/// The place in the source of place `at`, which may be outside; -1: no place.
__device__ inline Signed place_in(Signed at, Signed size, int mode) {
  if (at >= 0 && at < size) return at;
  if (mode == 0) return -1;
  if (mode == 2) return at < 0 ? 0 : size - 1;
  const Signed period = mode == 3 ? size : size > 1 ? 2 * (size - 1) : 1;
  at %= period;
  if (at < 0) at += period;
  return at < size ? at : period - at;
}
/// `value`: an element of the device, or null for the bits of `otherwise`.
extern "C" __global__ void __launch_bounds__(256)
    pad_words(const Unit* from, Unit* to, const Unit* value, i64 otherwise, i64 count, Padded p) {
  begin_kernel();
  const bool aligned = ((u64(from) | u64(to)) % WORD) == 0;
  const i64 first = first_word();
  i64 source[4];
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    Place rest = Place(first + k * 256 < count ? first + k * 256 : 0);
    source[k] = 0;
    for (int d = p.rank - 1; d >= 0; --d) {
      const Place next = divide(rest, p.extent[d]);
      const Signed at = place_in(Signed(rest - next * p.extent[d].by) - p.begin[d], p.size[d], p.mode);
      source[k] = at < 0 || source[k] < 0 ? -1 : source[k] + at * p.stride[d];
      rest = next;
    }
  }
  const Unit filler = value ? *value : Unit(otherwise);
  Word words[4];
  for (int k = 0; k < 4; ++k) {
    for (int i = 0; i < WORD / UNIT; ++i) words[k].unit[i] = filler;
    if (source[k] >= 0) words[k] = load_word(from, source[k], aligned);
  }
  for (int k = 0; k < 4; ++k)
    if (first + k * 256 < count) store_word(to, first + k * 256, words[k], aligned);
}
