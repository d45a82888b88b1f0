// Resize along any axes by tables (ops/resample.h). It follows words.cuh. ELEMENT: the type of elements, for
// blend_axes; AXES: how many axes it resamples; TAPS: of each, or 0; ROUND: whether integers are rounded.

/// Where each axis of the target reads: `table` begins its entries, -1 if it is unchanged.
struct Resized {
  int rank;
  Divisor extent[MOST_AXES];  // of the target
  i64 stride[MOST_AXES];      // of the source
  int table[MOST_AXES];
};

/// One entry for each position of an axis that is resampled; -1: outside, where `filler` is written.
extern "C" __global__ void __launch_bounds__(256)
    pick_nearest(const Unit* from, Unit* to, const int* index, i64 filler, i64 count, Resized r) {
  begin_kernel();
  const bool aligned = ((u64(from) | u64(to)) % WORD) == 0;
  const i64 first = first_word();
  i64 source[4];
  for (int k = 0; k < 4; ++k) {
    Place rest = Place(first + k * 256 < count ? first + k * 256 : 0);
    source[k] = 0;
    for (int d = r.rank - 1; d >= 0; --d) {
      const Place next = divide(rest, r.extent[d]);
      i64 at = i64(rest - next * r.extent[d].by);
      if (r.table[d] >= 0) at = index[r.table[d] + at];
      source[k] = at < 0 || source[k] < 0 ? -1 : source[k] + at * r.stride[d];
      rest = next;
    }
  }
  Word words[4];
  for (int k = 0; k < 4; ++k) {
    for (int i = 0; i < WORD / UNIT; ++i) words[k].unit[i] = Unit(filler);
    if (source[k] >= 0) words[k] = load_word(from, source[k], aligned);
  }
  for (int k = 0; k < 4; ++k)
    if (first + k * 256 < count) store_word(to, first + k * 256, words[k], aligned);
}

#ifdef ELEMENT
template <typename T>
struct Real {
  typedef float type;
  __device__ static float load(T v) { return float(v); }
  /// Rounds to whole numbers, or drops the fraction; numbers out of range keep their last bits, as on the host.
  __device__ static T whole(float v) {
    if (ROUND) v = v < 0 ? -floorf(0.5f - v) : floorf(v + 0.5f);
    return T(int(v));
  }
};
template <typename T>
__device__ inline T store_real(float v);
template <>
__device__ inline float store_real<float>(float v) {
  return v;
}
template <>
__device__ inline f16 store_real<f16>(float v) {
  return to_f16(v);
}
template <>
__device__ inline bf16 store_real<bf16>(float v) {
  return to_bf16(v);
}
template <>
__device__ inline u8 store_real<u8>(float v) {
  return Real<u8>::whole(v);
}
template <>
__device__ inline i8 store_real<i8>(float v) {
  return Real<i8>::whole(v);
}
template <>
struct Real<f16> {
  typedef float type;
  __device__ static float load(f16 v) { return to_float(v); }
};
template <>
struct Real<bf16> {
  typedef float type;
  __device__ static float load(bf16 v) { return to_float(v); }
};
template <>
struct Real<double> {
  typedef double type;
  __device__ static double load(double v) { return v; }
};
template <typename T>
__device__ inline T store_real(double v) {
  return T(v);
}

#define LANES (WORD / UNIT)
union Lanes {
  Word word;
  ELEMENT value[LANES];
};
typedef Real<ELEMENT>::type Number;
struct Numbers {
  Number value[LANES];
};

#define MOST_BLENDED 5
struct Blend {
  int axis[MOST_BLENDED], taps[MOST_BLENDED];  // an axis of Resized, outermost first
};
struct Source {
  const Unit* from;
  bool aligned;
  const int* index;
  const float* weight;
};

/// The weighted sum over the taps of resampled axis J and those after it. `entry`: where the taps of each begin.
template <int J>
struct Sums {
  __device__ __forceinline__ static Numbers at(const Source& s, const Resized& r, const Blend& b, const int* entry,
                                               i64 place) {
    Numbers sum;
    for (int i = 0; i < LANES; ++i) sum.value[i] = 0;
    const i64 stride = r.stride[b.axis[J]];
#pragma unroll
    for (int t = 0; t < (TAPS ? TAPS : b.taps[J]); ++t) {
      const Number w = s.weight[entry[J] + t];
      const Numbers part = Sums<J + 1>::at(s, r, b, entry, place + s.index[entry[J] + t] * stride);
      for (int i = 0; i < LANES; ++i) sum.value[i] += w * part.value[i];
    }
    return sum;
  }
};
template <>
struct Sums<AXES> {
  __device__ __forceinline__ static Numbers at(const Source& s, const Resized&, const Blend&, const int*, i64 place) {
    Lanes lanes;
    lanes.word = load_word(s.from, place, s.aligned);
    Numbers n;
    for (int i = 0; i < LANES; ++i) n.value[i] = Real<ELEMENT>::load(lanes.value[i]);
    return n;
  }
};

extern "C" __global__ void __launch_bounds__(256)
    blend_axes(const Unit* from, Unit* to, const int* index, const float* weight, float filler, i64 count, Resized r,
               Blend b) {
  begin_kernel();
  const i64 i = i64(blockIdx.x) * 256 + threadIdx.x;
  if (i >= count) return;
  const Source s = {from, ((u64(from) | u64(to)) % WORD) == 0, index, weight};
  Place rest = Place(i);
  i64 place = 0;
  int entry[AXES];
  bool outside = false;
  int j = AXES - 1;
  for (int d = r.rank - 1; d >= 0; --d) {
    const Place next = divide(rest, r.extent[d]);
    const i64 at = i64(rest - next * r.extent[d].by);
    rest = next;
    if (r.table[d] < 0) {
      place += at * r.stride[d];
      continue;
    }
#pragma unroll
    for (int k = 0; k < AXES; ++k) {
      if (k != j) continue;
      entry[k] = r.table[d] + int(at) * (TAPS ? TAPS : b.taps[k]);
      outside = outside || index[entry[k]] < 0;
    }
    --j;
  }
  Numbers sum;
  if (outside) {
    for (int k = 0; k < LANES; ++k) sum.value[k] = filler;
  } else {
    sum = Sums<0>::at(s, r, b, entry, place);
  }
  Lanes lanes;
  for (int k = 0; k < LANES; ++k) lanes.value[k] = store_real<ELEMENT>(sum.value[k]);
  store_word(to, i, lanes.word, s.aligned);
}
#endif
