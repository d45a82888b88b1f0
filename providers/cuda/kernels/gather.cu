// Gather, GatherND, GatherElements. It follows words.cuh.

/// Rows of `inner` words, which indices choose among `extent`.
struct Rows {
  Divisor inner, chosen;
  i64 extent;
  int is_long;
};
extern "C" __global__ void __launch_bounds__(256)
    gather_rows(const Unit* from, const void* indices, Unit* to, i64 count, Rows rows) {
  begin_kernel();
  const bool aligned = ((u64(from) | u64(to)) % WORD) == 0;
  const i64 first = first_word();
  i64 source[4];
  for (int k = 0; k < 4; ++k) {
    const Place at = Place(first + k * 256 < count ? first + k * 256 : 0);
    const Place row = divide(at, rows.inner), outer = divide(row, rows.chosen);
    const i64 index = load_index_within(indices, i64(row - outer * rows.chosen.by), rows.is_long, rows.extent);
    source[k] = (i64(outer) * rows.extent + index) * i64(rows.inner.by) + (at - row * rows.inner.by);
  }
  Word words[4];
  for (int k = 0; k < 4; ++k) words[k] = load_word(from, source[k], aligned);
  for (int k = 0; k < 4; ++k)
    if (first + k * 256 < count) store_word(to, first + k * 256, words[k], aligned);
}

extern "C" __global__ void __launch_bounds__(256)
    gather_tuples(const Unit* from, const void* indices, Unit* to, i64 count, Tuples t) {
  begin_kernel();
  const bool aligned = ((u64(from) | u64(to)) % WORD) == 0;
  const i64 first = first_word();
  i64 source[4];
  for (int k = 0; k < 4; ++k) {
    const Place at = Place(first + k * 256 < count ? first + k * 256 : 0);
    const Place tuple = divide(at, t.inner), batch = divide(tuple, t.each);
    source[k] = i64(batch) * t.batch + (at - tuple * t.inner.by);
    for (int d = 0; d < t.size; ++d)
      source[k] += load_index_within(indices, i64(tuple) * t.size + d, t.is_long, t.extent[d]) * t.stride[d];
  }
  Word words[4];
  for (int k = 0; k < 4; ++k) words[k] = load_word(from, source[k], aligned);
  for (int k = 0; k < 4; ++k)
    if (first + k * 256 < count) store_word(to, first + k * 256, words[k], aligned);
}

/// Each element of the target has its own index along one axis. `walk`: over the indices; `from` is 0 for that axis.
extern "C" __global__ void __launch_bounds__(256)
    gather_elements(const Unit* from, const void* indices, Unit* to, i64 count, Walk walk, i64 extent, i64 stride,
                    int is_long) {
  begin_kernel();
  const i64 first = first_word();
  i64 source[4];
  for (int k = 0; k < 4; ++k) {
    const i64 i = first + k * 256 < count ? first + k * 256 : 0;
    Place rest = Place(i);
    source[k] = load_index_within(indices, i, is_long, extent) * stride;
    for (int d = walk.rank - 1; d >= 0; --d) {
      const Place next = divide(rest, walk.extent[d]);
      source[k] += i64(rest - next * walk.extent[d].by) * walk.from[d];
      rest = next;
    }
  }
  Unit units[4];
  for (int k = 0; k < 4; ++k) units[k] = from[source[k]];
  for (int k = 0; k < 4; ++k)
    if (first + k * 256 < count) to[first + k * 256] = units[k];
}
