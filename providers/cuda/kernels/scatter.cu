// ScatterElements, ScatterND: writes updates at places that indices name. It follows words.cuh.
// REDUCE: 0: replaces, 1: adds, 2: multiplies, 3: takes the larger, 4: the smaller. ELEMENT: the type of elements,
// unless REDUCE is 0; words are elements then. Indices that are out of range write nothing.

#if REDUCE
typedef Compute<ELEMENT>::type Number;
union Bits {
  Unit bits;
  ELEMENT value;
};
__device__ inline Number combine(Number a, Number b) {
#if REDUCE == 1
  return a + b;
#elif REDUCE == 2
  return a * b;
#elif REDUCE == 3
  return b > a || b != b ? b : a;  // NaN stays
#else
  return b < a || b != b ? b : a;
#endif
}
__device__ inline Unit combine_bits(Unit a, Unit b) {
  Bits x, y;
  x.bits = a;
  y.bits = b;
  x.value = Compute<ELEMENT>::store(combine(Compute<ELEMENT>::load(x.value), Compute<ELEMENT>::load(y.value)));
  return x.bits;
}
// Elements of fewer than 4 bytes are exchanged with the word around them.
__device__ inline void put(Unit* to, i64 at, const Unit* updates, i64 i, bool) {
  const Unit update = updates[i];
#if UNIT == 8
  u64 old = to[at], seen;
  do {
    seen = old;
    old = atomicCAS(to + at, seen, combine_bits(seen, update));
  } while (old != seen);
#else
  u32* const word = (u32*)(u64(to + at) & ~u64(3));
  const u32 shift = u32(u64(to + at) & 3) * 8, mask = u32(0xffffffff >> (32 - UNIT * 8)) << shift;
  u32 old = *word, seen;
  do {
    seen = old;
    const u32 made = u32(combine_bits(Unit((seen & mask) >> shift), update)) << shift;
    old = atomicCAS(word, seen, (seen & ~mask) | made);
  } while (old != seen);
#endif
}
#else
__device__ inline void put(Unit* to, i64 at, const Unit* updates, i64 i, bool aligned) {
  store_word(to, at, load_word(updates, i, aligned), aligned);
}
#endif

/// `walk`: over the updates; its strides `to` are those of the target, with 0 for the axis that indices name.
extern "C" __global__ void __launch_bounds__(256)
    scatter_elements(const Unit* updates, const void* indices, Unit* to, i64 count, Walk walk, i64 extent, i64 stride,
                     int is_long) {
  begin_kernel();
  const i64 first = first_word();
  for (int k = 0; k < 4; ++k) {
    const i64 i = first + k * 256;
    if (i >= count) continue;
    const i64 index = load_index(indices, i, is_long, extent);
    if (index < 0 || index >= extent) continue;
    Place rest = Place(i);
    i64 target = index * stride;
    for (int d = walk.rank - 1; d >= 0; --d) {
      const Place next = divide(rest, walk.extent[d]);
      target += i64(rest - next * walk.extent[d].by) * walk.to[d];
      rest = next;
    }
    put(to, target, updates, i, true);
  }
}

extern "C" __global__ void __launch_bounds__(256)
    scatter_tuples(const Unit* updates, const void* indices, Unit* to, i64 count, Tuples t) {
  begin_kernel();
  const bool aligned = ((u64(updates) | u64(to)) % WORD) == 0;
  const i64 first = first_word();
  for (int k = 0; k < 4; ++k) {
    const i64 i = first + k * 256;
    if (i >= count) continue;
    const Place tuple = divide(Place(i), t.inner);
    i64 target = i64(Place(i) - tuple * t.inner.by);
    bool inside = true;
    for (int d = 0; d < t.size; ++d) {
      const i64 index = load_index(indices, i64(tuple) * t.size + d, t.is_long, t.extent[d]);
      inside = inside && index >= 0 && index < t.extent[d];
      target += index * t.stride[d];
    }
    if (inside) put(to, target, updates, i, aligned);
  }
}
