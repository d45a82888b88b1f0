// Trilu, EyeLike, OneHot, ReverseSequence. It follows words.cuh; words are elements, except for reverse_rows.

/// Keeps the elements of matrices at and above diagonal `k` (`upper`), or at and below it; the others become 0. `k`
/// comes from the device if `shift` is not null.
extern "C" __global__ void __launch_bounds__(256) keep_triangle(const Unit* from, Unit* to, const i64* shift, i64 k,
                                                                i64 count, Divisor rows, Divisor columns, int upper) {
  begin_kernel();
  if (shift) k = *shift;
  const i64 first = first_word();
  for (int i = 0; i < 4; ++i) {
    const i64 at = first + i * 256;
    if (at >= count) continue;
    const Place line = divide(Place(at), columns), row = line - divide(line, rows) * rows.by;
    const i64 distance = i64(Place(at) - line * columns.by) - i64(row);
    to[at] = (upper ? distance >= k : distance <= k) ? from[at] : Unit(0);
  }
}

/// Writes `one` on diagonal `k` of a matrix and 0 elsewhere.
extern "C" __global__ void __launch_bounds__(256) fill_diagonal(Unit* to, i64 k, i64 one, i64 count, Divisor columns) {
  begin_kernel();
  const i64 first = first_word();
  for (int i = 0; i < 4; ++i) {
    const i64 at = first + i * 256;
    if (at >= count) continue;
    const Place row = divide(Place(at), columns);
    to[at] = i64(Place(at) - row * columns.by) - i64(row) == k ? Unit(one) : Unit(0);
  }
}

#ifdef INDEX
/// A new axis of `depth` elements, before `inner`: `values` has the elements off and on.
extern "C" __global__ void __launch_bounds__(256)
    one_hot(const INDEX* indices, const Unit* values, Unit* to, i64 count, Divisor depth, Divisor inner) {
  begin_kernel();
  const Unit off = values[0], on = values[1];
  const i64 first = first_word();
  for (int i = 0; i < 4; ++i) {
    const i64 at = first + i * 256;
    if (at >= count) continue;
    const Place line = divide(Place(at), inner), outer = divide(line, depth);
    i64 index = i64(Compute<INDEX>::load(indices[i64(outer) * inner.by + (Place(at) - line * inner.by)]));
    if (index < 0) index += i64(depth.by);
    to[at] = index == i64(line - outer * depth.by) ? on : off;
  }
}
#endif

/// Rows of `inner` words along two outer axes: the first lengths[b] of each batch are reversed along the time axis.
extern "C" __global__ void __launch_bounds__(256)
    reverse_rows(const Unit* from, const void* lengths, Unit* to, i64 count, Divisor second, Divisor inner,
                 int time_first, i64 times, int is_long) {
  begin_kernel();
  const bool aligned = ((u64(from) | u64(to)) % WORD) == 0;
  const i64 first = first_word();
  for (int i = 0; i < 4; ++i) {
    const i64 at = first + i * 256;
    if (at >= count) continue;
    const Place line = divide(Place(at), inner), a = divide(line, second), b = line - a * second.by;
    const i64 time = time_first ? i64(a) : i64(b), batch = time_first ? i64(b) : i64(a);
    i64 length = is_long ? ((const i64*)lengths)[batch] : i64(((const int*)lengths)[batch]);
    if (length > times) length = times;
    const i64 source = time < length ? length - 1 - time : time;
    const i64 row = time_first ? source * i64(second.by) + batch : batch * i64(second.by) + source;
    store_word(to, at, load_word(from, row * i64(inner.by) + (Place(at) - line * inner.by), aligned), aligned);
  }
}
